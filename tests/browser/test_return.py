"""Coming back: the laptop is closed, the phone is opened, and is offered the right task and where it stands."""

from __future__ import annotations

import httpx2
import pytest
from kit.devices import Home
from kit.running_server import RunningServer
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_phone_is_offered_what_the_laptop_was_on_and_is_one_tap_from_it(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.add("Add what must hold", "Never below 150 k€", How_grave="critical")
    laptop.add("Add a next step", "Send the draft to Acme").add("Ask a question", "Who signs?")
    laptop.wait_until("saved")
    phone.open()
    card = phone.page.get_by_role("region", name="You were working on")
    expect(card.get_by_role("heading", level=2)).to_have_text(f"You were working on “{home.task}”. Continue?")
    for words in ("Never below 150 k€", "Who signs?", "Send the draft to Acme"):
        expect(card.locator(".paragraph")).to_contain_text(words)
    assert phone.overflow() == 0
    phone.picture("return-phone-dark")
    card.get_by_role("link", name="Continue").click()
    phone.show("Overview")
    expect(phone.section("Must hold")).to_contain_text("Never below 150 k€")
    expect(phone.page.locator(".also")).to_contain_text("You are also here on Chrome on Linux.")


def test_what_others_did_meanwhile_is_told_with_who_did_it(home: Home, shared_server: RunningServer) -> None:
    laptop, phone = home.laptop, home.phone
    task = laptop.page.url.rpartition("/")[2]
    shared_server.clew("user", "add", "mia")
    assert laptop.ask("POST", f"/tasks/{task}/members", {"user": "mia", "role": "editor"}).status == 201
    laptop.open()
    phone.open()
    url = f"{shared_server.url}/api/v1/tasks/{task}/messages"
    bearer = {"authorization": f"Bearer {shared_server.new_token('mia')['token']}"}
    assert httpx2.post(url, json={"text": "Acme called."}, headers=bearer, trust_env=False).status_code == 201
    phone.open()
    card = phone.page.get_by_role("region", name="You were working on")
    expect(card.get_by_role("heading", name="1 change since you last looked")).to_be_visible()
    expect(card.locator(".changes")).to_contain_text("Acme called.")
    expect(card.locator(".changes")).to_contain_text("Message · added · mia")
    phone.picture("return-changes-phone-dark")
    laptop.open(f"/t/{task}").show("Document")


def test_what_is_wrong_on_the_card_is_corrected_there_for_everyone(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.add("Add a decision", "Net 30 days", Topic="payment").wait_until("saved")
    phone.open()
    card = phone.page.get_by_role("region", name="You were working on")
    card.get_by_text("Everything that stands").click()
    card.get_by_role("button", name="Correct “Net 30 days”").click()
    card.get_by_label("Change the words").fill("Net 45 days")
    card.get_by_role("button", name="Save").click()
    expect(card.get_by_role("status")).to_contain_text("Corrected")
    expect(card.locator(".facts")).to_contain_text(["Net 45 days"])
    expect(laptop.section("Decided")).to_contain_text("Net 45 days")


def test_another_task_and_something_new_are_as_near_as_the_card(home: Home) -> None:
    phone = home.phone
    phone.open()
    card = phone.page.get_by_role("region", name="You were working on")
    expect(phone.page.locator(".tasks a").first).to_be_visible()
    card.get_by_role("button", name="Something new").click()
    expect(phone.page.get_by_label("New task")).to_be_focused()
    card.get_by_role("button", name="Another task").click()
    phone.page.wait_for_function("document.activeElement.getAttribute('href')?.startsWith('/t/')")


def test_inside_the_task_one_may_ask_again_where_it_stands(home: Home) -> None:
    laptop = home.laptop
    laptop.page.get_by_role("button", name="Menu").click()
    laptop.page.get_by_role("button", name="Where this stands").click()
    card = laptop.page.get_by_role("region", name="Where this stands")
    expect(card.locator(".paragraph")).to_contain_text("Never below 150 k€")
    laptop.picture("return-laptop")
    laptop.page.get_by_role("button", name="Close").click()
    expect(card).to_have_count(0)
