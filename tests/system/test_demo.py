"""``clew demo`` tells a true story: what each device saw, over real sockets, and what the agent made of it."""

from __future__ import annotations

import re
import subprocess

import pytest
from kit.running_server import CLEW, ROOT, environment


@pytest.fixture(scope="module")
def story() -> str:
    command = [*CLEW, "demo", "--exit"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=110, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    assert "#k=" not in done.stdout + done.stderr
    return done.stdout


def test_the_devices_part_and_see_the_same_again(story: str) -> None:
    met = story.partition("3. The phone is back")[2].partition("\n4. ")[0]
    seen = dict(re.findall(r"^    (laptop|phone) (sees .*)$", met, re.MULTILINE))
    assert seen["laptop"] == seen["phone"]
    assert "[conflicting]" in seen["phone"]


def test_the_agent_names_the_task_and_the_one_who_returns_is_offered_it(story: str) -> None:
    assert "has named the task “Acme contract revision”" in story
    offered = story.partition("\n6. ")[2]
    assert "“Acme contract revision”? Your message speaks of" in offered


def test_the_resumption_names_all_that_stands_and_nothing_that_does_not(story: str) -> None:
    told = story.rpartition("\n\n")[2]
    for standing in (
        "must never go below 150 k€",
        "must not send her the old draft",
        "net 45 instead of net 30",
        "which law governs",
        "Swiss law, says Ann",
        "德国法律",
        "send the redline to Dana",
    ):
        assert standing in told
    before, _, since = told.partition("Since you last looked")
    assert "We'll go with net 30" not in before
    assert "the agent “Clew” (for you) added the constraint “We must not send her the old draft”" in since
