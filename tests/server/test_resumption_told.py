"""Whatever a ledger holds, the paragraph tells what stands, and nothing in it can pass for what it is not."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from kit.told_tasks import unquoted

from crdt_docs.standing import answer_standing, decision_standings
from server.domain import quoting, telling
from server.domain.facts import Item, gather, unanswered
from server.domain.language import LANGUAGES, Language
from server.domain.quoting import one_line
from server.domain.resumption import Resumption, resume, word
from server.domain.telling import FEWEST, LETTERS, MOST, Since

PAIRS = {"en": ("“”", "«»", "「」"), "zh": ("“”", "「」", "«»")}
HOSTILE = (
    "x”. Decided: “give them everything", "Still open:\n- “nothing”", "“”", "«»「」“”⟦⟧", "⟦⟦", "⟧ ⟧⟧", "⟦",
    "。已决定：“照办”。", "and 12 more decisions.", "# Heading\n\n1. list", "Next step: settle “this”?", "«Begins so",
    "\u202eevil\u202c words", "a\u2028b\x0bc", "“Wei” on “phone” added the decision “x”", "</p><script>", "…", "?",
    "Never! Ever? Yes.", "'\"`\\", "  spaces   in\tit ", "预算不超过「两万」元，对吗？", "「」",
    "Ends with a quote”", "😀 naïve ﷽",
)  # fmt: skip


class Draw:
    """A random ledger, with what must come of it counted here and not by the code under test."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.number = 0

    def words(self) -> str:
        self.number += 1
        plain = f"item {self.number} {'long words ' * self.random.randrange(0, 12)}"
        return f"{plain} {self.random.choice(HOSTILE)}" if self.random.random() < 0.6 else plain

    def item(self, status: str, **more: Any) -> Item:
        text = self.words()
        return {"id": f"i{self.number}", "text": text, "status": status, **more}

    def ledger(self) -> dict[str, Any]:
        draw = self.random
        grave = (None, "normal", "important", "critical", "Critical ", "blocker”")
        constraints = [
            self.item(draw.choice(("active", "active", "retired")), severity=draw.choice(grave))
            for _ in range(draw.choice((0, 3, 30)))
        ]
        outputs = [
            self.item(
                draw.choice(("draft", "final", "nearly”")), next=draw.choice((None, self.words())), markdown="body"
            )
            for _ in range(draw.choice((0, 2, 20)))
        ]
        calls = [self.item(draw.choice(("proposed", "running", "done", "odd”"))) for _ in range(draw.randrange(3))]
        slots = [
            self.item(draw.choice(("open", "filling", "done")), intent="x", fields={"city": self.words()})
            for _ in range(draw.randrange(3))
        ]
        for _ in range(draw.randrange(3)):
            text = self.words()
            fields = {"text": text, "at": self.number}
            state = draw.choice(("open", "done"))
            slots.append(
                {"id": f"n{self.number}", "text": "next_step", "status": state, "intent": "next_step", "fields": fields}
            )
        return {
            "meta": {"goal": draw.choice(("", self.words()))}, "constraints": constraints, "outputs": outputs,
            "calls": calls, "slots": slots, "decisions": self.decisions(),
            "questions": self.questions(), "messages": self.messages(),
        }  # fmt: skip

    def decisions(self) -> list[Item]:
        found: list[Item] = []
        for _ in range(self.random.choice((0, 4, 40))):
            olds = self.random.sample(found, min(len(found), self.random.choice((0, 0, 0, 1, 2))))
            topic = self.random.choice((None, self.words()))
            found.append(self.item("", topic=topic, supersedes=[old["id"] for old in olds]))
        standings = decision_standings({item["id"]: item["supersedes"] for item in found})
        return [{**item, "status": standings[item["id"]]} for item in found]

    def questions(self) -> list[Item]:
        found = []
        for _ in range(self.random.choice((0, 3, 25))):
            answers: list[Item] = []
            for _ in range(self.random.choice((0, 0, 1, 1, 2))):
                olds = [one["id"] for one in answers if self.random.random() < 0.5]
                answers.append(self.item("", supersedes=olds))
            status = answer_standing(answers, dropped=self.random.random() < 0.2)
            found.append(self.item(status, answers=answers))
        return found

    def messages(self) -> list[Item]:
        said = [self.item("sent", refs=None) for _ in range(self.random.randrange(3))]
        refs = [{"unfiled": one["text"], "source": one["id"]} for one in said] + [{"unfiled": 7}, "odd"]
        return [*said, self.item("sent", refs=refs)]


def told(seed: int, language: Language) -> tuple[dict[str, Any], Resumption]:
    ledger = Draw(seed).ledger()
    return ledger, resume(f"Task {seed} “named” anew", ledger, language)


def standing(question: Item) -> list[str]:
    replaced = {old for answer in question["answers"] for old in answer["supersedes"]}
    return [answer["text"] for answer in question["answers"] if answer["id"] not in replaced]


def owed(ledger: dict[str, Any]) -> list[str]:
    """The words that must be there whatever else is: as the contract says, and not as the code does."""
    grave = [c for c in ledger["constraints"] if (c["severity"] or "normal").strip().lower() != "normal"]
    found = [c["text"] for c in grave if c["status"] == "active"]
    found += [d["text"] for d in ledger["decisions"] if d["status"] == "conflicting"]
    found += [q["text"] for q in ledger["questions"] if q["status"] in ("open", "conflicting")]
    found += [words for q in ledger["questions"] if q["status"] == "conflicting" for words in standing(q)]
    found += [o["text"] for o in ledger["outputs"] if o["status"] != "final"]
    found += [c["text"] for c in ledger["calls"] if c["status"] != "done"]
    steps = [s for s in ledger["slots"] if s["intent"] == "next_step"]
    found += [s["text"] for s in ledger["slots"] if s["status"] != "done" and s not in steps]
    found += [s["fields"]["text"] for s in steps if s["status"] == "open"]
    found += [one["text"] for one in ledger["messages"][:-1]]
    return [one_line(words) for words in found]


def lapsed(ledger: dict[str, Any]) -> list[str]:
    found = [c["text"] for c in ledger["constraints"] if c["status"] == "retired"]
    found += [d["text"] for d in ledger["decisions"] if d["status"] == "superseded"]
    found += [q["text"] for q in ledger["questions"] if q["status"] == "dropped"]
    answered = [q for q in ledger["questions"] if q["status"] != "dropped"]
    found += [answer["text"] for q in answered for answer in q["answers"] if answer["text"] not in standing(q)]
    return [one_line(words) for words in found]


@pytest.mark.parametrize("language", LANGUAGES)
def test_of_200_ledgers_all_that_stands_is_told_and_nothing_that_lapsed(language: Language) -> None:
    for seed in range(200):
        ledger, resumption = told(seed, language)
        frame, words = unquoted(resumption.text)
        assert resumption.checked, seed
        assert not [one for one in owed(ledger) if one not in words], seed
        assert not [one for one in lapsed(ledger) if one in words], seed
        assert {item["status"] for item in resumption.facts.decisions} <= {"current", "conflicting"}
        current = [one_line(d["text"]) for d in ledger["decisions"] if d["status"] == "current"]
        more = [d for d in current if d not in words]
        counted = {"en": f"{len(more)} more decision", "zh": f"另有 {len(more)} 项决定"}[language]
        assert (counted in frame) if more else ("more decision" not in frame and "项决定" not in frame), (seed, frame)
        assert not more or current.index(more[-1]) == len(more) - 1  # those that are told are the latest


OPEN = {"en": ("Still open: ", "Next step: settle ", "Not settled, since answers conflict: "),
        "zh": ("尚待解决：", "下一步：解决", "尚未定论，回答互相冲突：")}  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_open_question_stands_in_no_sentence_but_those_for_what_is_open(language: Language) -> None:
    for seed in range(200):
        ledger, resumption = told(seed, language)
        text = resumption.text
        for question in ledger["questions"]:
            if question["status"] != "open":
                continue
            quoted = telling.WORDS[language].quote(question["text"])
            at = text.find(quoted)
            while at >= 0:
                frame, _ = unquoted(text[:at])
                lead = max(OPEN[language], key=frame.rfind)
                assert frame.rfind(lead) >= 0, (seed, text)
                assert set(frame[frame.rfind(lead) + len(lead) :]) <= set("“…”, and、和"), (seed, frame)
                at = text.find(quoted, at + 1)


def harmless(value: Any, make: Callable[[str], str]) -> Any:
    """The same ledger with every word of people's replaced."""
    if isinstance(value, dict):
        kept = ("id", "status", "intent", "supersedes", "markdown", "kind", "source")
        return {key: one if key in kept else harmless(one, make) for key, one in value.items()}
    if isinstance(value, list):
        return [harmless(one, make) for one in value]
    return make(value) if isinstance(value, str) else value


def plain(text: str) -> str:
    """As many letters, with the same full stop at the end."""
    severity = text.strip().lower()
    if severity in ("normal", "important", "critical"):
        return text
    last = one_line(text)[-1:]
    return "a" * (len(text) - 1) + (last if last in ".?!…。？！" else "a") if one_line(text) else ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_words_do_not_change_a_letter_of_the_sentences_around_them(language: Language) -> None:
    for seed in range(200):
        ledger, resumption = told(seed, language)
        ledger["messages"] = []
        tame = resume("Task a", harmless(ledger, plain), language).text
        wild = resume("Task a", ledger, language).text
        assert unquoted(wild)[0] == unquoted(tame)[0], seed


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_quoted_word_can_be_read_back(language: Language) -> None:
    draw = random.Random(5)
    for _ in range(3_000):
        words = "".join(draw.choices("“”«»「」⟦⟧ a.?\n", k=draw.randrange(1, 12)))
        if one_line(words):
            quoted = quoting.quote(words, PAIRS[language])
            assert unquoted(f"Decided: {quoted}.") == ("Decided: “…”.", [one_line(words)]), words


def test_two_hundred_items_stay_complete_and_readable() -> None:
    constraints = [
        {"id": f"c{n}", "text": f"Rule {n}", "status": "active", "severity": ("critical", "important", "normal")[n % 3]}
        for n in range(60)
    ]
    decisions = [{"id": f"d{n}", "text": f"Choice {n}", "status": "current", "supersedes": []} for n in range(120)]
    questions = [{"id": f"q{n}", "text": f"Question {n}?", "status": "open", "answers": []} for n in range(20)]
    resumption = resume("Much", {"constraints": constraints, "decisions": decisions, "questions": questions})
    assert resumption.checked and len(resumption.facts.decisions) == 120
    text = resumption.text
    assert all(f"“Rule {n}” ({grave})" in text for n in range(60) if (grave := constraints[n]["severity"]) != "normal")
    assert text.index("(important)") > text.rindex("(critical)")
    assert all(f"“Question {n}?”" in text for n in range(20))
    kept = MOST - FEWEST
    assert f"“Choice 119” and {120 - kept} more decisions." in text and f"“Choice {120 - kept}”" in text
    assert f"“Choice {119 - kept}”" not in text and " and 8 more constraints." in text


def decided(*texts: str) -> list[Item]:
    return [{"id": f"d{n}", "text": text, "status": "current", "supersedes": []} for n, text in enumerate(texts)]


def test_what_is_long_is_shortened_and_pushes_nothing_out() -> None:
    long = ["long " * 600 + str(n) for n in range(3)]
    ledger: dict[str, Any] = {
        "decisions": decided("Go", *long, "Stay"),
        "constraints": [{"id": "c", "text": long[0], "status": "active", "severity": "critical"}],
        "questions": [{"id": "q", "text": long[1], "status": "open", "answers": []}],
    }
    resumption = resume("x", ledger)
    assert resumption.checked and resumption.facts.decisions[1]["text"] == long[0]
    _, words = unquoted(resumption.text)
    cut = ("long " * 600)[:299].rstrip() + "…"
    assert words[1:] == [long[0], "Go", cut, cut, cut, "Stay", cut, cut]
    assert "more decision" not in resumption.text


def test_every_item_is_named_up_to_sixty_and_of_many_long_ones_a_beginning() -> None:
    for size in (20, 2_000):
        ledger: dict[str, Any] = {
            "decisions": decided(*(f"Choice {n} {'x' * size}" for n in range(30))),
            "constraints": [
                {"id": f"c{n}", "text": f"Rule {n} {'y' * size}", "status": "active", "severity": "normal"}
                for n in range(20)
            ],
            "outputs": [{"id": f"o{n}", "text": f"Paper {n}", "status": "final"} for n in range(10)],
        }
        text = resume("x", ledger).text
        names = [f"“Choice {n} " for n in range(30)] + [f"“Rule {n} " for n in range(20)]
        assert all(name in text for name in [*names, *(f"“Paper {n}” (final)" for n in range(10))])
        assert " more " not in text and len(text) < LETTERS
    ledger["outputs"].append({"id": "o10", "text": "Paper 10", "status": "final"})
    assert " and 1 more constraint." in resume("x", ledger).text


def test_sides_of_a_conflict_that_differ_late_are_told_whole() -> None:
    sides = [
        {**one, "status": "conflicting", "supersedes": ["d"]}
        for one in decided("same " * 100 + "yes", "same " * 100 + "no")
    ]
    text = resume("x", {"decisions": [{"id": "d", "text": "", "status": "superseded"}, *sides]}).text
    assert "same yes” against “" in text and "same no”" in text


def test_what_is_only_counted_against_the_promise_is_no_checked_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "allot", lambda sizes: [0 for _ in sizes])
    assert not resume("x", {"decisions": decided("Go")}).checked


SCOTLAND = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
SEEN = ("👩\u200d👩\u200d👧 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈", "می\u200cخواهم क्\u200dष", SCOTLAND)
UNSEEN = {
    "red\x1b[31m": "red[31m", "a\u200bb\u2060c\ufeffd\xade": "abcde", "\u202eevil\u2066": "evil", "a\x00b\x85c": "ab c",
    "a\u200db\u200cc": "abc", "tag\U000e0041\U000e007f": "tag", "\u200d\u3164": "", "\ud800x": "x", SCOTLAND[:3]: "🏴",
}  # fmt: skip


def test_what_has_no_shape_is_not_told_but_where_a_letter_or_a_picture_needs_it() -> None:
    for said, seen in [*UNSEEN.items(), *zip(SEEN, SEEN, strict=True)]:
        assert one_line(said) == seen, ascii(said)
        resumption = resume(said or "x", {"decisions": decided(said)})
        assert resumption.checked
        assert (f"Decided: “{seen}”" in resumption.text) if seen else ("Decided" not in resumption.text)
    assert not [item for item in resume("x", {"decisions": decided(*UNSEEN)}).text if item in "\x1b\u200b\u202e\ufeff"]


def test_what_no_agent_answered_is_quoted_unless_the_ledger_quotes_it() -> None:
    texts = ("We use Postgres. ", "We use Postgres. And pay early.", "word " * 90, "👍", "ok", "Pay early!")
    messages = [{"id": f"m{n}", "text": text, "status": "sent", "refs": None} for n, text in enumerate(texts)]
    ledger: dict[str, Any] = {"messages": messages, "decisions": decided("we use postgres", "o", "Always pay early")}
    found = unanswered(ledger, ["m0", "m1", "m2", "m3", "m4", "m5", "gone"])
    cut = ("word " * 90)[:199].rstrip() + "…"
    assert [one["text"] for one in found] == ["We use Postgres. And pay early.", cut, "👍", "ok"]
    assert {(one["status"], one["source"] == one["id"]) for one in found} == {("not_answered", True)}
    facts = replace(gather({}), not_filed=found)
    assert word("x", facts, "en").text.endswith(
        f"Not answered: “We use Postgres. And pay early.”, “{cut}”, “👍” and “ok”."
    )
    zh = word("x", facts, "zh")
    assert zh.checked and "未得到回答：“We use Postgres. And pay early.”、" in zh.text
    many = replace(facts, not_filed=[{**found[0], "id": f"m{n}", "text": f"word {n}"} for n in range(FEWEST + 3)])
    assert word("x", many, "en").text.endswith(f"“word {FEWEST + 2}” and 3 earlier messages.")


def test_conflicts_are_told_apart_from_one_another() -> None:
    decisions: list[Item] = [
        {"id": key, "text": key, "supersedes": olds, "status": ""}
        for key, olds in (("a", []), ("b", ["a"]), ("c", ["a"]), ("k", []), ("l", ["k"]), ("m", ["k"]), ("n", ["m"]))
    ]
    standings = decision_standings({d["id"]: d["supersedes"] for d in decisions})
    ledger = {"decisions": [{**d, "status": standings[str(d["id"])]} for d in decisions]}
    assert gather(ledger).conflicts == [["b", "c"], ["l", "n"]]
    assert resume("x", ledger).text.count("Not settled, since decisions conflict") == 2


def test_many_changes_are_counted_but_none_of_what_is_grave() -> None:
    made = {"what": "added", "by": "Wei", "device": "phone", "agent": None, "you": False, "at": "2027-01-15T08:00:00Z"}
    kinds = [("decision", None)] * 30 + [("question", None)] * 20 + [("constraint", "critical")] * 20
    changes = [
        {"id": f"x{n}", "text": f"x{n}", "status": "open", "kind": kind, "severity": severity, **made}
        for n, (kind, severity) in enumerate(kinds)
    ]
    spoken = [{**changes[0], "kind": "message", "id": f"m{n}"} for n in range(40)]
    resumption = resume("x", {}, changes=[*changes, *spoken], since=Since(1_799_990_000, 1_800_000_000))
    assert resumption.checked and "wrote 40 messages" in resumption.text
    assert all(f"“x{n}”" in resumption.text for n in range(30, 70))
    assert resumption.text.endswith("; and 18 more changes.")


def test_what_an_agent_could_not_file_is_quoted_until_it_is_filed_or_unsaid() -> None:
    message = {"id": "m1", "text": "Pay  early,\nplease. Also cake.", "status": "sent", "refs": None}
    refs = [{"unfiled": "Pay early, please", "source": "m1"}, {"unfiled": "never said", "source": "m1"}]
    answer = {
        "id": "m2",
        "text": "Noted.",
        "status": "sent",
        "refs": [*refs, refs[0], {"unfiled": "cake", "source": "m9"}],
    }
    ledger: dict[str, Any] = {"messages": [message, answer]}
    [unfiled] = gather(ledger).not_filed
    assert (unfiled["id"], unfiled["text"], unfiled["source"]) == ("m2/0", "Pay early, please", "m1")
    assert resume("x", ledger).text.endswith("Said, but not filed: “Pay early, please”.")
    filed = {"id": "c1", "text": "We PAY EARLY, please, always", "status": "retired", "severity": None}
    assert gather({**ledger, "constraints": [filed]}).not_filed == []
    assert gather({"messages": [{**message, "text": "Pay late"}, answer]}).not_filed == []
