"""What a task asks, until when people are on it, and its links: set in the members dialog, and met by who comes."""

from __future__ import annotations

import re

import pytest
from kit.axe import complaints
from kit.devices import Devices, Home
from kit.running_server import RunningServer
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser


def members_of(page: Page) -> Locator:
    """The members dialog."""
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Members").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem").first).to_be_visible()
    return dialog


def test_a_link_lets_a_guest_in_who_is_out_when_it_is_withdrawn(devices: Devices, home: Home) -> None:
    laptop = home.laptop
    dialog = members_of(laptop.page)
    dialog.get_by_role("heading", name="Share by a link").click()
    dialog.get_by_label("They come in as").select_option("editor")
    dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_role("group", name="Share link").inner_text()
    assert re.search(r"/s#[0-9a-f-]{36}\.[A-Za-z0-9_-]{43}$", link)
    assert complaints(laptop.page) == []
    laptop.picture("sharing-laptop-made")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_contain_text("0 of 10 came in, never used")
    assert link.rpartition(".")[2] not in laptop.page.content()

    guest = devices.new("small phone", "dark")
    guest.page.goto(link)
    expect(guest.page.get_by_role("heading", name="A task was shared with you")).to_be_visible()
    assert link.rpartition(".")[2] not in guest.page.evaluate("location.href + document.documentElement.outerHTML")
    assert complaints(guest.page) == [] and guest.overflow() == 0
    guest.picture("sharing-phone-shared")
    guest.page.get_by_role("button", name="Open the task").click()
    guest.show("Document").write("A guest was here. ").wait_until("saved")
    expect(laptop.editor).to_contain_text("A guest was here.")

    laptop.page.keyboard.press("Escape")
    dialog = members_of(laptop.page)
    dialog.get_by_role("heading", name="Share by a link").click()
    row = dialog.locator("[data-member]").filter(has_text="Guest ")
    expect(row).to_contain_text("guest")
    expect(row).to_contain_text("until")
    expect(dialog).to_contain_text("1 of 10 came in, last just now")
    row.get_by_role("button", name="Until when Guest ").click()
    row.get_by_label(re.compile("is on this task until")).fill("2031-05-06T12:30")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("until May 6, 2031")
    laptop.picture("sharing-laptop-members")
    guest.context.set_offline(True)
    guest.wait_until("offline").write("Never sent.")
    dialog.get_by_role("button", name="Withdraw the link for: Editor").click()
    expect(dialog).to_contain_text("Whoever came in by it is out at once")
    dialog.get_by_role("button", name="Withdraw", exact=True).click()
    expect(dialog.get_by_text("The link is withdrawn.")).to_be_visible()
    expect(row).to_have_count(0)
    assert complaints(laptop.page) == []
    laptop.page.keyboard.press("Escape")
    guest.context.set_offline(False)
    expect(guest.page.get_by_role("alert")).to_contain_text("What you see is what this tab had")
    offer = guest.page.get_by_role("group", name="Words of yours that never got through")
    expect(offer).to_contain_text("Never sent.")
    with guest.page.expect_download() as saved:
        offer.get_by_role("button", name="Save as a file").click()
    assert "Never sent." in saved.value.path().read_text()
    guest.picture("sharing-phone-out")


def test_a_policy_says_what_follows_and_asks_before_it_shuts_its_own_maker_out(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    dialog = members_of(laptop.page)
    dialog.get_by_role("heading", name="Who may open it, and how").click()
    expect(dialog.get_by_label("On which devices")).to_have_value("any")
    expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    dialog.get_by_label("On which devices").select_option("bound")
    expect(dialog).to_contain_text("Phones are out.")
    expect(dialog).to_contain_text("out at once")
    assert complaints(laptop.page) == []
    laptop.picture("sharing-laptop-policy")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_contain_text("You would be out of this task here at once")
    dialog.get_by_role("group", name="Who may open it").get_by_role("button", name="Cancel").click()
    expect(dialog.get_by_label("On which devices")).to_have_value("any")
    dialog.get_by_label("Who may open this task").select_option("owner")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("Changed.")).to_be_visible()
    dialog.get_by_label("Who may open this task").select_option("members")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_role("button", name="Save")).to_be_disabled()
    laptop.page.keyboard.press("Escape")

    phone.page.get_by_role("button", name="Menu").click()
    phone.page.get_by_label("Language").select_option("zh")
    phone.page.get_by_role("button", name="成员").click()
    seen = phone.page.get_by_role("dialog")
    seen.get_by_role("heading", name="谁可以打开，以及如何打开").click()
    seen.get_by_role("heading", name="通过链接分享").click()
    expect(seen.get_by_label("他们的角色")).to_be_visible()
    assert complaints(phone.page) == [] and phone.overflow() == 0
    phone.picture("sharing-phone-zh")
    seen.get_by_label("他们的角色").scroll_into_view_if_needed()
    phone.picture("sharing-phone-zh-links")
    phone.page.keyboard.press("Escape")


AUTHENTICATOR = {
    "protocol": "ctap2", "ctap2Version": "ctap2_1", "transport": "internal", "hasResidentKey": True,
    "hasUserVerification": True, "isUserVerified": True, "automaticPresenceSimulation": True,
}  # fmt: skip


def test_a_task_that_asks_for_a_passkey_opens_once_its_owner_confirms(
    devices: Devices, shared_server: RunningServer
) -> None:
    shared_server.clew("user", "add", "kim")
    kim = devices.new()
    session = kim.context.new_cdp_session(kim.page)
    session.send("WebAuthn.enable")
    session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    kim.page.goto(shared_server.new_link("kim"))
    kim.page.get_by_role("button", name="Add a passkey").click()
    expect(kim.page.get_by_text("The passkey is added")).to_be_visible()
    kim.start_task("For whoever confirms").wait_until("saved")
    there = kim.page.url
    dialog = members_of(kim.page)
    dialog.get_by_role("heading", name="Who may open it, and how").click()
    dialog.get_by_label("What they confirm first").select_option("passkey")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog.get_by_text("Changed.")).to_be_visible()

    kim.page.goto(shared_server.new_link("kim"))  # the same browser, by a link: nobody has shown who they are
    expect(kim.page.get_by_text("1 more task opens only on another device, or once you confirm")).to_be_visible()
    assert "For whoever confirms" not in kim.page.locator("main").inner_text()
    kim.page.goto(there)
    expect(kim.page.get_by_role("alert")).to_contain_text("asks you to confirm first that it is you")
    kim.picture("sharing-laptop-confirm")
    kim.page.get_by_role("button", name="Confirm with a passkey").click()
    kim.show("Document").write("It is me.").wait_until("saved")


EVIL = "<img src=x onerror=document.title='pwned'><script>document.title='pwned'</script><b style=color:red>bold</b>"


def test_attack_28_what_people_are_called_and_write_is_text_and_nothing_else(home: Home, devices: Devices) -> None:
    """Names of tasks, devices and people, a message, a document and a link's target: none of it runs or is dressed."""
    laptop = home.laptop
    device = laptop.ask("GET", "/me").json()["device"]
    assert laptop.ask("PATCH", f"/devices/{device}", {"name": EVIL}).ok
    task = laptop.ask("POST", "/tasks", {"name": EVIL, "goal": EVIL}).json()["id"]
    assert laptop.ask("POST", f"/tasks/{task}/messages", {"text": f"{EVIL} [x](javascript:alert(1))"}).ok
    laptop.open(f"/t/{task}")
    expect(laptop.talk.get_by_text("<img src=x").first).to_be_visible()
    expect(laptop.page.get_by_label("Name of the task")).to_have_value(EVIL)
    dialog = laptop.page.get_by_role("dialog")
    laptop.page.get_by_role("button", name="Menu").click()
    laptop.page.get_by_role("button", name="Devices").click()
    expect(dialog.get_by_text(EVIL).first).to_be_visible()
    laptop.page.keyboard.press("Escape")
    laptop.open("/")
    expect(laptop.page.get_by_role("link", name=EVIL)).to_be_visible()
    assert laptop.page.title() != "pwned"
    made: int = laptop.page.evaluate(
        "document.querySelectorAll('img, main script, main b[style], a[href^=javascript]').length"
    )
    assert made == 0
