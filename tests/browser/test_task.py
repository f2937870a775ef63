"""The task itself, on a laptop and a phone: where it stands and what is said, alike on both, also by an agent."""

from __future__ import annotations

import asyncio
import threading

import pytest
from kit.devices import Device, Home
from kit.running_server import RunningServer
from kit.slow_agent import write_until_stopped
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

GROW_OLD = """() => {
  window.now = Date.now;
  Date.now = () => window.now() + 180_000;
  dispatchEvent(new Event("focus"));
}"""
"""Three minutes pass, and somebody comes back to the tab; a minute's timer does the same."""


def test_what_must_hold_is_added_changed_in_place_retired_and_put_back_on_either_device(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.add("Add what must hold", "No personal data leaves the EU", How_grave="critical")
    phone.show("Overview")
    entry = phone.section("Must hold").locator("[data-entry]")
    expect(entry).to_contain_text("No personal data leaves the EU")
    expect(entry).to_contain_text("critical")
    phone.act("No personal data", "Edit")
    phone.page.get_by_label("Change the words").press("End")
    phone.page.keyboard.type(" or Switzerland")
    phone.page.get_by_label("Change the words").press("Enter")
    expect(laptop.section("Must hold")).to_contain_text("leaves the EU or Switzerland")
    phone.act("No personal data", "Retire")
    expect(laptop.section("Must hold")).not_to_contain_text("No personal data")
    expect(laptop.ledger.locator(".past")).to_contain_text("1 that no longer stands")
    phone.ledger.get_by_role("button", name="Undo").click()
    expect(laptop.section("Must hold")).to_contain_text("leaves the EU or Switzerland")


def test_decisions_made_apart_are_shown_in_conflict_until_one_person_says_which_stands(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.add("Add a decision", "Net 30", Topic="payment")
    expect(phone.section("Decided")).to_contain_text("Net 30")
    phone.context.set_offline(True)
    phone.wait_until("offline")
    for device, words in ((laptop, "Net 45"), (phone, "Net 60 天")):
        device.act("Net 30", "Decide anew")
        field = device.ledger.get_by_label("What is decided now")
        field.fill(words)
        field.press("Enter")
    phone.context.set_offline(False)
    for device in (laptop, phone):
        conflict = device.ledger.get_by_role("group", name="These decisions do not agree")
        expect(conflict).to_contain_text("Net 45")
        expect(conflict).to_contain_text("Net 60 天")
    phone.act("Net 60", "This one stands")
    for device in (laptop, phone):
        expect(device.ledger.locator(".conflict")).to_have_count(0)
        expect(device.section("Decided").locator("[data-entry]")).to_have_count(1)
        expect(device.section("Decided")).to_contain_text("Net 60 天")


def test_a_question_is_answered_and_answered_anew_and_a_next_step_is_done(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.add("Ask a question", "Who signs for Acme?").add("Add a next step", "Send the draft")
    for device, button, words in ((laptop, "Answer", "The CFO"), (phone, "Answer anew", "王总")):
        device.act("Who signs", button)
        field = device.ledger.get_by_label("Answer", exact=True)
        field.fill(words)
        field.press("Enter")
        for other in (laptop, phone):
            expect(other.section("Questions")).to_contain_text(words)
    expect(laptop.section("Questions")).not_to_contain_text("The CFO")
    phone.act("Send the draft", "Done")
    expect(laptop.section("Next steps")).to_contain_text("Nothing yet")


def test_who_speaks_is_heard_on_the_other_device_by_name_device_and_order(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.composer.fill("The first thing.")
    laptop.composer.press("Shift+Enter")
    laptop.page.keyboard.type("On two lines.")
    laptop.composer.press("Enter")
    expect(laptop.composer).to_have_value("")
    phone.show("Conversation")
    said = phone.talk.locator(".message").last
    expect(said).to_contain_text("The first thing.\nOn two lines.")
    expect(said.locator(".meta").first).to_contain_text("You on Chrome")
    phone.composer.fill("And an answer to it.")
    phone.composer.press("Enter")  # a phone's Enter is a new line: there is a button to send
    expect(phone.composer).to_have_value("And an answer to it.\n")
    phone.talk.get_by_role("button", name="Send").click()
    expect(laptop.talk.locator(".message")).to_have_count(2)
    for device in (laptop, phone):
        expect(device.talk.locator(".message").last).to_contain_text("And an answer to it.")
    phone.picture("task-phone-talk-dark")
    laptop.page.evaluate(GROW_OLD)
    expect(laptop.talk.locator(".message time").last).to_have_text("3 minutes ago")
    laptop.page.evaluate("Date.now = window.now")


def test_enter_that_picks_a_word_of_an_input_method_sends_nothing(home: Home) -> None:
    laptop = home.laptop
    before = laptop.talk.locator(".message").count()
    laptop.composer.focus()
    keyboard = laptop.context.new_cdp_session(laptop.page)
    for text in ("n", "ni", "ni h", "ni hao"):
        keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
    laptop.page.keyboard.press("Enter")
    keyboard.send("Input.insertText", {"text": "你好"})
    expect(laptop.talk.locator(".message")).to_have_count(before)
    assert "你好" in laptop.composer.input_value()
    laptop.page.wait_for_timeout(100)
    laptop.composer.press("Enter")
    expect(laptop.talk.locator(".message")).to_have_count(before + 1)
    expect(laptop.talk.locator(".message").last).to_contain_text("你好")


def test_an_agent_is_seen_at_work_its_words_grow_and_stop_means_not_one_more(
    home: Home, shared_server: RunningServer
) -> None:
    laptop, phone = home.laptop, home.phone
    token = shared_server.new_token("owner", "--agent", "Helper", "--ttl", "1h")["token"]
    task = laptop.page.url.rpartition("/")[2]
    spoken: list[str] = []
    agent = threading.Thread(target=lambda: asyncio.run(write_until_stopped(shared_server.port, token, task, spoken)))
    agent.start()
    try:
        laptop.composer.fill("Please summarize.")
        laptop.composer.press("Enter")
        answer = laptop.talk.locator(".message.agent").last
        expect(answer).to_contain_text("word3")
        expect(laptop.talk.locator(".agent-state")).to_contain_text("Helper is writing")
        expect(laptop.talk.locator(".agent-state")).to_contain_text("2 more waiting")
        phone.show("Conversation")
        laptop.picture("task-agent-writing")
        phone.talk.get_by_role("button", name="Stop").click()
        expect(laptop.talk.locator(".agent-state")).to_have_count(0)
    finally:
        agent.join(30)
    said = stands(laptop, task)
    for _ in range(2):
        for device in (laptop, phone):
            expect(device.talk.locator(".message.agent").last.locator(".said")).to_have_text(said)
        laptop.page.wait_for_timeout(300)
        assert stands(laptop, task) == said
    assert len(spoken) < 400


def stands(device: Device, task: str) -> str:
    """The last that an agent said in the task, as the server has it."""
    messages = device.ask("GET", f"/tasks/{task}/working-set").json()["messages"]
    return str([message["text"] for message in messages if message["role"] == "agent"][-1])


def test_undo_in_the_document_never_takes_what_the_other_wrote(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    phone.show("Document")
    laptop.write("mine")
    expect(phone.editor).to_contain_text("mine")
    phone.write(" theirs")
    expect(laptop.editor).to_contain_text("mine theirs")
    for _ in range(4):
        laptop.editor.press("Control+z")
    expect(laptop.editor).not_to_contain_text("mine")
    expect(laptop.editor).to_contain_text("theirs")
    expect(phone.editor).to_contain_text("theirs")


def test_who_types_keeps_field_words_and_caret_while_others_write(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.composer.fill("half a sent")
    laptop.composer.press("Home")
    phone.add("Add what must hold", "said meanwhile")
    phone.show("Document").write("written meanwhile")
    expect(laptop.section("Must hold")).to_contain_text("said meanwhile")
    expect(laptop.editor).to_contain_text("written meanwhile")
    laptop.page.keyboard.type("X")
    expect(laptop.composer).to_have_value("Xhalf a sent")
    spoken = laptop.page.locator("p[role=status][aria-live=polite]")
    expect(spoken).to_contain_text("changed a document")
    laptop.composer.fill("")


def test_a_keyboard_on_the_screen_leaves_room_for_the_words_and_the_button(home: Home) -> None:
    phone = home.phone.show("Conversation")
    size = phone.page.viewport_size
    assert size
    phone.composer.focus()
    phone.page.set_viewport_size({"width": size["width"], "height": 300})  # what a keyboard leaves of 640 pixels
    try:
        for needed in (phone.composer, phone.talk.get_by_role("button", name="Send")):
            expect(needed).to_be_in_viewport(ratio=1)
        expect(phone.talk.locator(".message").last).to_be_in_viewport()
        expect(phone.composer).to_be_focused()
    finally:
        phone.page.set_viewport_size(size)


def test_nothing_is_wider_than_a_small_phone_and_all_targets_are_large(home: Home) -> None:
    phone = home.phone
    for panel in ("Conversation", "Overview", "Document"):
        phone.show(panel)
        assert phone.overflow() == 0, panel
        for button in phone.page.locator("button:visible, select:visible").all():
            box = button.bounding_box()
            assert box and box["height"] >= 24, button.text_content()
    phone.show("Overview").picture("task-phone-overview-dark")
    home.laptop.picture("task-laptop")
