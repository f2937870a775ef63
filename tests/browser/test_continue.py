"""Continue puts the caret there: the laptop is closed in mid-sentence, and the next device begins at that place."""

from __future__ import annotations

from typing import Any

import pytest
from kit.devices import Device, Devices
from playwright.sync_api import expect
from pycrdt import Doc

from crdt_docs.updates.vectors import decode_state_vector

pytestmark = pytest.mark.browser

BEFORE_MARK = """() => {
  const range = document.createRange();
  range.setStart(document.querySelector(".words"), 0);
  range.setEndBefore(document.querySelector(".place-mark"));
  return range.toString().replaceAll("\\u2060", "");
}"""
IN_VIEW = """(mark) => {
  const {top, bottom, left, right} = mark.getBoundingClientRect();
  return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
}"""
LINES = [f"Clause {at}: what both of them have agreed on." for at in range(1, 41)]
PASTE = """(words, html) => {
  const data = new DataTransfer();
  data.setData("text/html", html);
  words.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
}"""


def continue_on(device: Device, task: str) -> Device:
    """Take up the task by its card."""
    card = device.page.get_by_role("region", name=f"You were working on “{task}”")
    expect(card.locator(".paragraph")).to_be_visible()
    card.get_by_role("link", name="Continue").click()
    expect(device.editor).to_be_attached()
    return device


def wait_for_place(operator: Device, task: str, but: Any = None) -> Any:
    """Wait until the server knows that its person is behind the last letter of a device, and not ``but`` there."""
    for _ in range(200):
        place = operator.ask("GET", f"/tasks/{task}/resume").json()["place"]
        behind = ((place or {}).get("where", {}).get("caret") or {}).get("item")
        doc: Doc[Any] = Doc()
        doc.apply_update(operator.ask("GET", f"/tasks/{task}/export?format=yjs").body())
        written = decode_state_vector(doc.get_state())
        if behind and behind != but and behind["clock"] == written[behind["client"]] - 1:
            return behind
        operator.page.wait_for_timeout(50)
    raise AssertionError((place, written))


def test_the_phone_and_another_laptop_go_on_at_the_very_place_where_the_laptop_was_closed(
    devices: Devices, laptop: Device, operator: Device, task: str
) -> None:
    laptop.add("Ask a question", "Who signs for Acme?")
    laptop.page.get_by_role("button", name="+ Document").click()
    laptop.page.get_by_label("Title of the document").fill("Letter to Acme")
    laptop.editor.click()
    laptop.editor.evaluate(PASTE, "".join(f"<p>{line}</p>" for line in LINES))
    expect(laptop.editor.locator("> *")).to_have_count(40)
    laptop.editor.get_by_text("Clause 30:").click()
    laptop.page.keyboard.press("Home")
    laptop.page.keyboard.type("Here ")
    laptop.wait_until("saved")
    path = laptop.page.url.rpartition("/")[2]
    laptop.page.goto("about:blank")  # before where one is had settled
    left_at = wait_for_place(operator, path)
    laptop.context.close()

    phone = devices.new("phone", "dark").sign_in(operator.invite())
    card = phone.page.get_by_role("region", name=f"You were working on “{task}”")
    expect(card.locator(".last")).to_contain_text("Letter to Acme")
    expect(card.locator(".last")).to_contain_text("You · Chrome on Linux")
    expect(card.locator(".paragraph")).to_contain_text("Who signs for Acme?")
    phone.picture("continue-card-phone-dark")
    continue_on(phone, task)
    mark = phone.editor.locator(".place-mark")
    expect(mark).to_be_visible()
    assert phone.page.evaluate(BEFORE_MARK) == "".join(LINES[:29]) + "Here "
    phone.page.wait_for_function(f"() => ({IN_VIEW})(document.querySelector('.place-mark'))")
    assert not phone.page.evaluate("document.activeElement.classList.contains('words')"), "no keyboard unasked"
    phone.picture("continue-phone-dark")
    phone.editor.focus()
    phone.page.keyboard.type("and there ")
    expect(mark).to_have_count(0)
    expect(phone.editor.locator("> *").nth(29)).to_have_text(f"Here and there {LINES[29]}")
    phone.wait_until("saved")
    phone.page.get_by_role("link", name="All tasks").click()
    wait_for_place(operator, path, left_at)

    other = continue_on(devices.new().sign_in(operator.invite()), task)
    expect(other.editor).to_be_focused()
    other.page.keyboard.type("everywhere ")
    expect(other.editor.locator("> *").nth(29)).to_have_text(f"Here and there everywhere {LINES[29]}")
    box = other.editor.locator("> *").nth(29).bounding_box()
    assert box and 0 <= box["y"] <= 800
    other.picture("continue-laptop")
    other.wait_until("saved")

    other.page.keyboard.press("Control+a")
    other.page.keyboard.press("Delete")
    other.page.keyboard.type("All anew.")
    other.wait_until("saved")
    phone.open()
    continue_on(phone, task)
    expect(phone.editor).to_contain_text("All anew.")

    asked = other.page.get_by_role("region", name=f"You were working on “{task}”")
    for wanted in (False, True):  # asked again in the end: the account is that of other tests, too
        other.page.get_by_role("button", name="Menu").click()
        other.page.locator("#menu").get_by_role("button", name="Account", exact=True).click()
        with other.page.expect_response(lambda one: one.request.method == "PATCH"):
            other.page.get_by_label("Ask what to go on with when I come in").set_checked(wanted)
        other.open()
        expect(other.page.get_by_role("link", name=task)).to_be_visible()
        expect(asked).to_have_count(int(wanted))
