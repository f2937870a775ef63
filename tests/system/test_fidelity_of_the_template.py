"""The resumption that the server renders always passes the scorer that models' summaries have to pass."""

from __future__ import annotations

from typing import Any, Final

import pytest
from kit.tellings import Task, tasks

from crdt_docs.fidelity import Passed, score
from server.domain.language import LANGUAGES, Language
from server.domain.resumption import resume
from server.domain.summary_basis import ledger_items, summary_source
from server.domain.telling import Since

DAY: Final = 86_400.0


def ledger_of(task: Task) -> dict[str, Any]:
    """The task's working set, as the engine reads it."""
    rows = [(row["kind"], {"id": row["id"], "text": task.fill(row["text"])}, row) for row in task.rows]
    lapsed = [(row["kind"], {"id": row["id"], "text": row["text"]}) for row in task.lapsed]
    constraints = [
        item | {"status": "active", "severity": row["severity"]} for kind, item, row in rows if kind == "constraint"
    ]
    constraints += [item | {"status": "retired", "severity": "normal"} for kind, item in lapsed if kind == "constraint"]
    decisions = [
        item | {"status": "current", "topic": None, "supersedes": ["D0"] if item["id"] == "D1" else []}
        for kind, item, _ in rows
        if kind == "decision"
    ]
    decisions += [
        item | {"status": "superseded", "topic": None, "supersedes": []} for kind, item in lapsed if kind == "decision"
    ]
    return {
        "meta": {"goal": ""},
        "constraints": constraints,
        "decisions": decisions,
        "questions": [item | {"status": "open", "answers": []} for kind, item, _ in rows if kind == "question"],
        "outputs": [item | {"status": "draft", "markdown": ""} for kind, item, _ in rows if kind == "output"],
        "slots": [
            item | {"intent": "next_step", "status": "open", "fields": {"text": item["text"]}}
            for kind, item, _ in rows
            if kind == "next_step"
        ],
    }


def passes(name: str, ledger: dict[str, Any], language: Language, **told: Any) -> None:
    text = resume(name, ledger, language, **told).text
    fidelity = score(text, ledger_items(ledger), summary_source(name, ledger))
    assert fidelity.verdict == Passed(), (text, fidelity.findings)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_template_passes_for_every_task(language: Language) -> None:
    for task in tasks():
        passes(task.name, ledger_of(task), language)


ODD: Final = (
    "Never? No. It was net-30, not net-45!", "Decided: nothing: and, however", "“Quoted” «twice» 「thrice」 and ⟦once⟧",
    "May 5", "Maybe", "no", "Yes.", "1,1,1,1,1 and (((", "Whether it may be or not is open?",
    "拒绝；不得不，未经批准不得外传。",
    "a:\n- b\n- c",
    "Mr. J. Smith vs. Dr. No, e.g. at 5 p.m.", "ends in the", "\u202eturned\u202c", "x" * 300,
)  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("odd", ODD)
def test_the_template_passes_whatever_people_wrote(odd: str, language: Language) -> None:
    one: dict[str, Any] = {"meta": {"goal": odd}, "outputs": [], "slots": []}
    one["constraints"] = [{"id": "c", "text": odd, "status": "active", "severity": "critical"}]
    one["decisions"] = [{"id": "d", "text": f"{odd} d", "status": "current", "topic": odd, "supersedes": []}]
    one["questions"] = [{"id": "q", "text": f"q {odd}", "status": "open", "answers": []}]
    passes(odd, one, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_template_passes_with_decisions_and_answers_that_conflict(language: Language) -> None:
    ledger: dict[str, Any] = {"meta": {"goal": "Sign by June"}, "constraints": [], "outputs": [], "slots": []}
    ledger["decisions"] = [
        {"id": "a", "text": "Payment is net-30", "status": "conflicting", "topic": "payment", "supersedes": ["o"]},
        {"id": "b", "text": "Payment is net-60", "status": "conflicting", "topic": "payment", "supersedes": ["o"]},
        {"id": "o", "text": "Payment is net-15", "status": "superseded", "topic": "payment", "supersedes": []},
    ]
    ledger["questions"] = [
        {
            "id": "q",
            "text": "How many seats?",
            "status": "answered",
            "answers": [{"id": "q1", "text": "40", "supersedes": [], "by": None, "at": None}],
        }
    ]
    passes("Acme", ledger, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_template_passes_with_how_long_ago_somebody_looked(language: Language) -> None:
    for task in tasks()[::4]:
        passes(task.name, ledger_of(task), language, since=Since(0.0, 3 * DAY))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_template_passes_when_it_counts_what_it_does_not_tell(language: Language) -> None:
    ledger: dict[str, Any] = {"meta": {"goal": ""}, "questions": [], "outputs": [], "slots": []}
    ledger["constraints"] = [
        {"id": f"c{n}", "text": f"Room {n} stays below {n} degrees", "status": "active", "severity": "normal"}
        for n in range(100)
    ]
    ledger["decisions"] = [
        {"id": f"d{n}", "text": f"Team {n} meets on floor {n}", "status": "current", "topic": None, "supersedes": []}
        for n in range(100)
    ]
    passes("Building", ledger, language)
