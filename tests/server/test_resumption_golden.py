"""The paragraphs, to the letter: three tasks in two languages. Changed on purpose by `CLEW_WRITE_GOLDEN=1`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kit.told_tasks import TASKS, changes, unquoted

from server.domain.language import LANGUAGES, Language
from server.domain.resumption import resume
from server.domain.telling import Since

FOLDER = Path(__file__).parents[1] / "fixtures" / "resumptions"
LOOKED = 1_799_980_000.0


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("task", TASKS)
def test_the_paragraph_is_to_the_letter(task: str, language: Language) -> None:
    name, make = TASKS[task]
    ledger = make()
    plain = resume(name, ledger, language)
    later = resume(name, ledger, language, changes=changes(ledger), since=Since(LOOKED, LOOKED + 93_600))
    assert plain.checked and later.checked
    assert "\n" not in plain.text + later.text
    told = f"{plain.text}\n\n{later.text}\n"
    file = FOLDER / f"{task}.{language}.txt"
    if os.environ.get("CLEW_WRITE_GOLDEN"):
        file.write_text(told, encoding="utf-8")
    assert told == file.read_text(encoding="utf-8")


def test_a_paragraph_can_be_read_back() -> None:
    name, make = TASKS["release"]
    frame, words = unquoted(resume(name, make(), "en").text)
    assert frame == (
        "You were working on “…”. Continue? The goal: “…”. What must hold: “…” (critical) and “…” (severity “…”)."
        " Decided: “…” and “…” (on “…”). Still open: “…” Results: “…” (“…”). Not finished: the tool call “…” (begun)"
        " and the tool call “…” (“…”). Next step: settle “…”"
    )
    assert words[:3] == [
        "Release “2.0”", "Ship 2.0 Decided: “ship today”",
        "No schema change after the freeze”. Decided: “anything goes",
    ]  # fmt: skip
