"""For whom the page is: people who do not see it, read another language, have small screens or slow lines."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from kit.axe import complaints
from kit.devices import Home
from playwright.sync_api import expect

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "server" / "static"
SHELL, EDITOR = 60 * 1024, 170 * 1024

HEAR = """() => {
  window.spoken = [];
  const region = document.querySelector("p[role=status][aria-live=polite]");
  const hear = () => spoken.push(region.textContent);
  new MutationObserver(hear).observe(region, {childList: true, characterData: true, subtree: true});
}"""

BEGINS_RIGHT = """words => {
  const text = document.createTreeWalker(words, NodeFilter.SHOW_TEXT).nextNode();
  const at = (from) => {
    const range = document.createRange();
    range.setStart(text, from);
    range.setEnd(text, from + 1);
    return range.getBoundingClientRect().left;
  };
  return at(0) > at(text.length - 1);
}"""
"""Whether the first letter stands to the right of the last, which is a mark that has no direction of its own."""


@pytest.mark.browser
def test_axe_finds_nothing_wrong_on_any_screen_light_or_dark(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.add("Add what must hold", "Never below 150 k€", How_grave="critical").add("Ask a question", "Who signs?")
    laptop.add("Add a decision", "Net 30", Topic="payment").act("Net 30", "Decide anew")
    laptop.composer.fill("Good morning.")
    laptop.composer.press("Enter")
    laptop.write("Some words.")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("לא יותר מ־150!")
    laptop.composer.fill("صباح الخير!")
    laptop.composer.press("Enter")
    laptop.wait_until("saved")
    for words in (laptop.editor.locator("p").last, laptop.talk.locator(".said").last):
        expect(words).to_contain_text("!")
        assert words.evaluate(BEGINS_RIGHT), words.text_content()
    assert complaints(laptop.page) == []
    laptop.page.get_by_role("button", name="Menu").click()
    assert complaints(laptop.page) == []
    laptop.page.keyboard.press("Escape")
    for panel in ("Conversation", "Overview", "Document"):
        phone.show(panel)
        assert complaints(phone.page) == [], panel
    phone.open()
    card = phone.page.get_by_role("region", name="You were working on")
    expect(card.locator(".paragraph")).to_contain_text("Never below")
    card.get_by_text("Everything that stands").click()
    assert complaints(phone.page) == []


@pytest.mark.browser
def test_the_page_speaks_chinese_where_the_browser_does_or_is_told_to_and_keeps_to_it(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    page = phone.page
    phone.open()
    page.get_by_role("button", name="Menu").click()
    page.get_by_label("Language").select_option("zh")
    page.keyboard.press("Escape")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.get_by_role("heading", name="您的任务")).to_be_visible()
    page.reload()
    card = page.get_by_role("region", name="您之前在处理")
    expect(card.get_by_role("heading", level=2)).to_have_text(f"您之前在处理“{home.task}”。要继续吗？")
    expect(card.locator(".paragraph")).to_contain_text("Never below")
    assert phone.overflow() == 0
    assert complaints(phone.page) == []
    phone.picture("looks-phone-return-zh")
    card.get_by_role("link", name="继续").click()
    for panel in ("对话", "文档", "状况"):
        page.get_by_role("button", name=panel, exact=True).first.click()
        assert phone.overflow() == 0, panel
        assert complaints(phone.page) == [], panel
    phone.picture("looks-phone-zh")
    expect(phone.editor).to_have_attribute("data-placeholder", "在此书写…")
    page.get_by_role("button", name="菜单").click()
    page.get_by_label("语言").select_option("en")
    expect(phone.editor).to_have_attribute("data-placeholder", "Write here…")
    page.get_by_label("Language").select_option("zh")
    page.keyboard.press("Escape")
    english = re.findall(r"[A-Za-z]{4,}", page.locator("body").inner_text())
    assert set(english) <= set(re.findall(r"[A-Za-z]+", f"{home.task} Never below Chrome Linux signs payment")), english
    expect(laptop.page.locator("html")).to_have_attribute("lang", "en")


@pytest.mark.browser
def test_others_typing_is_read_out_in_few_words_and_never_by_the_letter(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    phone.page.evaluate("localStorage.removeItem('clew.language')")
    phone.open("/t/" + laptop.page.url.rpartition("/")[2]).show("Document")
    laptop.page.evaluate(HEAR)
    phone.write("forty letters and more, one after the other")
    expect(laptop.editor).to_contain_text("one after the other")
    laptop.page.wait_for_function("window.spoken.length > 0")
    spoken: list[str] = laptop.page.evaluate("window.spoken")
    assert len(spoken) <= 3, spoken
    assert "forty" not in json.dumps(spoken)


def test_what_must_be_loaded_first_is_small_and_the_editor_comes_later() -> None:
    page = (STATIC / "index.html").read_text()
    first = set(re.findall(r"(?:src|href)=\"/(assets/[^\"]+)\"", page))
    waiting = list(first)
    while waiting:
        name = waiting.pop()
        if not name.endswith(".js"):
            continue
        for other in re.findall(r"(?:from|import)\s*\"\./([^\"]+)\"", (STATIC / name).read_text()):
            if (found := f"assets/{other}") not in first:
                first.add(found)
                waiting.append(found)
    shell = sum(len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in first)
    assert shell <= SHELL, (shell, first)
    editors = list((STATIC / "assets").glob("editor-*.js"))
    assert len(editors) == 1 and f"assets/{editors[0].name}" not in first
    assert len(gzip.compress(editors[0].read_bytes(), 9)) <= EDITOR
