"""Somebody else on the task: what they may do, and what they are told when they may not, at once and truthfully."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from kit.devices import ARTIFACTS, Device, Devices
from kit.hostile_line import HostileLine
from kit.running_server import RunningServer
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def laptops(chromium: Browser, shared_server: RunningServer, operator: Device) -> Iterator[tuple[Device, Device]]:
    """The owner's and another person's, signed in once for all tests that leave them so."""
    shared_server.clew("user", "add", "wei")
    ARTIFACTS.mkdir(exist_ok=True)
    with Devices(chromium, shared_server, ARTIFACTS) as devices:
        yield devices.new().sign_in(operator.invite()), devices.new().sign_in(shared_server.new_link("wei"))
        devices.check()


@pytest.fixture
def laptop(laptops: tuple[Device, Device], task: str) -> Device:
    """The owner's laptop, loaded anew, in a new task."""
    return laptops[0].open().start_task(task)


@pytest.fixture
def wei(laptops: tuple[Device, Device]) -> Device:
    """The other person's laptop, loaded anew, on no task yet."""
    return laptops[1].open()


def call(device: Device, method: str, path: str, body: object = None) -> Any:
    answer = device.ask(method, path, body)
    assert answer.ok, (method, path, answer.text())
    return None if answer.status == 204 else answer.json()


def let_in(laptop: Device, wei: Device, role: str, task: str) -> str:
    """Put wei on the open task and open it there; the path of wei's membership."""
    id = laptop.page.url.rpartition("/")[2]
    member = call(laptop, "POST", f"/tasks/{id}/members", {"user": "wei", "role": role})
    wei.page.reload()
    wei.page.get_by_role("link", name=task).click()
    expect(wei.editor).to_be_visible()
    return f"/tasks/{id}/members/{member['user']}"


def test_26_two_people_see_each_other_by_name_also_by_a_new_one(laptop: Device, wei: Device, task: str) -> None:
    let_in(laptop, wei, "editor", task)
    laptop.write("owner writes.")
    expect(wei.editor).to_contain_text("owner writes.")
    wei.write(" wei writes.")
    expect(laptop.editor).to_contain_text("owner writes. wei writes.")
    expect(laptop.people).to_have_count(2)
    expect(laptop.people.filter(has_text="wei")).to_be_visible()
    expect(wei.people.filter(has_text="owner")).to_be_visible()
    expect(laptop.page.locator(".caret")).to_have_attribute("data-name", "wei")
    for name in ("Wei Chen", "wei"):
        assert wei.ask("PATCH", "/me/account", {"name": name}).ok
        expect(laptop.people.filter(has_text=name)).to_be_visible()  # nobody has asked
        expect(laptop.page.locator(".caret")).to_have_attribute("data-name", name)


def test_a_viewer_reads_along_and_cannot_type(laptop: Device, wei: Device, task: str) -> None:
    let_in(laptop, wei, "viewer", task)
    expect(wei.editor).to_have_attribute("data-bare", "")
    asked = "getComputedStyle(document.querySelector('.words'), '::before').content"
    assert wei.page.evaluate(asked) == "none"  # nobody is asked to write where they may not
    laptop.write("for your eyes")
    expect(wei.editor).to_contain_text("for your eyes")
    expect(wei.editor).to_have_attribute("contenteditable", "false")
    expect(wei.page.get_by_role("toolbar")).to_have_count(0)
    expect(wei.page.get_by_role("button", name="+ Document")).to_have_count(0)


LIGHTS = """() => {
  window.lights = [];
  new MutationObserver(() => window.lights.push(document.querySelector("[data-light]").dataset.light)).observe(
    document.querySelector("[data-light]"), {attributes: true, attributeFilter: ["data-light"]});
}"""


def test_15_and_a_role_reaches_an_open_page_at_once_and_refused_words_are_never_called_saved(
    devices: Devices, laptop: Device, laptops: tuple[Device, Device], task: str
) -> None:
    wei = devices.new().sign_in(laptops[1].invite())
    line = HostileLine(wei)
    membership = let_in(laptop, wei, "editor", task)
    wei.composer.fill("a draft of mine")
    wei.write("allowed. ").wait_until("saved")
    line.turn("late")
    wei.page.keyboard.type("refused.")
    wei.wait_until("saving")
    wei.page.evaluate(LIGHTS)
    call(laptop, "PATCH", membership, {"role": "viewer"})
    expect(wei.editor).to_have_attribute("contenteditable", "false")  # nobody has asked
    expect(wei.page.get_by_role("toolbar")).to_have_count(0)
    line.turn("fair")
    wei.wait_until("refused")
    expect(wei.light).to_contain_text("Cannot save")
    laptop.write("later.")
    expect(wei.editor).to_contain_text("later.")
    expect(wei.editor).to_contain_text("refused.")  # kept here
    expect(laptop.editor).not_to_contain_text("refused.")
    assert "saved" not in wei.page.evaluate("window.lights")

    call(laptop, "PATCH", membership, {"role": "editor"})
    expect(wei.editor).to_have_attribute("contenteditable", "true")
    wei.wait_until("saved")
    expect(laptop.editor).to_contain_text("refused.")
    expect(wei.composer).to_have_value("a draft of mine")
    wei.write("and more.").wait_until("saved")
    expect(laptop.editor).to_contain_text("and more.")


def test_who_is_taken_off_the_task_is_told_and_hears_nothing_more(laptop: Device, wei: Device, task: str) -> None:
    membership = let_in(laptop, wei, "editor", task)
    wei.write("before. ").wait_until("saved")
    call(laptop, "DELETE", membership)
    expect(wei.page.get_by_role("alert")).to_contain_text("You may not open this task any more")
    laptop.write("secret").wait_until("saved")
    expect(wei.editor).to_contain_text("before.")
    expect(wei.editor).not_to_contain_text("secret")
    wei.picture("taken-off-laptop")
    wei.page.reload()
    expect(wei.page.get_by_role("alert")).to_contain_text("no such task")


def test_a_page_that_a_rule_shut_out_shows_nothing_of_the_task_until_it_opens_again(
    laptop: Device, wei: Device, task: str
) -> None:
    policy = let_in(laptop, wei, "editor", task).partition("/members")[0] + "/policy"
    wei.write("before. ").wait_until("saved")
    call(laptop, "PUT", policy, {"resume": "owner", "device": "any", "confirm": "none"})
    alert = wei.page.get_by_role("alert")
    expect(alert).to_contain_text("Only the owners of this task may open it")
    expect(wei.page.locator(".words")).to_have_count(0)
    expect(wei.page.locator("body")).not_to_contain_text(task)
    expect(wei.page).not_to_have_title(re.compile(re.escape(task)))
    with wei.page.expect_response("**" + policy.removesuffix("/policy")) as answered:
        wei.page.get_by_role("button", name="Try again").click()
    assert not answered.value.ok
    expect(alert).to_contain_text("Only the owners")
    call(laptop, "PUT", policy, {"resume": "members", "device": "any", "confirm": "none"})
    wei.page.evaluate("dispatchEvent(new Event('focus'))")
    expect(wei.editor).to_contain_text("before.")
    wei.write("after.").wait_until("saved")
    expect(laptop.editor).to_contain_text("before. after.")


def test_who_loses_the_sign_in_keeps_the_words_and_goes_on_after_another_link(
    devices: Devices, operator: Device, task: str
) -> None:
    laptop = devices.new().sign_in(operator.invite()).start_task(task)
    laptop.write("before. ").wait_until("saved")
    call(laptop, "POST", "/signout")
    expect(laptop.page.get_by_role("alert")).to_contain_text("clew link")
    laptop.write("meanwhile.").wait_until("offline")
    tab = laptop.context.new_page()
    tab.goto(operator.invite().replace("localhost", "127.0.0.1"))
    expect(tab.get_by_role("heading", name="Your tasks")).to_be_visible()
    laptop.page.bring_to_front()
    laptop.page.get_by_role("button", name="Go on").click()
    laptop.wait_until("saved")
    laptop.page.reload()
    expect(laptop.editor).to_contain_text("before. meanwhile.")
