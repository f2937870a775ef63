"""The whole of it, with the built-in agent and no model: said on the laptop, filed, and picked up on the phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.devices import ARTIFACTS, Devices
from kit.running_server import RunningServer, free_port
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser


def test_what_is_said_on_the_laptop_is_filed_and_stands_on_the_phone_after_the_laptop_was_closed(
    chromium: Browser, tmp_path: Path
) -> None:
    server = RunningServer(tmp_path / "data", free_port(), agent=True).start()
    try:
        with Devices(chromium, server, ARTIFACTS) as devices:
            laptop = devices.new().sign_in(server.link).start_task("Acme contract")
            laptop.composer.fill(
                "The price must not exceed 150 k€. We decided to pay within 30 days. Who signs for Acme?"
            )
            laptop.composer.press("Enter")
            answer = laptop.talk.locator(".message.agent")
            expect(answer.locator(".refs")).to_contain_text("150 k€")
            expect(laptop.section("Must hold")).to_contain_text("150 k€")
            expect(laptop.section("Decided")).to_contain_text("30 days")
            expect(laptop.section("Questions")).to_contain_text("Who signs for Acme?")
            answer.locator(".refs").get_by_role("button").first.click()
            opened = laptop.ledger.locator(".entry.open")
            expect(opened).to_contain_text("150 k€")
            opened.get_by_role("button", name="What it comes from").click()
            expect(laptop.talk.locator(".message").first).to_be_focused()
            laptop.wait_until("saved").picture("clerk-laptop")
            laptop.act("150 k€", "Edit")
            laptop.ledger.get_by_label("Change the words").press_sequentially(" net")
            laptop.ledger.get_by_role("button", name="Done").first.click()
            laptop.wait_until("saved")
            link = laptop.invite()
            laptop.context.close()

            phone = devices.new("phone", "dark").sign_in(link)
            card = phone.page.get_by_role("region", name="You were working on “Acme contract”")
            for words in ("150 k€", "30 days", "Who signs for Acme?"):
                expect(card.locator(".paragraph")).to_contain_text(words)
            phone.picture("clerk-phone-dark")
            card.get_by_role("link", name="Continue").click()
            answer = phone.show("Conversation").talk.locator(".message.agent")
            phone.page.reload()
            answer.get_by_role("button", name="Undo this").click()
            expect(answer).to_contain_text("Undone by you")
            expect(answer).not_to_contain_text(
                re.compile(r"Filed:|- (constraint|decision|question)|not there any more")
            )
            expect(answer).to_contain_text("Left, because it was changed since: The price must not exceed 150 k€ net")
            expect(answer.get_by_role("button", name="Undo this")).to_have_count(0)
            phone.wait_until("saved").picture("clerk-undone-phone-dark")
            phone.show("Overview")
            expect(phone.section("Must hold")).to_contain_text("150 k€ net")
            expect(phone.section("Decided")).to_contain_text("Nothing yet")
            expect(phone.section("Questions")).to_contain_text("Nothing yet")
            devices.check()
    finally:
        server.stop()
