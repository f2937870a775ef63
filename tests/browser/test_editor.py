"""Writing: the bar, the keys, Markdown as one types and pastes it, and what comes out of Word."""

from __future__ import annotations

import re

import pytest
from kit.axe import complaints
from kit.devices import Device, Home
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

PASTE = """([type, text]) => {
  const data = new DataTransfer();
  data.setData(type, text);
  document.querySelector(".words").dispatchEvent(
    new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""

MARKDOWN = """# Plan

Pay **net 30**, see [terms](https://example.org/t) and `id`.

- one
  - below
- [ ] open
- [x] shut

3. third

> said

```py
x = 1
```

| who | what |
|-----|------|
| Ann | signs |
"""

WORD = """<html xmlns:o="urn:schemas-microsoft-com:office:office"><head><style>p {color: red}</style></head><body>
<p class="MsoNormal" style="color:red">Dear <b>Ann</b><o:p></o:p></p>
<p class="MsoListParagraph" style="mso-list:l0 level1 lfo1"><span style="mso-list:Ignore">1.  </span>first</p>
<p class="MsoListParagraph" style="mso-list:l0 level2 lfo1"><span style="mso-list:Ignore">o  </span>inner</p>
<p class="MsoListParagraph" style="mso-list:l0 level1 lfo1"><span style="mso-list:Ignore">2.  </span>second</p>
<p><a href="javascript:alert(1)" onclick="alert(2)">bad</a>
<a href="https://example.org/" class="x" rel="opener">good</a></p>
<img src="https://evil.example/x.png"><script>alert(3)</script></body></html>"""


def fresh(device: Device) -> Device:
    device.page.get_by_role("button", name="+ Document").click()
    expect(device.editor).to_have_text("")
    device.editor.click()
    return device


def test_an_empty_document_says_where_to_write_until_anything_stands_in_it(home: Home) -> None:
    shown = "getComputedStyle(document.querySelector('.words'), '::before').content !== 'none'"
    editor = fresh(home.laptop).editor
    expect(editor).to_have_attribute("data-bare", "")
    assert home.laptop.page.evaluate(shown)
    editor.press("Enter")  # nothing but two empty paragraphs: not even then, for it would stand above what comes
    expect(editor).not_to_have_attribute("data-bare", "")
    assert not home.laptop.page.evaluate(shown)


def test_markdown_becomes_what_it_means_as_it_is_pasted_and_reaches_the_other_device(home: Home) -> None:
    laptop = fresh(home.laptop)
    laptop.page.get_by_label("Title of the document").fill("Pasted")
    laptop.editor.click()
    laptop.page.evaluate(PASTE, ["text/plain", MARKDOWN])
    words = laptop.editor
    expect(words.locator("h1")).to_have_text("Plan")
    expect(words.locator("strong")).to_have_text("net 30")
    link = words.get_by_role("link", name="terms")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(link).to_have_attribute("target", "_blank")
    expect(words.locator("ul ul li")).to_have_text("below")
    expect(words.locator("input[type=checkbox]")).to_have_count(2)
    expect(words.locator("input:checked")).to_have_count(1)
    expect(words.locator("ol")).to_have_attribute("start", "3")
    expect(words.locator("blockquote")).to_have_text("said")
    expect(words.locator("pre")).to_have_text("x = 1")
    expect(words.locator("th")).to_have_text(["who", "what"])
    expect(words.locator("td")).to_have_text(["Ann", "signs"])
    laptop.wait_until("saved")
    assert complaints(laptop.page) == []
    laptop.picture("editor-laptop")
    phone = home.phone.show("Document")
    phone.page.get_by_role("button", name="Pasted").click()
    expect(phone.editor.locator("td")).to_have_text(["Ann", "signs"])
    assert complaints(phone.page) == []
    assert phone.overflow() == 0
    phone.picture("editor-phone")


def test_the_caret_gets_behind_a_table_at_the_end_and_leaves_no_paragraph_there_unwritten(home: Home) -> None:
    laptop = fresh(home.laptop)
    laptop.page.evaluate(PASTE, ["text/plain", MARKDOWN])
    last = laptop.page.locator(".words > :last-child")
    expect(last).to_contain_text("signs")
    laptop.page.keyboard.press("Control+End")
    expect(laptop.page.locator(".words .ProseMirror-gapcursor, .words.ProseMirror-gapcursor")).to_have_count(1)
    expect(laptop.page.locator(".words > p:last-child")).to_have_count(0)
    laptop.page.evaluate(PASTE, ["text/plain", "Pasted"])
    laptop.page.keyboard.type(" behind.")
    expect(laptop.page.locator(".words > p:last-child")).to_have_text("Pasted behind.")
    expect(laptop.page.locator(".words td, .words th")).to_have_text(["who", "what", "Ann", "signs"])


def test_of_what_word_copies_the_words_and_their_shape_stay_and_no_script_picture_or_bad_link(home: Home) -> None:
    laptop = fresh(home.laptop)
    laptop.page.evaluate(PASTE, ["text/html", WORD])
    words = laptop.editor
    expect(words.locator("strong")).to_have_text("Ann")
    expect(words.locator("ol > li > p")).to_have_text(["first", "second"])
    expect(words.locator("ol ul li")).to_have_text("inner")
    expect(words.get_by_role("link")).to_have_text(["good"])
    assert not re.search(
        r"style=|Mso|javascript|onclick|evil|alert|o:p|opener\"", words.inner_html().replace("noopener", "")
    )
    laptop.wait_until("saved")


def test_the_bar_is_one_stop_and_all_of_it_is_reached_and_told_by_keys(home: Home) -> None:
    laptop = fresh(home.laptop)
    page, keys = laptop.page, laptop.page.keyboard
    keys.type("Terms")
    keys.press("Alt+F10")
    bar = page.get_by_role("toolbar", name="Formatting")
    expect(bar.get_by_role("button", name="Bold")).to_be_focused()
    assert bar.locator("[tabindex='0']").count() == 1
    keys.press("End")
    expect(bar.get_by_role("button", name="Redo")).to_be_focused()
    keys.press("ArrowRight")
    expect(bar.get_by_role("button", name="Bold")).to_be_focused()
    for _ in range(6):
        keys.press("ArrowRight")
    keys.press("Enter")
    expect(laptop.editor.locator("h1")).to_have_text("Terms")
    expect(bar.get_by_role("button", name="Heading 1")).to_have_attribute("aria-pressed", "true")
    expect(laptop.editor).to_be_focused()

    keys.press("Enter")
    keys.press("Control+k")
    field = page.get_by_label("Web or mail address")
    expect(field).to_be_focused()
    field.fill("javascript:alert(1)")
    keys.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Only web addresses")).to_be_visible()
    assert complaints(page) == []
    field.fill("example.org")
    keys.press("Enter")
    expect(laptop.editor.get_by_role("link")).to_have_attribute("href", "https://example.org")
    expect(laptop.editor).to_be_focused()

    keys.press("End")
    keys.press("Enter")
    bar.get_by_role("button", name="Table", exact=True).click()
    keys.type("who")
    keys.press("Tab")
    keys.type("what")
    bar.get_by_role("button", name="Add a row below").click()
    expect(laptop.editor.locator("tr")).to_have_count(4)
    laptop.picture("editor-laptop-table")
    keys.press("Escape")
    keys.press("Tab")
    expect(laptop.editor).not_to_be_focused()
    laptop.wait_until("saved")


def test_markdown_is_taken_as_one_types_it(home: Home) -> None:
    laptop = fresh(home.laptop)
    keys = laptop.page.keyboard
    for line in ("## Head", "- dot", "", "1. one", "", "[ ] box", "", "> quote", "", "", "`x` **b** ~~s~~ "):
        keys.type(line)
        keys.press("Enter")
    keys.type("``` ")
    keys.type("code")
    words = laptop.editor
    expect(words.locator("h2")).to_have_text("Head")
    expect(words.locator("ul:not([data-type]) li")).to_have_text("dot")
    expect(words.locator("ol li")).to_have_text("one")
    expect(words.locator("ul[data-type=taskList] li > div")).to_have_text("box")
    expect(words.locator("blockquote")).to_have_text("quote")
    expect(words.locator(":not(pre) > code")).to_have_text("x")
    expect(words.locator("strong")).to_have_text("b")
    expect(words.locator("s")).to_have_text("s")
    expect(words.locator("pre")).to_have_text("code")
    laptop.wait_until("saved")
