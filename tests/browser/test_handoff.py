"""A task goes from a laptop to a phone, in all three tiers; a device that is signed out hears nothing more."""

from __future__ import annotations

import re
import urllib.request
from typing import Any

import pytest
from kit.axe import complaints
from kit.devices import Device, Devices
from playwright.sync_api import Locator, Page, WebSocketRoute, expect

pytestmark = pytest.mark.browser

TITLE = "Continue on another device"


def dialog_of(laptop: Device) -> Locator:
    """The dialog, whatever it is called at the moment."""
    return laptop.page.get_by_role("dialog")


def open_dialog(laptop: Device) -> Locator:
    """From the bar of the task."""
    laptop.page.locator("header").get_by_role("button", name=TITLE).click()
    dialog = laptop.page.get_by_role("dialog", name=TITLE)
    expect(dialog.get_by_role("img", name="QR code of the task's address")).to_be_visible()
    return dialog


def offered(laptop: Device, button: str) -> dict[str, Any]:
    """Press what makes an offer; its answer, since a QR code is read by a camera alone."""
    with laptop.page.expect_response(re.compile(r"/handoffs$")) as answered:
        dialog_of(laptop).get_by_role("button", name=button).click()
    made: dict[str, Any] = answered.value.json()
    return made


def look(device: Device, name: str, *, axe: bool = True) -> None:
    """Nothing is wrong with the screen as it is; a picture for who wants to see."""
    assert not axe or complaints(device.page) == []
    assert device.overflow() <= 0
    device.picture(f"handoff-{name}")


def number_on(page: Page) -> str:
    """The number that the new device shows."""
    shown = page.locator(".the-number")
    expect(shown).to_have_text(re.compile(r"\d\d"))
    return shown.inner_text().strip()


def type_code(phone: Device, code: str) -> None:
    """As people do: in small letters, with a space."""
    phone.page.get_by_label("Code from your other device").fill(code.lower().replace("-", " "))
    phone.page.get_by_role("button", name="Continue here").click()


def test_a_task_is_handed_over_by_its_address_by_a_code_to_scan_and_by_one_to_type(
    devices: Devices, laptop: Device, operator: Device, task: str
) -> None:
    # tier 0: the plain address, on a device that is signed in, and on one that has to sign in first
    dialog = open_dialog(laptop)
    address = dialog.get_by_role("group", name="Address of the task").inner_text()
    assert re.fullmatch(r"http://[^/]+/t/[0-9a-f-]{36}", address)
    look(laptop, "laptop-known", axe=False)
    phone = devices.new("phone", "dark").heed_notices()
    phone.page.goto(address)
    expect(phone.page.get_by_text("This browser is not signed in")).to_be_visible()
    phone.page.goto(operator.invite().replace("localhost", "127.0.0.1"))
    expect(phone.page).to_have_url(address)
    expect(phone.editor).to_be_attached()
    phone.page.goto("about:blank")
    phone.page.goto(address)
    expect(phone.editor).to_be_attached()

    # tier 1: a code to scan. What opens its address without tapping, such as a preview, burns nothing
    url = offered(laptop, "That device is new")["url"]
    expect(dialog.get_by_text("Never send this code to anyone")).to_be_visible()
    look(laptop, "laptop-scan")
    with urllib.request.urlopen(url) as preview:
        assert preview.status == 200
    new = devices.new("phone")
    for _ in range(2):
        new.page.goto("about:blank")
        new.page.goto(url)
        expect(new.page.get_by_role("button", name="Continue here")).to_be_visible()
        assert "#" not in new.page.url
    look(new, "phone-tap")
    new.page.get_by_role("button", name="Continue here").click()
    number = number_on(new.page)
    look(new, "phone-number", axe=False)
    expect(laptop.page.get_by_role("dialog", name="A new device wants to open")).to_contain_text("Chrome on")
    expect(dialog_of(laptop).get_by_role("button", name="Decline", exact=True)).to_be_focused()
    look(laptop, "laptop-asks")
    laptop.page.set_viewport_size({"width": 390, "height": 844})
    look(laptop, "narrow-asks", axe=False)
    laptop.page.set_viewport_size({"width": 1280, "height": 800})
    dialog_of(laptop).get_by_role("button", name=number).click()
    expect(new.editor).to_be_attached()
    toast = phone.page.locator(".toast").filter(has_text="It has one task, until")
    expect(toast).to_be_visible()
    toast.hover()  # it stays while one is at it
    only = new.page.get_by_text("Only this task is open on this device, until")
    expect(only).to_be_visible()
    expect(dialog_of(laptop).get_by_role("status").last).to_contain_text("is in: this task, until")
    dialog_of(laptop).get_by_role("button", name="Keep this device").click()
    expect(dialog_of(laptop)).to_contain_text("is one of your devices now")
    new.page.evaluate("dispatchEvent(new Event('focus'))")
    expect(only).to_have_count(0)  # without a reload
    dialog_of(laptop).get_by_role("button", name="Close").click()
    look(phone, "phone-joined", axe=False)
    toast.get_by_role("button", name="It was me").click()
    expect(toast).to_have_count(0)
    new.show("Document").write("from the new phone")
    expect(laptop.editor).to_contain_text("from the new phone")

    # tier 2: a code to type. Enter declines; the next one is let in
    other = devices.new("phone", "dark").open("/h")
    open_dialog(laptop)
    offered(laptop, "That device is new")
    code = offered(laptop, "It has no camera")["code"]
    look(laptop, "laptop-type", axe=False)
    type_code(other, code)
    number_on(other.page)
    expect(dialog_of(laptop).get_by_role("button", name="Decline", exact=True)).to_be_focused()
    laptop.page.keyboard.press("Enter")
    expect(dialog_of(laptop)).to_contain_text("Nobody was let in")
    expect(other.page.get_by_role("alert")).to_contain_text("You were not let in")
    look(other, "phone-type")
    type_code(other, offered(laptop, "Make a new code")["code"])
    number = number_on(other.page)
    dialog_of(laptop).get_by_role("button", name=number).click()
    expect(other.editor).to_be_attached()
    expect(other.page).to_have_url(address)


def test_a_device_that_is_signed_out_hears_nothing_more_in_any_tab_and_gets_its_unsent_words(
    devices: Devices, laptop: Device, operator: Device, task: str
) -> None:
    address, phone, sends = laptop.heed_notices().page.url, devices.new("phone"), True

    def pass_on(socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda frame: server.send(frame) if sends else None)

    phone.page.route_web_socket(re.compile("/sync/"), pass_on)
    phone.sign_in(operator.invite())
    toast = laptop.page.locator(".toast").filter(has_text="New device")
    expect(toast).to_be_visible()
    toast.hover()  # it stays while one is at it
    phone.page.goto(address)
    phone.show("Document").write("sent. ").wait_until("saved")
    tab, listing = phone.context.new_page(), phone.context.new_page()
    listing.goto(address.partition("/t/")[0])
    tab.goto(address)
    expect(tab.locator(".words")).to_contain_text("sent.")
    sends = False
    phone.write("never sent")
    phone.wait_until("saving")
    toast.get_by_role("button", name="Not me: sign it out").click()
    expect(laptop.page.get_by_text("is signed out.")).to_be_visible()
    for page in (phone.page, tab, listing):
        expect(page.get_by_role("heading", name="This device was signed out")).to_be_visible()
        expect(page.locator(".words")).to_have_count(0)
    expect(phone.page.get_by_label("Unsent words")).to_have_value(re.compile("never sent"))
    look(phone, "phone-revoked")
    laptop.show("Document").write("for others only").wait_until("saved")
    kept = "indexedDB.databases().then(all => all.map(one => one.name).filter(name => name.startsWith('clew:')))"
    phone.page.wait_for_function(f"{kept}.then(names => names.length === 0)")
    for page in (phone.page, tab, listing):
        assert "for others only" not in page.content()
    phone.page.goto(address)  # and so is a page told that was not open when it happened
    expect(phone.page.get_by_role("heading", name="This device was signed out")).to_be_visible()
    listing.wait_for_function("!Object.keys(localStorage).some(name => name.startsWith('clew.kept'))")
