"""Another device, and other people: both are let in and shown out from the page."""

from __future__ import annotations

import pytest
from kit.axe import complaints
from kit.devices import Device, Devices, Home
from kit.running_server import RunningServer
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

READ_CODE = """svg => {
  const size = svg.viewBox.baseVal.width;
  const dark = Array.from({length: size}, () => Array(size).fill(0));
  for (const [, x, y, run] of svg.querySelector("path").getAttribute("d").matchAll(/M(\\d+) (\\d+)h(\\d+)/g))
    for (let at = 0; at < +run; at += 1) dark[+y][+x + at] = 1;
  return dark.map(row => row.join(""));
}"""


def dialog_of(page: Page, entry: str) -> Locator:
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name=entry).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    return dialog


def test_a_device_is_added_by_a_link_that_is_gone_with_the_dialog(devices: Devices, home: Home) -> None:
    laptop = home.laptop
    dialog = dialog_of(laptop.page, "Devices")
    mine = dialog.get_by_role("listitem").filter(has_text="this device")
    expect(mine).to_have_count(1)
    expect(mine.get_by_role("button", name="Sign out")).to_have_count(0)
    dialog.get_by_role("button", name="Make a link").click()
    expect(dialog).to_contain_text("whoever opens it first")
    expect(dialog).to_contain_text("10 more minutes")
    link = dialog.get_by_role("group", name="Sign-in link").inner_text()
    secret = link.rpartition("#k=")[2]
    assert len(secret) >= 20
    assert complaints(laptop.page) == []
    laptop.picture("people-laptop-devices")
    _reads_as(dialog.get_by_role("img", name="QR code"), link)
    laptop.page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(laptop.page.get_by_role("button", name="Menu")).to_be_focused()
    everywhere: str = laptop.page.evaluate(
        "document.documentElement.outerHTML + document.title + location.href + JSON.stringify({...localStorage})"
        " + JSON.stringify({...sessionStorage})"
    )
    assert secret not in everywhere
    devices.new("small phone").sign_in(link)


def test_agents_are_turned_off_and_on_from_the_menu_on_every_device(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    menu = laptop.page.get_by_role("group", name="Menu")
    laptop.page.get_by_role("button", name="Menu").click()
    menu.get_by_role("button", name="Stop agents in this task").click()
    expect(menu).to_contain_text("Agents are stopped in this task.")
    assert complaints(laptop.page) == []
    laptop.picture("agents-stopped-laptop")
    phone.page.get_by_role("button", name="Menu").click()
    allow = phone.page.get_by_role("group", name="Menu").get_by_role("button", name="Allow agents again")
    expect(allow).to_be_visible()
    phone.picture("agents-stopped-phone")
    allow.click()
    expect(phone.page.get_by_role("button", name="Stop agents in this task")).to_be_visible()
    for device in (laptop, phone):
        device.page.keyboard.press("Escape")


def _reads_as(code: Locator, link: str) -> None:
    segno = pytest.importorskip("segno")
    drawn: list[str] = code.evaluate(READ_CODE)
    rows = ["".join(map(str, map(int, row))) for row in segno.make_qr(link, error="m").matrix_iter(border=4)]
    assert drawn == rows


def test_a_device_is_renamed_and_signed_out_from_another_after_one_is_asked(
    devices: Devices, home: Home, operator: Device
) -> None:
    phone, lost = home.phone, devices.new().sign_in(operator.invite())
    assert lost.ask("PATCH", f"/devices/{lost.ask('GET', '/me').json()['device']}", {"name": "The other one"}).ok
    dialog = dialog_of(phone.page, "Devices")
    other = dialog.get_by_role("listitem").filter(has_text="The other one")
    other.get_by_role("button", name="Rename").click()
    dialog.get_by_label("Name of the device").fill("Lost laptop")
    dialog.get_by_role("button", name="Save").click()
    renamed = dialog.get_by_role("listitem").filter(has_text="Lost laptop")
    expect(renamed).to_contain_text("signed in just now")
    renamed.get_by_role("button", name="Sign out").click()
    expect(dialog).to_contain_text("Sign out Lost laptop? It loses access at once")
    assert complaints(phone.page) == []
    assert phone.overflow() == 0
    phone.picture("people-phone-sign-out")
    renamed.get_by_role("button", name="Cancel").click()
    renamed.get_by_role("button", name="Sign out").click()
    renamed.get_by_role("button", name="Sign out", exact=True).click()
    expect(dialog.get_by_role("status")).to_have_text("Lost laptop is signed out.")
    expect(renamed).to_have_count(0)
    phone.page.keyboard.press("Escape")
    lost.page.reload()
    expect(lost.page.get_by_text("This device was signed out")).to_be_visible()


def test_an_owner_puts_people_on_a_task_and_off_it_and_a_viewer_only_sees_who_is_there(
    devices: Devices, home: Home, shared_server: RunningServer
) -> None:
    shared_server.clew("user", "add", "mei")
    laptop = home.laptop
    dialog = dialog_of(laptop.page, "Members")
    expect(dialog.get_by_role("listitem")).to_have_count(1)
    dialog.get_by_label("Their name").fill("nobody-here")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Nobody on this server is called “nobody-here”")
    dialog.get_by_label("Their name").fill("mei")
    dialog.get_by_label("Role", exact=True).select_option("viewer")
    dialog.get_by_role("button", name="Add", exact=True).click()
    expect(dialog.get_by_role("status")).to_have_text("mei is on the task.")
    dialog.get_by_label("Role of owner").select_option("viewer")
    expect(dialog.get_by_role("alert")).to_contain_text("A task needs an owner")
    expect(dialog.get_by_label("Role of owner")).to_have_value("owner")
    assert complaints(laptop.page) == []
    laptop.picture("people-laptop-members")

    wei = devices.new("small phone", "dark", "zh-CN")
    wei.page.goto(shared_server.new_link("mei").replace("localhost", "127.0.0.1"))
    expect(wei.page.get_by_role("region", name=f"“{home.task}”您还没有看过")).to_be_visible()
    wei.page.get_by_role("link", name=home.task).first.click()
    wei.page.get_by_role("button", name="菜单").click()
    wei.page.get_by_role("button", name="成员").click()
    seen = wei.page.get_by_role("dialog")
    expect(seen.get_by_role("listitem")).to_have_count(2)
    expect(seen).to_contain_text("只有所有者可以更改成员")
    expect(seen.get_by_role("combobox")).to_have_count(0)
    assert complaints(wei.page) == []
    assert wei.overflow() == 0
    wei.picture("people-phone-members-zh")

    dialog.get_by_label("Role of mei").select_option("editor")
    expect(dialog.get_by_role("status")).to_have_text("Changed.")
    seen.get_by_role("button", name="退出此任务").click()
    seen.get_by_role("button", name="退出此任务").click()
    expect(wei.page.get_by_role("heading", name="您的任务")).to_be_visible()
    expect(wei.page.get_by_role("link", name=home.task)).to_have_count(0)
    dialog.get_by_role("button", name="Remove mei").click()
    dialog.get_by_role("button", name="Remove", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("not there")
    laptop.page.keyboard.press("Escape")
    expect(laptop.page.get_by_role("button", name="Menu")).to_be_focused()
