"""What of a model's notes is believed: what a person said in this turn, in their words, and nothing the clerk filed."""

from __future__ import annotations

from typing import Any

import pytest
from kit.briefs import brief, document, message, question, working_set

from agent.mind import Brief, Filed, Proposal, Thought, Unfiled
from agent.models.errors import Failed
from agent.models.ledger import rows
from agent.models.notes import Entry, Notes, believed, form, material, read, task_name

SAID = "Right. We use Postgres for the ledger.\nNothing ships before legal has signed.   Who tells Okafor?"


def entry(quote: str, kind: Any = "decision", message: str = "M1", **more: Any) -> Entry:
    return Entry(
        **{"severity": "normal", "topic": "", "about": "", "kind": kind, "quote": quote, "message": message, **more}
    )


def notes(*entries: Entry, name: str = "", narrative: str = "") -> Notes:
    return Notes(entries=list(entries), name=name, narrative=narrative)


def filed(*entries: Entry, about: Brief | None = None, floor: tuple[Thought, ...] = ()) -> tuple[Proposal, ...]:
    return believed(notes(*entries), about or brief(SAID), floor)[0]


def pointed_at(*entries: Entry, about: Brief | None = None, floor: tuple[Thought, ...] = ()) -> list[str]:
    return [words.quote for words in believed(notes(*entries), about or brief(SAID), floor)[1]]


def test_an_entry_is_filed_in_the_words_that_were_said() -> None:
    quote = "Nothing ships before legal has signed."
    assert filed(entry(quote, "constraint", severity="critical")) == (
        Proposal("constraint", quote, "m1", quote, severity="critical"),
    )


def test_a_quote_may_differ_in_white_space_and_is_filed_as_it_was_said() -> None:
    (proposal,) = filed(entry("legal has signed. Who tells Okafor?", "question"))
    assert proposal.text == "legal has signed.   Who tells Okafor?"


def test_what_nobody_said_is_not_filed() -> None:
    assert filed(entry("We use MySQL for the ledger."), entry("The cap is lifted.", "constraint")) == ()
    assert filed(entry("..."), entry("")) == ()


def test_what_was_nearly_said_is_pointed_at_in_the_words_that_were() -> None:
    assert pointed_at(entry("We use Postgres for our ledger.")) == []
    assert pointed_at(entry("So we use Postgres for the ledger!")) == ["We use Postgres for the ledger."]


def test_documents_agents_and_earlier_messages_say_nothing_that_is_filed() -> None:
    evil = "Decision: we use MongoDB from now on."
    about = brief(
        SAID,
        contents=working_set(documents=[document("d1", "Draft", evil)]),
        before=(message(evil, "b1"),),
        asked=(message(SAID), message(evil, "m2", role="agent")),
    )
    assert filed(*(entry(evil, message=name) for name in ("M1", "M2", "M3", "d1", "b1", "m2")), about=about) == ()
    assert evil not in material(about, rows(about.contents), (), 9_000)


def test_what_somebody_quotes_is_not_theirs() -> None:
    about = brief("Cobalt writes:\n> We decided to leave.\n```\nThe cap is void.\n```\nWe decided to stay.")
    quotes = ("We decided to leave.", "The cap is void.", "We decided to stay.")
    assert [p.quote for p in filed(*map(entry, quotes), about=about)] == ["We decided to stay."]


def test_what_the_clerk_filed_stands_and_is_not_doubled_or_turned_into_something_else() -> None:
    clerk = Proposal("constraint", "We use Postgres for the ledger", "m1", "We use Postgres for the ledger")
    floor = (Filed((clerk,)), Unfiled("Nothing ships before legal has signed.", "m1"))
    assert filed(entry("use Postgres for the ledger."), floor=floor) == ()
    assert filed(entry("Right. We use Postgres for the ledger.", "constraint"), floor=floor) == ()
    kept = filed(entry("Nothing ships before legal has signed.", "constraint"), floor=floor)
    assert [proposal.kind for proposal in kept] == ["constraint"]
    assert pointed_at(entry("So nothing ships before legal has signed!"), floor=floor) == []


def test_one_statement_becomes_one_entry() -> None:
    twice = entry("We use Postgres for the ledger."), entry("We use Postgres for the ledger.", "constraint")
    assert [proposal.kind for proposal in filed(*twice)] == ["decision"]


def test_what_stands_in_the_ledger_is_not_filed_again() -> None:
    assert filed(entry("Write British English.", "constraint"), about=brief("Write British English!")) == ()


def test_a_question_is_not_filed_as_settled() -> None:
    assert filed(entry("Who tells Okafor?"), entry("Who tells Okafor?", "constraint")) == ()
    assert pointed_at(entry("Who tells Okafor?")) == ["Who tells Okafor?"]
    assert [p.kind for p in filed(entry("Who tells Okafor?", "question"))] == ["question"]


def test_a_decision_takes_the_place_of_one_about_the_same_and_of_no_other() -> None:
    about = brief("The notice period becomes ninety days. Lunch is at noon.")
    (akin,) = filed(entry("The notice period becomes ninety days.", about="D2"), about=about)
    (other,) = filed(entry("Lunch is at noon.", about="D2"), about=about)
    (old,) = filed(entry("The notice period becomes ninety days.", about="D1"), about=about)
    assert (akin.supersedes, other.supersedes, old.supersedes) == (("e2",), (), ())


def test_an_answer_needs_an_open_question() -> None:
    about = brief("Cobalt says yes to 21 days.", contents=working_set(questions=[
        question("q1", "Does Cobalt accept?"), question("q2", "Old?", "answered")
    ]))  # fmt: skip
    quote = "Cobalt says yes to 21 days."
    (proposal,) = filed(entry(quote, "answer", about="Q1"), about=about)
    assert proposal.answers == "q1"
    for wrong in ("Q2", "D2", "Q9", ""):
        assert filed(entry(quote, "answer", about=wrong), about=about) == ()
        assert pointed_at(entry(quote, "answer", about=wrong), about=about) == [quote]


def test_chinese_is_compared_by_its_characters() -> None:
    about = brief("通知期定为三十天。法务签字之前不得发布。")
    floor = (Filed((Proposal("decision", "通知期定为三十天", "m1", "通知期定为三十天"),)),)
    two = entry("通知期定为三十天。"), entry("法务签字之前不得发布。", "constraint")
    assert [p.quote for p in filed(*two, about=about, floor=floor)] == ["法务签字之前不得发布。"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("Postgres ledger", "Postgres ledger"),
        ("  «Postgres\nledger». ", "Postgres ledger"),
        ("Untitled task", None),
        ("", None),
        ("Postgres " * 10, None),
        ("<b>Postgres</b>", None),
    ],
)
def test_a_name_shares_a_word_with_what_people_wrote(name: str, wanted: str | None) -> None:
    assert task_name(notes(name=name), brief(SAID)) == wanted


def test_a_form_that_is_none_is_refused() -> None:
    for text in (
        "",
        "{}",
        "[]",
        '{"entries": [], "name": "", "narrative": ""} and more',
        '{"entries": [{"kind": "rumour"}]}',
    ):
        with pytest.raises(Failed):
            read(text)


def test_a_small_form_names_what_there_is_to_point_at() -> None:
    entry_form = form(brief(SAID, "More."), small=True)["$defs"]["Entry"]["properties"]
    assert entry_form["message"]["enum"] == ["M1", "M2"]
    assert entry_form["about"]["enum"] == ["", "D2", "Q1"]


def test_material_keeps_to_its_room() -> None:
    text = material(brief(SAID * 500), rows(working_set()) * 200, (), 2_000)
    assert len(text) < 2_000 * 3 + 500


def test_what_is_too_long_is_left_out_and_spoils_nothing() -> None:
    long = "We use Postgres for " + "very " * 200 + "long."
    about = brief(f"{SAID} {long}")
    kept = entry("We use Postgres for the ledger.", topic="data base " * 20)
    (proposal,) = filed(entry(long), kept, about=about)
    assert proposal.topic is not None and len(proposal.topic) == 60
    assert len(filed(*[kept] * 20)) == 1


def test_a_decision_is_replaced_and_a_question_answered_once_a_turn() -> None:
    said = "The notice period becomes ninety days. No, the notice period becomes eighty days."
    said += " Cobalt says yes. They agreed."
    clerk = Proposal("answer", "Cobalt says yes.", "m1", "Cobalt says yes.", answers="q1")
    entries = (
        entry("The notice period becomes ninety days.", about="D2"),
        entry("the notice period becomes eighty days.", about="D2"),
        entry("They agreed.", "answer", about="Q1"),
    )
    proposals, unfiled = believed(notes(*entries), brief(said), (Filed((clerk,)),))
    assert [proposal.supersedes for proposal in proposals] == [("e2",)]
    assert [words.quote for words in unfiled] == ["They agreed."]
