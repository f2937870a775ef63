"""One task, live on a laptop and a phone, over a real server: what the page promises while people write."""

from __future__ import annotations

import pytest
from kit.devices import Device, Devices, Home
from kit.running_server import RunningServer
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
WATCH_LIGHT = """() => {
  window.seen = [];
  new MutationObserver(() => window.seen.push(document.querySelector("[data-light]").dataset.light)).observe(
    document.body, {subtree: true, attributes: true, attributeFilter: ["data-light"]});
}"""


def test_two_devices_write_in_one_task_and_see_each_other(anew: Home) -> None:
    laptop, phone, _ = anew
    laptop.write("Clause 4: payment within 30 days.")
    expect(phone.editor).to_contain_text("Clause 4: payment within 30 days.")
    phone.write(" 合同条款 😀")
    expect(laptop.editor).to_contain_text("30 days. 合同条款 😀")
    for device in (laptop, phone):
        device.wait_until("saved")
        expect(device.people).to_have_count(1)
        expect(device.people).to_contain_text("2 devices")
    expect(laptop.page.locator(".caret")).to_have_attribute("data-name", "owner")
    laptop.picture("together-laptop")
    phone.picture("together-phone-dark")

    name = """opacity => {
      const caret = document.querySelector(".caret");  // which is drawn anew when it moves
      return caret !== null && getComputedStyle(caret, "::after").opacity === opacity;
    }"""
    laptop.page.wait_for_function(name, arg="0")  # who is still does not cover the line above
    phone.page.keyboard.type("!")
    laptop.page.wait_for_function(name, arg="1")
    laptop.page.wait_for_function(name, arg="0")
    phone.page.keyboard.press("ArrowLeft")
    laptop.page.wait_for_function(name, arg="1")


def test_both_typing_at_once_lose_no_letter_and_end_alike(anew: Home) -> None:
    laptop, phone, _ = anew
    laptop.write("start")
    laptop.page.keyboard.press("Enter")
    expect(phone.editor.locator("p")).to_have_count(2)
    phone.write("")
    for index in range(20):
        laptop.page.keyboard.press("Control+Home")
        laptop.page.keyboard.type("a")
        phone.page.keyboard.type(str(index % 10))
    for device in (laptop, phone):
        device.wait_until("saved")
        expect(device.editor).to_contain_text("a" * 20 + "start")
        expect(device.editor).to_contain_text("0123456789" * 2)
    assert laptop.editor.locator("p").all_text_contents() == phone.editor.locator("p").all_text_contents()


def test_formatting_lists_and_undo_reach_the_other_device_and_undo_is_ones_own(anew: Home) -> None:
    laptop, phone, _ = anew
    laptop.page.get_by_role("button", name="Heading 2").click()
    expect(laptop.editor).to_be_focused()
    laptop.page.keyboard.type("Open points")
    laptop.page.keyboard.press("Enter")
    laptop.page.get_by_role("button", name="Checklist").click()
    expect(laptop.editor).to_be_focused()
    laptop.page.keyboard.type("liability cap")
    expect(phone.editor.get_by_role("heading", name="Open points")).to_be_visible()
    expect(phone.editor.locator("li")).to_contain_text("liability cap")
    phone.write(" (phone)")
    expect(laptop.editor).to_contain_text("liability cap (phone)")
    laptop.page.get_by_role("button", name="Undo").click()
    expect(laptop.editor).to_contain_text("(phone)")
    expect(laptop.editor).not_to_contain_text("liability cap (phone)")


@pytest.mark.own_server
def test_the_words_are_there_after_a_reload_and_after_kill_9(laptop: Device, server: RunningServer) -> None:
    laptop.write("what was saved stays").wait_until("saved")
    server.kill()
    laptop.wait_until("offline")
    server.start()
    laptop.wait_until("saved")
    laptop.page.reload()
    expect(laptop.editor).to_contain_text("what was saved stays")
    expect(laptop.editor.locator("p")).to_have_count(1)


@pytest.mark.own_server
def test_a_frozen_server_is_never_called_saved(laptop: Device, server: RunningServer) -> None:
    laptop.write("before").wait_until("saved")
    laptop.page.evaluate(WATCH_LIGHT)
    server.freeze()
    try:
        laptop.write(" and after").wait_until("offline")
        expect(laptop.light).to_contain_text("kept on this device")
        laptop.picture("frozen-laptop")
        seen = laptop.page.evaluate("window.seen")  # once it goes on, it saves
    finally:
        server.thaw()
    assert "saved" not in seen, seen
    laptop.wait_until("saved")
    laptop.page.reload()
    expect(laptop.editor).to_contain_text("before and after")


def test_9_what_is_typed_offline_waits_and_arrives_without_a_reload(anew: Home) -> None:
    laptop, phone, task = anew
    phone.write("online. ").wait_until("saved")
    phone.context.set_offline(True)
    phone.wait_until("offline")
    phone.write("offline.")
    expect(phone.light).to_contain_text("kept on this device")
    laptop.write("Meanwhile. ").wait_until("saved")
    phone.picture("offline-phone-dark")
    row = phone.page.locator(".tasks li").filter(has_text=task)
    phone.page.get_by_role("link", name="All tasks").click()
    expect(row).to_contain_text("Not all sent yet")
    phone.picture("offline-list-phone-dark")
    phone.context.set_offline(False)
    expect(phone.page.get_by_label("New task")).to_be_visible()
    expect(row).not_to_contain_text("Not all sent")  # they go out from here; nobody has to open each task
    expect(laptop.editor).to_contain_text("offline.")
    phone.open_task(task).wait_until("saved")
    for device in (laptop, phone):
        expect(device.editor).to_contain_text("offline.")
        expect(device.editor).to_contain_text("Meanwhile.")
    expect(laptop.people).to_contain_text("2 devices")


def test_what_was_written_offline_goes_out_while_another_task_is_open(anew: Home) -> None:
    laptop, phone, _ = anew
    phone.write("before. ").wait_until("saved")
    phone.context.set_offline(True)
    phone.wait_until("offline")
    phone.write("On the train.")
    expect(phone.light).to_contain_text("kept on this device")
    phone.page.get_by_role("link", name="All tasks").click()
    phone.context.set_offline(False)
    phone.page.get_by_label("New task").fill("Something else")
    phone.page.get_by_role("button", name="Start").click()
    phone.wait_until("saved")
    expect(laptop.editor).to_contain_text("On the train.")


def test_a_document_is_taken_away_and_put_back_and_nobody_who_writes_in_it_loses_a_word(anew: Home) -> None:
    laptop, phone, _ = anew
    laptop.page.get_by_role("button", name="+ Document").click()
    laptop.page.get_by_label("Title of the document").fill("Draft")
    laptop.write("Clause 1.").wait_until("saved")
    phone.page.get_by_role("button", name="Draft").click()
    expect(phone.editor).to_contain_text("Clause 1.")

    laptop.page.get_by_role("button", name="Remove this document").click()
    tabs = laptop.page.get_by_role("navigation", name="Documents")
    expect(tabs.get_by_role("button", name="Draft")).to_have_count(0)
    expect(laptop.page.get_by_label("Title of the document")).to_have_value("Notes")
    laptop.page.get_by_text("1 removed document").click()
    laptop.picture("removed-document-laptop")

    expect(phone.page.get_by_text("This document was removed")).to_be_visible()
    phone.write(" Clause 2.").wait_until("saved")
    phone.picture("removed-document-phone-dark")
    laptop.page.get_by_role("listitem").filter(has_text="Draft").get_by_role("button", name="Put back").click()
    expect(laptop.editor).to_contain_text("Clause 2.")
    expect(phone.page.get_by_text("This document was removed")).to_have_count(0)
    expect(laptop.page.get_by_text("removed document")).to_have_count(0)


def test_the_name_and_the_documents_of_a_task_are_live_too(anew: Home) -> None:
    laptop, phone, _ = anew
    name = laptop.page.get_by_label("Name of the task")
    name.fill("Acme contract, final")
    name.press("Enter")
    expect(phone.page.get_by_label("Name of the task")).to_have_value("Acme contract, final")
    laptop.page.get_by_role("button", name="+ Document").click()
    laptop.page.get_by_label("Title of the document").fill("Letter to Acme 😀")
    expect(phone.page.get_by_role("button", name="Letter to Acme 😀")).to_be_visible()
    phone.page.get_by_role("button", name="Letter to Acme 😀").click()
    phone.write("Dear all,")
    expect(laptop.editor).to_contain_text("Dear all,")
    laptop.page.get_by_role("button", name="Notes").click()
    expect(laptop.editor).not_to_contain_text("Dear all,")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_fits_a_small_phone(devices: Devices, link: str, theme: str) -> None:
    small = devices.new("small phone", "dark" if theme == "dark" else "light").sign_in(link)
    assert small.overflow() == 0
    small.start_task(f"A {theme} task with a name that is rather long, as names of tasks tend to be")
    small.write("word " * 30 + "averyveryverylongwordwithoutanyspaceinsideofitwhatsoever" * 3)
    small.wait_until("saved")
    assert small.overflow() == 0
    small.picture(f"small-phone-{theme}")
    for button in small.page.get_by_role("button").all():
        box = button.bounding_box()
        assert box and box["height"] >= 44, button.get_attribute("aria-label")
    small.page.get_by_role("link", name="All tasks").click()
    expect(small.page.get_by_role("link", name=f"A {theme} task")).to_be_visible()
    assert small.overflow() == 0
    small.picture(f"small-phone-list-{theme}")


def test_a_task_can_be_started_and_written_by_keyboard_alone(devices: Devices, link: str) -> None:
    laptop = devices.new().sign_in(link)
    keys = laptop.page.keyboard
    laptop.page.locator("body").focus()
    for _ in range(12):
        keys.press("Tab")
        if laptop.page.evaluate("document.activeElement.id") == "new-task":
            break
    keys.type("By keyboard")
    keys.press("Enter")
    expect(laptop.editor).to_be_visible()
    laptop.wait_until("saved")  # nothing more comes that would move the focus
    for _ in range(30):
        keys.press("Tab")
        if laptop.page.evaluate("document.activeElement.classList.contains('words')"):
            break
        outline = laptop.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none"
    keys.type("typed without a mouse")
    expect(laptop.editor).to_contain_text("typed without a mouse")
    laptop.wait_until("saved")


def test_a_task_is_deleted_by_its_owner_and_one_that_is_not_there_says_so(
    devices: Devices, link: str, task: str
) -> None:
    laptop = devices.new().sign_in(link).start_task(task).wait_until("saved")
    page, path = laptop.page, laptop.page.url.partition("/t/")[2]
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Members").click()
    page.get_by_text("Delete this task").click()
    page.get_by_role("button", name="Delete it for everybody").click()
    expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()
    expect(page.get_by_label("New task")).to_be_visible()
    expect(page.get_by_role("link", name=task)).to_have_count(0)
    laptop.open(f"/t/{path}")
    expect(page.get_by_role("alert")).to_contain_text("no such task")
