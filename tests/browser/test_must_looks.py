"""What people expect of the page itself, by row: the way back, revoking, keys, the file that one takes along."""

from __future__ import annotations

import re
import time

import pytest
from kit.devices import Device, Devices, Home
from kit.running_server import RunningServer
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

SOON = 5.0
"""Seconds. People are promised one; the rest is for a machine that does other things too. A page that is not told
learns of it when its ticket ends, in minutes."""
NOTE_THE_END = """() => {
  const watched = {attributes: true, attributeFilter: ["contenteditable"]};
  new MutationObserver(() => (window.ended ??= Date.now())).observe(document.querySelector(".words"), watched);
}"""
PARTS = {"task-head", "panel-talk", "panel-document", "panel-ledger"}
ACTIVE = """() => {
  const at = document.activeElement;
  const box = at.getBoundingClientRect();
  const isMarked = (one) => getComputedStyle(one).outlineStyle !== "none" || getComputedStyle(one).boxShadow !== "none";
  return {
    part: (at.closest(".panel, header")?.className ?? "").split(" ").at(-1),
    editor: at.classList.contains("words"),
    marked: at === document.body || (box.width > 0 && box.height > 0 && (isMarked(at) || isMarked(at.parentElement))),
  };
}"""
"""Where the keys go, and whether one sees it."""


def test_row_1_continue_brings_one_back_to_the_document_that_one_was_in(
    home: Home, shared_server: RunningServer
) -> None:
    laptop = home.laptop
    laptop.page.get_by_role("button", name="+ Document").click()
    laptop.page.get_by_label("Title of the document").fill("Letter to Acme")
    laptop.write("Dear all,").wait_until("saved")
    laptop.page.close()
    later = Device(laptop.context, laptop.context.new_page(), shared_server, laptop._artifacts).open()
    later.page.get_by_role("region", name=home.task).get_by_role("link", name="Continue").click()
    expect(later.editor).to_have_text("Dear all,")
    expect(later.page.get_by_label("Title of the document")).to_have_value("Letter to Acme")
    laptop.page = later.page


def test_row_10_who_is_taken_off_can_write_no_more_at_once_and_keeps_the_words_and_the_draft(
    home: Home, devices: Devices, shared_server: RunningServer
) -> None:
    laptop = home.laptop
    task = laptop.page.url.rpartition("/")[2]
    shared_server.clew("user", "add", "rui")
    members = f"/tasks/{task}/members"
    added = {"user": "rui", "role": "editor"}
    member = laptop.ask("POST", members, added).json()["user"]
    rui = devices.new().sign_in(shared_server.new_link("rui")).open(f"/t/{task}").show("Document")
    rui.write(" By Rui.").wait_until("saved")
    rui.composer.fill("half a sentence")
    rui.page.evaluate(NOTE_THE_END)
    there, proven = f"{shared_server.url}/api/v1{members}/{member}", laptop.prove("DELETE", f"{members}/{member}")
    began = time.time()
    assert laptop.context.request.delete(there, headers=proven).status == 204
    expect(rui.editor).to_have_attribute("contenteditable", "false")
    assert rui.page.evaluate("window.ended") / 1000 - began < SOON
    expect(rui.editor).to_contain_text("By Rui.")
    assert laptop.ask("POST", members, added).status == 201
    rui.page.reload()
    expect(rui.composer).to_have_value("half a sentence")


def test_row_12_the_tab_key_goes_everywhere_and_is_caught_nowhere(home: Home) -> None:
    laptop = home.laptop
    laptop.editor.click()
    laptop.page.keyboard.type("- one")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("two")
    visited: set[str] = set()
    stuck = 0
    for _ in range(60):
        laptop.page.keyboard.press("Tab")
        at = laptop.page.evaluate(ACTIVE)
        assert at["marked"], at
        stuck = stuck + 1 if at["editor"] else 0
        assert stuck < 4, "the editor keeps the Tab key"
        visited.add(at["part"])
        if visited >= PARTS:
            break
    assert visited >= PARTS
    the_keys_stay_near_what_went_away(laptop)


def the_keys_stay_near_what_went_away(laptop: Device) -> None:
    """Forms, questions and panels that close, and buttons that wait for an answer, throw nobody back to the top."""
    page, press = laptop.page, laptop.page.keyboard.press
    laptop.add("Ask a question", "Who signs for Acme?")
    expect(page.get_by_role("button", name="Ask a question")).to_be_focused()
    laptop.act("Who signs for Acme?", "Answer")
    press("Escape")
    expect(laptop.section("Questions").locator("[data-entry] .entry-text").last).to_be_focused()
    menu = page.get_by_role("button", name="Menu")
    menu.click()
    page.get_by_role("button", name="Where this stands").click()
    expect(page.get_by_role("button", name="Close")).to_be_focused()
    press("Escape")
    expect(menu).to_be_focused()
    menu.click()
    page.get_by_role("button", name="Devices").click()
    page.get_by_role("button", name="Rename").first.press("Enter")
    expect(page.get_by_label("Name of the device")).to_be_focused()
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.get_by_role("button", name="Rename").first).to_be_focused()
    page.get_by_role("button", name="Make a link").press("Enter")
    expect(page.get_by_role("button", name="Copy the link")).to_be_focused()
    page.get_by_role("button", name="Sign out").first.press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()  # a key held down must not sign it out
    press("Escape")


def test_row_15_the_markdown_that_one_takes_along_has_all_that_was_written(home: Home) -> None:
    laptop = home.laptop
    laptop.page.get_by_role("button", name="+ Document").click()
    expect(laptop.editor).to_have_text("")
    laptop.write("## 第四条 Payment 😀")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("Within ")
    laptop.page.keyboard.press("Control+b")
    laptop.page.keyboard.type("30 days")
    laptop.page.keyboard.press("Control+b")
    laptop.page.keyboard.press("Enter")
    laptop.page.keyboard.type("[ ] liability * cap")
    laptop.wait_until("saved")
    laptop.page.get_by_role("button", name="Menu").click()
    with laptop.page.expect_download() as download:
        laptop.page.get_by_role("button", name="Download as Markdown").click()
    laptop.page.keyboard.press("Escape")
    text = download.value.path().read_text()
    assert re.search(r"^#+ 第四条 Payment 😀$", text, re.MULTILINE)
    assert "Within **30 days**" in text
    assert re.search(r"^[-*] \[ \] liability \\?\* cap$", text, re.MULTILINE), text
