"""Somebody comes back with 20 MB that they wrote while they were offline: all of it arrives, and it goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit import wire
from kit.large_document import ROOT, edits
from kit.served import serve
from pycrdt import Doc, Map

PATIENCE = 300.0


@pytest.mark.soak
@pytest.mark.timeout(900)
async def test_twenty_megabytes_of_offline_edits_arrive(
    tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "PATIENCE", PATIENCE)
    offline = Doc[Any]()
    for update in edits(int((pytestconfig.getoption("--megabytes") or 20) * 1_000_000)):
        offline.apply_update(update)
    written = offline.get(ROOT, type=Map)
    with serve(tmp_path) as served:
        task = served.new_task()
        async with served.join(task, Doc[Any]()) as other, served.join(task, offline) as back:
            assert other.doc is not None
            seen = other.doc.get(ROOT, type=Map)
            await back.barrier()
            await other.until(lambda: len(seen) == len(written), within=PATIENCE)
            assert seen.to_py() == written.to_py()
            written["after"] = "and it goes on"
            await back.push()
            await other.until(lambda: "after" in seen, within=PATIENCE)
            assert not back.refused and not back.closed.done() and not other.closed.done()
        newcomer = Doc[Any]()
        async with served.join(task, newcomer):
            assert newcomer.get(ROOT, type=Map).to_py() == written.to_py()
