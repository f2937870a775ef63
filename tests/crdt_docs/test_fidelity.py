"""What the scorer of summaries finds, fault by fault, and that no text harms it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final

import pytest

from crdt_docs.fidelity import Blocked, Fidelity, LedgerItem, Passed, score
from crdt_docs.fidelity.values import Value, same, values
from crdt_docs.fidelity.words import normalise

LEDGER: Final = (
    LedgerItem("C1", "constraint", "The indemnity cap must not exceed 2x annual fees", "active", "critical"),
    LedgerItem("D0", "decision", "Payment terms are net-30", "superseded", superseded_by="D1"),
    LedgerItem("D1", "decision", "Payment terms are net-45", "active", "important"),
    LedgerItem("D2", "decision", "Legal approved the liability section", "active", "important"),
    LedgerItem("Q1", "question", "Will Cobalt accept a 21-day termination notice?", "open"),
    LedgerItem("N1", "next_step", "Dana Ruiz sends the redline to Tom Okafor by 2 Dec", "open", "critical"),
    LedgerItem("F1", "fact", "Tom's bonus is 80,000 dollars", "forgotten"),
)
SUMMARY: Final = (
    "You were working on the contract with Cobalt. The indemnity cap must not exceed 2x annual fees. Payment terms are "
    "net-45. Legal has approved the liability section. Whether Cobalt accepts a 21-day termination notice is still "
    "open. "
    "Next, Dana Ruiz sends the redline to Tom Okafor by December 2nd."
)


def judge(text: str, source: str = "The contract with Cobalt") -> Fidelity:
    return score(text, LEDGER, source)


def codes(fidelity: Fidelity) -> set[tuple[str, str]]:
    return {(finding.code, finding.item) for finding in fidelity.findings}


def changed(old: str, new: str) -> Fidelity:
    assert old in SUMMARY
    return judge(SUMMARY.replace(old, new))


def test_a_faithful_summary_passes_with_all_points() -> None:
    assert judge(SUMMARY) == Fidelity(100.0, 1.0, (), Passed())


def test_a_verdict_says_why() -> None:
    fidelity = changed("net-45", "net-30")
    assert isinstance(fidelity.verdict, Blocked)
    assert {(f.code, f.item) for f in fidelity.verdict.reasons} == {("omitted", "D1"), ("stale", "D0")}


class TestFoundInModelsTexts:
    """Faults that small models were seen to make, and that a scorer without sense let pass."""

    def test_an_approval_that_was_given_is_not_told_as_required(self) -> None:
        for text in (
            "Legal approval is required for the liability section",
            "Legal approval of the liability section was required",
        ):
            assert ("negated", "D2") in codes(changed("Legal has approved the liability section", text))

    def test_a_party_that_nobody_named_is_no_counterparty(self) -> None:
        fidelity = judge(SUMMARY.replace("the contract with Cobalt", "her contract with the government"))
        assert isinstance(fidelity.verdict, Blocked)
        assert ("unsupported", "") in codes(fidelity)

    def test_nobody_sends_a_thing_to_himself(self) -> None:
        fidelity = changed("Dana Ruiz sends the redline", "Tom Okafor is scheduled to send a redline")
        assert isinstance(fidelity.verdict, Blocked)

    def test_a_question_must_keep_its_point(self) -> None:
        fidelity = changed(
            "Whether Cobalt accepts a 21-day termination notice is still open", "The termination notice is still open"
        )
        assert ("blurred", "Q1") in codes(fidelity)
        assert isinstance(fidelity.verdict, Blocked)

    def test_an_open_question_is_not_told_as_accepted(self) -> None:
        assert ("asserted", "Q1") in codes(
            changed(
                "Whether Cobalt accepts a 21-day termination notice is still open",
                "Cobalt accepts a 21-day termination notice",
            )
        )


class TestWhatMayBeLeftOut:
    def test_a_normal_decision_costs_points_only(self) -> None:
        extra = LedgerItem("D3", "decision", "Invoices go out in PDF", "active")
        fidelity = score(SUMMARY, (*LEDGER, extra), "The contract with Cobalt")
        assert isinstance(fidelity.verdict, Passed)
        assert fidelity.score < 100
        assert codes(fidelity) == {("omitted", "D3")}

    @pytest.mark.parametrize("kind", ["constraint", "next_step"])
    def test_a_constraint_and_a_next_step_must_be_told_whatever_their_severity(self, kind: Any) -> None:
        extra = LedgerItem("X", kind, "Ask Ruth for the invoice template", "active")
        assert isinstance(score(SUMMARY, (*LEDGER, extra), "The contract with Cobalt").verdict, Blocked)

    def test_severity_weighs(self) -> None:
        extra = LedgerItem("D3", "decision", "Invoices go out in PDF", "active")
        grave = score(SUMMARY, (*LEDGER, replace(extra, severity="critical")))
        assert grave.score < score(SUMMARY, (*LEDGER, extra)).score
        assert isinstance(grave.verdict, Blocked)


class TestWhatMayBeTold:
    def test_what_was_replaced_may_be_told_as_such(self) -> None:
        for text in (
            "net-45 (it was net-30 before)",
            "net-45 instead of net-30",
            "now net-45, changed from net-30",
            "net-45; net-30 was replaced",
        ):
            fidelity = judge(SUMMARY.replace("net-45", text))
            assert isinstance(fidelity.verdict, Passed), (text, fidelity.findings)

    def test_but_not_the_wrong_way_round(self) -> None:
        assert ("stale", "D0") in codes(
            judge(SUMMARY.replace("Payment terms are net-45", "Payment terms are net-30, which replaced net-45"))
        )

    def test_what_the_source_says_of_the_same_thing_is_supported(self) -> None:
        more = SUMMARY + " The liability section has 14 pages."
        assert isinstance(judge(more).verdict, Blocked)
        assert isinstance(
            judge(more, "The contract with Cobalt. The liability section is 14 pages long.").verdict, Passed
        )

    def test_what_was_to_be_forgotten_is_not_told_though_the_source_says_it(self) -> None:
        more = SUMMARY + " Tom's bonus is $80k."
        assert ("leaked", "F1") in codes(judge(more, "The contract with Cobalt. Tom's bonus is 80,000 dollars."))

    def test_a_brief_summary_is_worth_more_than_a_long_one(self) -> None:
        assert score(SUMMARY, LEDGER, "Cobalt", budget_words=20).score < score(SUMMARY, LEDGER, "Cobalt").score

    def test_a_denial_before_a_rows_own_words_denies_them(self) -> None:
        for text in ("It is not the case that payment terms are net-45", "No longer: payment terms are net-45"):
            assert isinstance(changed("Payment terms are net-45", text).verdict, Blocked)


def only(text: str) -> Value:
    found = values(normalise(text, 1000))
    assert len(found) == 1, (text, found)
    return found[0]


@pytest.mark.parametrize(
    "spellings",
    [
        ("net-30", "thirty days", "30 days", "30天", "三十天", "30日内", "net 30 days"),
        (
            "2 Dec",
            "December 2nd",
            "Dec. 2",
            "2nd of December",
            "12-02",
            "12月2日",
            "十二月二号",
            "2026-12-02",
            "２０２６年１２月２日",
        ),
        ("$1.5m", "1,500,000 dollars", "USD 1.5 million", "US$1,500,000", "150万美元"),
        ("150 k€", "€150k", "150,000 euros", "EUR 150,000", "15万欧元", "十五万欧元"),
        ("3.5亿", "350,000,000", "350 million", "三亿五千万"),
        ("五万", "50000", "50,000", "fifty thousand", "5万"),
        ("5%", "five percent", "5 per cent", "百分之五", "５％"),
        ("2x", "2×", "two times", "2倍", "两倍"),
        ("v2.3.1", "version 2.3.1", "2.3.1", "版本2.3.1"),
        ("3pm", "15:00", "下午3点", "3 p.m."),
        ("10 working days", "ten business days", "10个工作日"),
        ("two weeks", "14 days", "两周", "14天"),
        ("500 MB", "500MB", "500 mb"),
    ],
)
def test_a_value_is_the_same_however_it_is_written(spellings: tuple[str, ...]) -> None:
    first = only(spellings[0])
    assert [other for other in spellings if not same(first, only(other))] == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("net-30", "net-45"), ("30 days", "30 weeks"), ("30 days", "30 working days"), ("$5", "€5"), ("5%", "5x"),
        ("2 Dec", "12 Feb"), ("2026-12-02", "2 Dec 2027"), ("v2.3.1", "v2.3.2"), ("五万", "五千"), ("500 MB", "500 GB"),
        ("3pm", "3am"), ("1.5m", "1.5k"), ("12月2日", "12月3日"), ("5万元", "5万美元"), ("Q3", "Q4"),
    ],
)  # fmt: skip
def test_another_value_is_another(one: str, other: str) -> None:
    assert not same(only(one), only(other))


@pytest.mark.parametrize(
    "text", ["SOC2 and ISO27001", "UTF-8", "GPT-4", "must may march", "第三方", "统一", "千万不要", "周期"]
)
def test_what_only_looks_like_a_value_is_none(text: str) -> None:
    assert [value for value in values(normalise(text, 100)) if not value.faint] == []


HOSTILE: Final = [
    "1,", "(((", "一", "$", "1-", "1.1.", "12月1", "A. ", "? ", "a@", "not ", "if to ", "a:\n", "“", "▫", "\u202e",
    "\ufdfa", "\x00",
    "one hundred and ", "Dana to Tom, ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long_or_raises(piece: str) -> None:
    """F1. A long text as summary is refused unread; one at the bound, and one as a row, are read in time."""
    text = piece * (200_000 // len(piece))
    began = time.process_time()
    assert isinstance(score(text, LEDGER, text).verdict, Blocked)
    assert score(text[:8000], (*LEDGER, LedgerItem("H", "constraint", text, "active"))).score <= 100
    assert time.process_time() - began < 3, "seconds; a fraction of one on an idle machine"


@pytest.mark.parametrize("piece", ["1,", "王", "He said 1 "])
def test_a_long_source_is_looked_up_in_time(piece: str) -> None:
    began = time.process_time()
    assert score(SUMMARY, LEDGER, piece * (200_000 // len(piece))).score <= 100
    assert time.process_time() - began < 6, "seconds; one at most on an idle machine"


def test_what_is_quadratic_is_not_so_by_the_number_of_rows() -> None:
    many = [LedgerItem(str(n), "fact", f"Item {n} costs {n} euros at Dana Ruiz", "active") for n in range(150)]
    began = time.process_time()
    assert score(" ".join(item.text + "." for item in many[:40]), many).coverage > 0
    assert time.process_time() - began < 10
    assert isinstance(score(SUMMARY, many * 8).verdict, Blocked)


def test_an_empty_ledger_and_an_empty_row_are_no_matter() -> None:
    assert isinstance(score("Nothing has been settled so far.", ()).verdict, Passed)
    empty = LedgerItem("E", "fact", "", "active")
    assert isinstance(score(SUMMARY, (*LEDGER, empty), "The contract with Cobalt").verdict, Passed)


def test_scoring_twice_gives_the_same_and_keeps_nothing() -> None:
    assert judge(SUMMARY) == judge(SUMMARY)
    assert isinstance(score(SUMMARY, (), "").verdict, Blocked)
