"""Terms of texts: what they are compared by, and what they weigh."""

from __future__ import annotations

import pytest

from server.domain.likeness import Message, dump, is_common, load, profile, stem, strength, terms, titled


def values(text: str) -> set[str]:
    return {term.value for term in terms(text)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Acme, ACME acme!", {"acm"}), ("we are on the way", {"way"}), ("合同", {"合同"}), ("合", {"合"}),
        ("合同书", {"合同", "同书"}), ("ﬁle", {"fil"}), ("😀 — …", set()), ("", set()), ("a 5", set()),
        ("v2合同", {"v2", "合同"}), ("我们的", set()), ("Dana’s cap isn't", {"dana", "cap"}),
        ("see report_v2.docx", {"see", "report", "v2", "docx", "report_v2.docx"}),
        ("MOB-3318", {"mob", "3318", "mob-3318"}),
        ("1,410 and 0.5", {"1410", "0.5"}), ("Fløyen Flåm", {"fløyen", "flam"}), ("１２３", {"123"}),
        ("www.example.org/x1", {"www", "exampl", "org", "x1", "www.example.org/x1"}), ("한국어", {"한국", "국어"}),
        ("snake_case", {"snak", "cas", "snake_case"}), ("take-home", {"tak", "hom"}), ("\ud800 word", {"word"}),
    ],
)  # fmt: skip
def test_terms_are_words_ids_and_pairs_of_characters(text: str, expected: set[str]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    "forms",
    [
        ("raise", "raises", "raised", "raising"), ("batch", "batches", "batching", "batched"), ("reply", "replies"),
        ("stop", "stopped", "stopping", "stops"), ("class", "classes"), ("invoice", "invoices", "invoiced"),
        ("box", "boxes"), ("sell", "selling", "sells"), ("ship", "shipping", "shipped"),
    ],
)  # fmt: skip
def test_inflections_of_a_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len(set(map(stem, forms))) == 1


def test_different_words_stay_different() -> None:
    words = ("thing", "the", "this", "bus", "lens", "analysis", "sing", "bed", "news", "tree", "string", "red", "king")
    assert len(set(map(stem, words))) == len(words)


def test_a_term_knows_where_it_stands() -> None:
    text = "Ask Dana’s lawyer: 合同 v2"
    assert [text[term.start : term.end] for term in terms(text)] == ["Ask", "Dana’s", "lawyer", "合同", "v2"]


def test_ids_tell_more_than_words_and_words_more_than_short_numbers() -> None:
    assert strength("mob-3318") > strength("3318") > strength("lawyer") > strength("42")
    assert strength("2026") < strength("lawyer")


def test_what_is_common_everywhere_weighs_little_even_if_only_one_task_has_it() -> None:
    message = Message("please meet the indemnity deadline 我们 时间 租金", [profile("meet me"), profile("indemnity")])
    assert message.weights["meet"] < message.weights["indemnity"] / 2
    assert message.weights["时间"] < message.weights["租金"] / 2
    assert "pleas" not in message.weights and is_common("meet") and not is_common("indemnity")


def test_what_many_tasks_have_weighs_less() -> None:
    message = Message("escrow indemnity", [profile(f"escrow {'indemnity' * (n < 1)}") for n in range(9)])
    assert message.weights["escrow"] < message.weights["indemnity"]


def test_a_long_text_needs_more_to_be_as_like() -> None:
    message = Message(
        "indemnity cap", [short := profile("indemnity cap"), long := profile("indemnity cap " + word_salad())]
    )
    assert message.likeness(long).evidence < message.likeness(short).evidence


def word_salad() -> str:
    return " ".join(f"word{number}" for number in range(3000))


def test_copied_runs_are_found_through_a_changed_word_case_and_line_breaks() -> None:
    clause = "Supplier and customer shall escrow sources under a trustee until losses of either insurer are settled"
    message = Message(clause.upper().replace(" ", "\n").replace("INSURER", "bank"), [text := profile(f"x {clause} y")])
    assert len(message.likeness(text).copied) == 13


def test_copied_chinese_is_found_by_characters() -> None:
    message = Message(
        "请看：乙方提前退租须提前九十天书面通知。谢谢",
        [text := profile("第五条乙方提前退租须提前九十天书面通知，违约金")],
    )
    assert len(message.likeness(text).copied) == len("乙方提前退租须提前九十天书面通知")


def test_only_so_much_is_read() -> None:
    assert "late" not in profile("x y " * 30_000 + "late").counts
    assert Message("x y " * 10_000 + "late", []).weights == {}


def test_a_profile_comes_back_as_it_was_sent() -> None:
    sent = profile("Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich, 合同修订 \ud800 42 🙂")
    assert load(dump(sent)) == sent and sent.runs


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"counts": {"a": "x"}, "runs": []}', b'{"counts": {}, "runs": [-1]}']
)
def test_what_is_no_profile_is_not_taken_for_one(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, OverflowError)):
        load(data)


def test_a_title_counts_as_the_texts_own_words() -> None:
    both = titled(profile("indemnity cap"), "Acme cap")
    assert both.counts == {"indemnity": 1, "cap": 2, "acm": 1} and both.length == 4
