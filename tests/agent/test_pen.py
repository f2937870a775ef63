from __future__ import annotations

from typing import Any

import pytest
from pycrdt import Doc, Map, Text

from agent.pen import MAX_ANSWER, Pen, Removed, find_place
from agent.summary import replace
from crdt_docs.contents import read_contents
from crdt_docs.ids import is_id, new_ordered_id


def pen(doc: Doc[Any]) -> Pen:
    return Pen(doc, "a", turn="t", author="Clew", now=1_800_000_000_000)


def say(doc: Doc[Any], *pieces: str, refs: tuple[dict[str, Any], ...] = ()) -> None:
    writing = pen(doc)
    for piece in pieces:
        writing.say(piece)
        writing.flush()
    writing.finish(refs)


def answer(doc: Doc[Any]) -> str:
    return str(words(doc))


def words(doc: Doc[Any]) -> Text:
    text: Text = doc.get("messages", type=Map)["a"]["text"]
    return text


def test_where_somebody_else_stands_the_answer_goes_to_a_place_of_the_same_moment_that_every_attempt_finds() -> None:
    doc: Doc[Any] = Doc()
    messages: Map[Any] = doc.get("messages", type=Map)
    named = new_ordered_id(1_800_000_000_000)
    assert find_place(doc, named, turn="t", begun=False) == named
    messages[named] = "taken"
    place = find_place(doc, named, turn="t", begun=False)
    assert place != named and is_id(place) and place[:13] == named[:13]
    assert find_place(doc, named, turn="t", begun=True) == place
    messages[place] = Map({"role": "agent", "turn": "t", "text": Text("so far")})
    assert find_place(doc, named, turn="t", begun=True) == place
    assert find_place(doc, named, turn="another", begun=True) not in (named, place)
    assert find_place(doc, named, turn="t", begun=False) not in (named, place)


def test_an_answer_is_an_agents_message_with_its_turn_and_what_it_says_of_itself() -> None:
    doc: Doc[Any] = Doc()
    say(doc, "Noted. ", "We ship on ", "Friday 🎉", refs=({"unfiled": "maybe", "source": "m"},))
    [item] = read_contents(doc).messages
    assert (item["text"], item["role"], item["author"]) == ("Noted. We ship on Friday 🎉", "agent", "Clew")
    assert (item["turn"], item["refs"]) == ("t", [{"unfiled": "maybe", "source": "m"}])


def test_nothing_is_made_before_the_first_words_and_nothing_at_all_without_any() -> None:
    doc: Doc[Any] = Doc()
    writing = pen(doc)
    writing.flush()
    assert len(doc.get("messages", type=Map)) == 0
    writing.finish(())
    assert len(doc.get("messages", type=Map)) == 0


def test_what_was_not_filed_is_kept_even_where_nothing_is_said() -> None:
    doc: Doc[Any] = Doc()
    say(doc, refs=({"unfiled": "maybe", "source": "m"},))
    assert read_contents(doc).messages[0]["refs"] == [{"unfiled": "maybe", "source": "m"}]


def test_a_flush_is_one_update_and_not_one_a_token() -> None:
    doc: Doc[Any] = Doc()
    updates: list[bytes] = []
    doc.observe(lambda event: updates.append(event.update))
    writing = pen(doc)
    for number in range(200):
        writing.say(f"{number} ")
    writing.flush()
    assert len(updates) == 1


@pytest.mark.parametrize("second", [("one ", "two ", "three ", "four"), ("three ", "four")])
def test_a_second_attempt_goes_on_in_the_same_entry_and_doubles_nothing(second: tuple[str, ...]) -> None:
    doc: Doc[Any] = Doc()
    first = pen(doc)
    first.say("one two thr")
    first.flush()
    assert answer(doc) == "one two "
    say(doc, *second)
    assert answer(doc) == "one two three four"
    assert len(doc.get("messages", type=Map)) == 1


def test_a_second_attempt_adds_to_what_the_first_said_of_itself() -> None:
    doc: Doc[Any] = Doc()
    say(doc, "x", refs=({"filed": "decision", "id": "d", "source": "m"},))
    say(doc, "x", refs=({"filed": "decision", "id": "d", "source": "m"}, {"fell_back": "no key"}))
    refs = read_contents(doc).messages[0]["refs"]
    assert refs == [{"filed": "decision", "id": "d", "source": "m"}, {"fell_back": "no key"}]


def test_a_second_round_begins_a_paragraph() -> None:
    doc: Doc[Any] = Doc()
    writing = pen(doc)
    writing.follow()
    writing.say("First.")
    writing.follow()
    assert answer(doc) == "First."
    writing.say("Second.")
    writing.follow()
    writing.finish(())
    assert answer(doc) == "First.\n\nSecond."


def test_what_people_write_into_the_answer_stays_and_the_answer_goes_on_after_its_own_words() -> None:
    doc: Doc[Any] = Doc()
    writing = pen(doc)
    writing.say("日本 is 😀 far, ")
    writing.flush()
    text = words(doc)
    text.insert(len(text), "[says Ana]")
    text.insert(0, "Hm: ")
    writing.say("and we go there.")
    writing.finish(())
    assert answer(doc) == "Hm: 日本 is 😀 far, and we go there.[says Ana]"


def test_an_answer_that_was_taken_away_is_not_made_again() -> None:
    doc: Doc[Any] = Doc()
    writing = pen(doc)
    writing.say("one ")
    writing.flush()
    del doc.get("messages", type=Map)["a"]
    writing.say("two ")
    with pytest.raises(Removed):
        writing.flush()
    with pytest.raises(Removed):
        writing.finish(({"fell_back": "x"},))
    assert len(doc.get("messages", type=Map)) == 0


def test_an_answer_has_an_end() -> None:
    doc: Doc[Any] = Doc()
    writing = pen(doc)
    writing.say("word " * (MAX_ANSWER // 5 + 100))
    writing.finish(())
    assert len(answer(doc)) == MAX_ANSWER
    assert writing.full


def test_a_stock_clients_answer_without_text_gets_one() -> None:
    doc: Doc[Any] = Doc()
    doc.get("messages", type=Map)["a"] = Map({"role": "agent"})
    say(doc, "words")
    assert answer(doc) == "words"


def test_a_narrative_takes_the_place_of_the_one_before_and_of_its_checks() -> None:
    doc: Doc[Any] = Doc()
    replace(doc, "Once.", by="clerk", covers_seq=7)
    doc.get("summary", type=Map)["checked"]["x"] = True
    replace(doc, "Twice.", by="openai:small")
    summary = read_contents(doc).summary
    assert summary == {"text": "Twice.", "covers_seq": None, "by": "openai:small", "checked": []}


def test_of_two_narratives_written_at_once_one_stands_whole() -> None:
    one: Doc[Any] = Doc()
    replace(one, "Before.", by="x")
    other: Doc[Any] = Doc()
    other.apply_update(one.get_update())
    replace(one, "From the one.", by="one")
    replace(other, "From the other.", by="other")
    one.apply_update(other.get_update())
    other.apply_update(one.get_update())
    assert read_contents(one).summary == read_contents(other).summary
    assert read_contents(one).summary["text"] in ("From the one.", "From the other.")
