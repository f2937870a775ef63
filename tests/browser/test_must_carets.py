"""Two browsers in one paragraph. The numbers are those of the complaints that people have with other shared editors.

Each is a way in which somebody else's letters, Enter, caret or undo has taken words, or moved what one was looking at.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kit.devices import Device, Home
from playwright.sync_api import Locator, expect

pytestmark = pytest.mark.browser

BEFORE_CARET = """() => {
  const {focusNode, focusOffset, isCollapsed} = getSelection();
  if (!isCollapsed) return null;
  const range = document.createRange();
  range.setStart(document.querySelector(".words"), 0);
  range.setEnd(focusNode, focusOffset);
  return range.toString().replaceAll("\u2060", "");
}"""
"""The words before the caret (null while some are selected), without the joiners that stand beside carets; names of
peers are in attributes."""
TOPS = """() => [...document.querySelectorAll(".words > *")].map((block) => block.getBoundingClientRect().top)"""
CARET_TOP = """() => {
  const range = getSelection().getRangeAt(0).cloneRange();
  const [box] = range.getClientRects();
  return (box ?? range.startContainer.parentElement.getBoundingClientRect()).top;
}"""

PASTE = """(words, html) => {
  const data = new DataTransfer();
  data.setData("text/html", html);
  words.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""


def tabs_of(device: Device) -> Locator:
    """The documents' buttons, and behind them the one for another document."""
    return device.page.get_by_role("navigation", name="Documents").get_by_role("button")


@pytest.fixture
def sheet(home: Home) -> Iterator[tuple[Device, Device]]:
    """The laptop and the phone on a new document of their own, in which nothing stands yet."""
    laptop, phone = home.laptop, home.phone
    mine, theirs = (
        device.page.get_by_role("navigation", name="Documents").get_by_role("button") for device in home[:2]
    )
    before = mine.count()
    laptop.page.get_by_role("button", name="+ Document").click()
    expect(mine).to_have_count(before + 1)
    phone.show("Document")
    expect(theirs).to_have_count(before + 1)
    theirs.nth(-2).click()
    for device, tabs in ((laptop, mine), (phone, theirs)):
        expect(tabs.nth(-2)).to_have_attribute("aria-current", "page")
        expect(device.editor).to_have_text("")
    yield laptop, phone
    for device in (laptop, phone):
        device.context.set_offline(False)


def lines(device: Device) -> list[str]:
    """The paragraphs' words, without the mark of a peer's caret."""
    return [text.replace("\u2060", "") for text in device.editor.locator("> *").all_text_contents()]


def say_so(*devices: Device, lines_are: list[str]) -> None:
    """Wait until all of them show these paragraphs."""
    for device in devices:
        expect(device.editor.locator("> *")).to_have_count(len(lines_are))
        for at, line in enumerate(lines_are):
            expect(device.editor.locator("> *").nth(at)).to_contain_text(line)


def put_caret(device: Device, before: str, *keys: str) -> None:
    """By these keys to where ``before`` is all that stands before the caret.

    A key right after a click can be lost, or taken back: 20 ms after it got the focus, ProseMirror puts the caret where
    it last knew it. So the caret has to be there, and stay.
    """
    device.editor.click()
    for _ in range(40):
        device.page.wait_for_timeout(50)
        for key in keys:
            device.page.keyboard.press(key)
        if device.page.evaluate(BEFORE_CARET) == before:
            device.page.wait_for_timeout(50)
            if device.page.evaluate(BEFORE_CARET) == before:
                return
    raise AssertionError((device.page.evaluate(BEFORE_CARET), before))


def select(device: Device, line: str, before: str, *keys: str) -> None:
    """Select the break and the line after the caret that is put by these keys, again while it does not stay so."""
    for _ in range(10):
        put_caret(device, before, *keys)
        device.page.keyboard.press("Shift+ArrowDown")
        device.page.keyboard.press("Shift+End")
        device.page.wait_for_timeout(50)
        if device.page.evaluate("getSelection().toString()").split() == [line]:
            return
    raise AssertionError(device.page.evaluate("getSelection().toString()"))


def test_18_deleting_everything_offline_keeps_what_another_inserted_meanwhile(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    laptop.write("old words of both")
    say_so(phone, lines_are=["old words of both"])
    phone.context.set_offline(True)
    phone.wait_until("offline")
    put_caret(phone, "", "Control+a", "Delete")
    laptop.write(" and new ones").wait_until("saved")
    phone.context.set_offline(False)
    for device in sheet:
        expect(device.editor).to_contain_text("and new ones")
        expect(device.editor).not_to_contain_text("old words")


@pytest.mark.parametrize("where", ["elsewhere", "before", "at the caret"])
def test_19_and_29_a_composed_word_stays_whole_while_another_types(sheet: tuple[Device, Device], where: str) -> None:
    laptop, phone = sheet
    laptop.write("合同")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("second")
    say_so(phone, lines_are=["合同", "second"])
    put_caret(phone, "合同", "Control+Home", "End")
    places = {
        "elsewhere": ("合同second", "Control+End"),
        "before": ("", "Control+Home"),
        "at the caret": ("合同", "Control+Home", "End"),
    }
    put_caret(laptop, *places[where])
    keyboard = phone.context.new_cdp_session(phone.page)
    for text in ("n", "ni", "ni h", "ni hao"):
        keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
        laptop.page.keyboard.type("x")
        expect(laptop.editor).to_contain_text("x")
        if where != "at the caret":  # what would tear the word waits until it is whole
            expect(phone.editor).to_contain_text("x")
    keyboard.send("Input.insertText", {"text": "你好"})
    expect(laptop.editor).to_contain_text("你好")
    said = {
        "elsewhere": ["合同你好", "secondxxxx"],
        "before": ["xxxx合同你好", "second"],
        "at the caret": ["", "second"],
    }[where]
    say_so(*sheet, lines_are=said)
    if where == "at the caret":
        assert sorted(lines(laptop)[0]) == sorted("合同你好xxxx"), lines(laptop)
    assert not any(letter in lines(phone)[0] for letter in "niha")


def test_20_two_who_begin_in_one_empty_paragraph_keep_their_words_whole(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    for device in sheet:
        put_caret(device, "", "Control+End")
    for mine, theirs in zip("test", "[AB]", strict=True):
        laptop.page.keyboard.type(mine)
        phone.page.keyboard.type(theirs)
    for device in sheet:
        expect(device.editor).to_contain_text("test")
        expect(device.editor).to_contain_text("[AB]")
    assert lines(laptop) == lines(phone)


def test_21_anothers_enter_before_me_leaves_my_caret_by_its_word(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    laptop.write("first second")
    say_so(phone, lines_are=["first second"])
    put_caret(phone, "", "Control+Home")
    put_caret(laptop, "first second", "Control+End")
    laptop.page.keyboard.type("!")
    expect(phone.editor).to_contain_text("second!")
    phone.page.keyboard.press("Enter")
    say_so(laptop, lines_are=["", "first second!"])
    laptop.page.keyboard.type("?")
    say_so(*sheet, lines_are=["", "first second!?"])


def test_22_nobodys_caret_or_typing_scrolls_my_view(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    laptop.editor.click()
    laptop.editor.evaluate(PASTE, "".join(f"<p>line {at}</p>" for at in range(30)))
    expect(phone.editor.locator("> *")).to_have_count(30)
    put_caret(phone, "".join(lines(phone)), "Control+End")
    put_caret(laptop, "", "Control+Home")
    before = laptop.page.evaluate(CARET_TOP)
    for key in ("Control+a", "Control+End", "Control+Home", "Control+End"):
        phone.page.keyboard.press(key)
    phone.page.keyboard.type("down here")
    expect(laptop.editor).to_contain_text("down here")
    assert laptop.page.evaluate(CARET_TOP) == before


def test_23_undo_and_redo_leave_the_caret_by_the_change(sheet: tuple[Device, Device]) -> None:
    laptop, _ = sheet
    laptop.write("one")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("two")
    laptop.page.wait_for_timeout(600)  # what is typed within half a second is one step of undo
    put_caret(laptop, "one", "Control+Home", "End")
    laptop.page.keyboard.insert_text(" and a half")  # in one go: a pause would make two steps of it
    for keys, text in (("Control+z", "one"), ("Control+Shift+z", "one and a half")):
        laptop.page.keyboard.press(keys)
        say_so(laptop, lines_are=[text, "two"])
        assert laptop.page.evaluate(BEFORE_CARET) in ("one", "one and a half")


def test_24_undo_while_another_types_takes_not_one_of_their_letters(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    laptop.write("mine ")
    say_so(phone, lines_are=["mine"])
    put_caret(phone, "mine ", "Control+End")
    phone.page.keyboard.type("t")
    say_so(
        laptop, lines_are=["mine t"]
    )  # a paragraph that looks empty is undone away with the words still under way to it
    for at in range(19):
        phone.page.keyboard.type("t")
        laptop.page.keyboard.press("Control+z" if at % 2 else "Control+Shift+z")
    for device in sheet:
        expect(device.editor).to_contain_text("t" * 20)


def test_25_one_selects_across_anothers_caret_and_it_moves_no_line(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    laptop.write("select right across me")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("below")
    say_so(phone, lines_are=["select right across me", "below"])
    before = laptop.page.evaluate(TOPS)
    put_caret(phone, "select ", "Control+Home", *["ArrowRight"] * 7)
    caret = laptop.editor.locator(".caret")
    expect(caret).to_be_visible()
    assert laptop.page.evaluate(TOPS) == before
    box = caret.bounding_box()
    assert box
    mouse, line = laptop.page.mouse, box["y"] + box["height"] / 2
    mouse.move(box["x"] + 1, line)
    mouse.down()
    mouse.move(box["x"] + 300, line, steps=4)
    mouse.up()
    assert laptop.page.evaluate("getSelection().toString()").strip() == "right across me"


def test_31_when_another_deletes_my_paragraph_my_caret_goes_to_its_neighbour(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    for word in ("one", "two", "three"):
        laptop.write(word) if word == "one" else laptop.page.keyboard.type(word)
        if word != "three":
            laptop.page.keyboard.press("Enter")
    say_so(phone, lines_are=["one", "two", "three"])
    put_caret(laptop, "onetwo", "Control+Home", "ArrowDown", "End")
    select(phone, "two", "one", "Control+Home", "End")
    phone.page.keyboard.press("Delete")
    say_so(laptop, lines_are=["one", "three"])
    laptop.page.keyboard.type("X")
    expect(phone.editor).to_contain_text("X")
    assert lines(laptop) in (["oneX", "three"], ["one", "Xthree"])
    assert lines(phone) == lines(laptop)


def test_32_an_offset_after_hanzi_and_emoji_is_right_on_both(sheet: tuple[Device, Device]) -> None:
    laptop, phone = sheet
    laptop.write("合同😀👨‍👩‍👧 條款")
    say_so(phone, lines_are=["合同😀👨‍👩‍👧 條款"])
    for device in sheet:
        expect(device.editor).to_have_attribute("lang", "zh")
    put_caret(phone, "合同", "Control+Home", "ArrowRight", "ArrowRight")
    phone.page.keyboard.type("甲")
    say_so(*sheet, lines_are=["合同甲😀👨‍👩‍👧 條款"])
    put_caret(laptop, "合同甲😀👨‍👩‍👧 條款", "Control+End")
    laptop.page.keyboard.type("乙")
    say_so(*sheet, lines_are=["合同甲😀👨‍👩‍👧 條款乙"])
