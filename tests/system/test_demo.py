"""``clew demo`` tells a true story: what each peer saw, over real sockets, to the end."""

from __future__ import annotations

import re
import subprocess

from kit.running_server import CLEW, ROOT, environment


def test_the_demo_ends_with_three_peers_that_see_the_same_and_a_resumption_that_names_it_all() -> None:
    done = subprocess.run(
        [*CLEW, "demo", "--exit"], cwd=ROOT, capture_output=True, text=True, timeout=100, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    seen = re.findall(r"^    (laptop|phone|keeper) (sees .*)$", done.stdout, re.MULTILINE)
    last = dict(seen[-3:])
    assert set(last) == {"laptop", "phone", "keeper"}
    assert len(set(last.values())) == 1
    resumption = done.stdout.partition("5. Tomorrow")[2]
    for critical in ("Never below 150 k€", "Cap at 180 k€", "Swiss law, says Ann", "德国法律"):
        assert critical in last["phone"] or critical in resumption
        assert critical in resumption
    assert "#k=" not in done.stdout
    assert "/#k=" not in done.stderr
