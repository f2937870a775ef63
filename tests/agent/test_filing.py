from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from pycrdt import Doc, Map

from agent.filing import MAX_PROPOSALS, MAX_TEXT, Add, enter, entry_id, file, quote
from agent.mind import Proposal, Unfiled
from crdt_docs.contents import Contents, read_contents
from crdt_docs.entries import message
from crdt_docs.ids import is_id, new_ordered_id
from crdt_docs.working_set import WorkingSet, put_entry

AT = 1_800_000_000_000
TEXT = "We ship on Friday.  The budget stays under 300 €. Who signs? I’ll call Bo next. “No logos”, please."


class Trial:
    """A task in which Ana has said TEXT."""

    def __init__(self) -> None:
        self.doc: Doc[Any] = Doc()
        self.working_set = WorkingSet(self.doc, "Bo", lambda: AT - 1000)
        self.source = new_ordered_id(AT)
        put_entry(self.doc.get("messages", type=Map), self.source, message(TEXT, author="Ana", at=AT))

    @property
    def contents(self) -> Contents:
        return read_contents(self.doc)

    def proposal(self, kind: Any, quote: str, text: str | None = None, **more: Any) -> Proposal:
        return Proposal(kind, quote if text is None else text, self.source, quote, **more)

    def file(self, *proposals: Proposal) -> list[dict[str, Any]]:
        changes, refs = file(proposals, self.contents, AT + 5000, by="Ana", asked=[self.source])
        enter(self.doc, changes)
        return refs


def test_each_kind_becomes_its_entry_with_who_said_it_when_and_where() -> None:
    trial = Trial()
    question = trial.working_set.ask("How much may it cost?")
    refs = trial.file(
        trial.proposal("decision", "We ship on Friday", "Ship on Friday", topic="release"),
        trial.proposal("constraint", "The budget stays under 300 €", severity="critical"),
        trial.proposal("question", "Who signs?"),
        trial.proposal("next_step", "I’ll call Bo next", "Call Bo"),
        trial.proposal("answer", "under 300 €", "Under 300 €", answers=question),
    )
    contents = trial.contents
    [decision], [constraint] = contents.decisions, contents.constraints
    assert (decision["text"], decision["topic"], decision["status"]) == ("Ship on Friday", "release", "current")
    assert (decision["by"], decision["source"]) == ("Ana", trial.source)
    assert decision["at"] == "2027-01-15T08:00:00.001Z"
    assert (constraint["text"], constraint["severity"]) == ("The budget stays under 300 €", "critical")
    asked, signs = contents.questions
    assert (asked["status"], asked["answers"][0]["text"]) == ("answered", "Under 300 €")
    assert (signs["text"], signs["status"]) == ("Who signs?", "open")
    [step] = contents.slots
    assert (step["intent"], step["status"], step["fields"]["text"]) == ("next_step", "open", "Call Bo")
    assert step["fields"]["source"] == trial.source
    made = [decision["id"], constraint["id"], signs["id"], step["id"], asked["answers"][0]["id"]]
    kinds = ["decision", "constraint", "question", "next_step", "answer"]
    assert refs == [{"filed": kind, "id": key, "source": trial.source} for kind, key in zip(kinds, made, strict=True)]
    assert all(is_id(key) for key in made)


def test_a_second_attempt_files_nothing_new_on_whatever_replica() -> None:
    trial = Trial()
    question = trial.working_set.ask("How much may it cost?")
    proposals = (
        trial.proposal("decision", "We ship on Friday"),
        trial.proposal("constraint", "The budget stays under 300 €"),
        trial.proposal("question", "Who signs?"),
        trial.proposal("next_step", "I’ll call Bo next"),
        trial.proposal("answer", "under 300 €", answers=question),
    )
    before: Doc[Any] = Doc()
    before.apply_update(trial.doc.get_update())
    refs = trial.file(*proposals)
    once = read_contents(trial.doc)
    state = trial.doc.get_state()
    assert trial.file(*proposals) == refs
    assert trial.doc.get_state() == state
    changes, again = file(proposals, read_contents(before), AT + 99_000, by="Ana", asked=[trial.source])
    assert again == refs
    assert {change.key for change in changes} >= {ref["id"] for ref in refs}
    enter(before, changes)
    trial.doc.apply_update(before.get_update())
    both = read_contents(trial.doc)
    for name in ("decisions", "constraints", "questions", "slots"):
        assert [item["id"] for item in getattr(both, name)] == [item["id"] for item in getattr(once, name)]


def test_who_said_it_is_who_the_server_says_and_what_is_not_asked_is_quoted_only() -> None:
    trial = Trial()
    proposals = (trial.proposal("decision", "We ship on Friday"), trial.proposal("answer", "under 300 €", answers="q"))
    changes, _ = file(proposals[:1], trial.contents, AT, by="Bo", asked=[trial.source])
    assert [change.entry["by"] for change in changes if isinstance(change, Add)] == ["Bo"]
    changes, refs = file(proposals, trial.contents, AT, by="Bo", asked=["another"])
    assert changes == []
    assert refs == [{"unfiled": quoted, "source": trial.source} for quoted in ("We ship on Friday", "under 300 €")]


def test_what_stands_already_in_the_same_words_is_not_filed_again() -> None:
    trial = Trial()
    old = trial.working_set.decide("we  SHIP on friday")
    limit = trial.working_set.add_constraint("The budget stays under 300 €")
    assert trial.file(
        trial.proposal("decision", "We ship on Friday"), trial.proposal("constraint", "The budget stays under 300 €")
    ) == [
        {"filed": "decision", "id": old, "source": trial.source},
        {"filed": "constraint", "id": limit, "source": trial.source},
    ]
    trial.working_set.retire(limit)
    assert trial.file(trial.proposal("constraint", "The budget stays under 300 €"))[0]["id"] != limit


def test_a_decision_supersedes_what_it_names_and_nothing_else() -> None:
    trial = Trial()
    monday, blue = trial.working_set.decide("We ship on Monday"), trial.working_set.decide("The logo is blue")
    trial.file(trial.proposal("decision", "We ship on Friday", supersedes=(monday,)))
    assert {item["id"]: item["status"] for item in trial.contents.decisions}[monday] == "superseded"
    assert {item["id"]: item["status"] for item in trial.contents.decisions}[blue] == "current"


def test_a_next_step_is_done_only_where_a_proposal_says_so() -> None:
    trial = Trial()
    trial.file(trial.proposal("next_step", "I’ll call Bo next", "Call Bo"))
    [first] = trial.contents.slots
    trial.file(trial.proposal("next_step", "Who signs?", "Find out who signs"))
    assert [slot["status"] for slot in trial.contents.slots] == ["open", "open"]
    refs = trial.file(trial.proposal("next_step", "No logos", "", supersedes=(first["id"],)))
    assert refs == [{"filed": "next_step", "id": first["id"], "source": trial.source}]
    assert {slot["id"]: slot["status"] for slot in trial.contents.slots}[first["id"]] == "done"


def test_a_quote_is_found_by_its_letters_and_kept_as_it_was_said() -> None:
    trial = Trial()
    refs = trial.file(
        trial.proposal("question", '"no logos", please'), trial.proposal("decision", "we ship on friday. the budget")
    )
    assert [ref.get("filed") for ref in refs] == ["question", "decision"]
    assert refs[0]["id"] == entry_id("question", trial.source, "“No logos”, please")
    assert refs[1]["id"] == entry_id("decision", trial.source, "We ship on Friday.  The budget")


def test_an_invented_quote_is_never_shown_as_one() -> None:
    trial = Trial()
    refs = trial.file(trial.proposal("decision", "We ship on Monday"))
    assert refs == [{"unfiled": TEXT, "source": trial.source}]
    assert trial.contents.decisions == []


@pytest.mark.parametrize(
    "change",
    [
        {"text": " "},
        {"text": "x" * (MAX_TEXT + 1)},
        {"topic": "x" * 1000},
        {"severity": "catastrophic"},
        {"kind": "opinion"},
        {"supersedes": ("nobody",)},
        {"answers": "nobody"},
        {"kind": "constraint", "supersedes": ("x",)},
        {"kind": "answer", "answers": "nobody"},
        {"kind": "answer", "answers": None},
        {"kind": "next_step", "supersedes": ("nobody",)},
        {"kind": "next_step", "text": "", "supersedes": ()},
    ],
)
def test_what_cant_be_filed_is_quoted_and_changes_nothing(change: dict[str, Any]) -> None:
    trial = Trial()
    state = trial.doc.get_state()
    refs = trial.file(replace(trial.proposal("decision", "We ship on Friday"), **change))
    assert refs == [{"unfiled": "We ship on Friday", "source": trial.source}]
    assert trial.doc.get_state() == state


def test_what_a_mind_could_not_file_is_quoted_as_it_was_said_or_not_as_a_quote() -> None:
    trial = Trial()
    for said, shown in (("who SIGNS?", "Who signs?"), ("Who pays?", TEXT)):
        refs = quote(Unfiled(said, trial.source), trial.contents)
        assert refs == [{"unfiled": shown, "source": trial.source}]
    assert quote(Unfiled("Who signs?", "nowhere"), trial.contents) == []


def test_agents_words_and_messages_that_are_not_there_are_no_source() -> None:
    trial = Trial()
    key = trial.working_set.add_message("We ship on Friday", role="agent")
    proposal = trial.proposal("decision", "We ship on Friday")
    assert trial.file(replace(proposal, source=key), replace(proposal, source="nowhere")) == []
    assert trial.contents.decisions == []


def test_a_flood_of_proposals_is_cut_and_the_rest_is_quoted() -> None:
    trial = Trial()
    refs = trial.file(*[trial.proposal("decision", "We ship on Friday", f"Ship {n}") for n in range(MAX_PROPOSALS + 1)])
    assert refs[-1] == {"unfiled": "We ship on Friday", "source": trial.source}


def test_nothing_that_is_there_is_written_over() -> None:
    trial = Trial()
    proposals = (trial.proposal("decision", "We ship on Friday"),)
    changes, _ = file(proposals, trial.contents, AT, by="Ana", asked=[trial.source])
    [add] = changes
    assert isinstance(add, Add)
    put_entry(trial.doc.get("decisions", type=Map), add.key, {"text": "somebody's own"})
    enter(trial.doc, changes)
    assert trial.contents.decisions[0]["text"] == "somebody's own"
    enter(trial.doc, [Add("questions", "k", {"by": "x"}, under="no such question")])
    assert trial.contents.questions == []


def test_no_proposal_makes_it_raise() -> None:
    trial = Trial()
    trial.working_set.ask("How much?")
    dice = random.Random(3)
    ids = [trial.source, "", "x", trial.contents.questions[0]["id"], trial.contents.messages[0]["id"]]
    strings = [
        "",
        " ",
        "We ship on Friday",
        "Who signs? \ud83d",
        "\ud83d",
        "x" * 5000,
        "İ",
        "ß",
        "ﬁ",
        "\x00",
        "Who signs?",
    ]
    kinds: list[Any] = ["constraint", "decision", "question", "answer", "next_step", "nonsense"]
    for _ in range(400):
        proposal = Proposal(
            dice.choice(kinds),
            dice.choice(strings),
            dice.choice(ids),
            dice.choice(strings),
            topic=dice.choice([None, *strings]),
            supersedes=tuple(dice.sample(ids, dice.randrange(3))),
            answers=dice.choice([None, *ids]),
        )
        trial.file(proposal)
