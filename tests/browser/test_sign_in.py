"""A person comes in by a link, once, and stays."""

from __future__ import annotations

import pytest
from kit.devices import Device, Devices
from kit.running_server import RunningServer
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.own_server]


def test_a_link_signs_in_with_one_click_and_its_key_leaves_the_address(devices: Devices, server: RunningServer) -> None:
    laptop = devices.new().sign_in(server.link)
    assert "k=" not in laptop.page.url
    laptop.page.go_back()
    assert "k=" not in laptop.page.url


def test_who_signed_in_is_not_asked_again_by_a_new_tab_or_a_restarted_server(
    devices: Devices, server: RunningServer
) -> None:
    laptop = devices.new().sign_in(server.link)
    tab = laptop.context.new_page()
    tab.goto(server.url)
    expect(tab.get_by_role("heading", name="Your tasks")).to_be_visible()
    server.stop()
    server.start()
    tab.reload()
    expect(tab.get_by_role("heading", name="Your tasks")).to_be_visible()


def test_a_used_link_lets_nobody_else_in_and_says_what_to_do(devices: Devices, server: RunningServer) -> None:
    devices.new().sign_in(server.link)
    stranger = devices.new("phone")
    stranger.page.goto(server.link)
    expect(stranger.page.get_by_text("This browser is not signed in")).to_be_visible()
    expect(stranger.page.get_by_text("clew link")).to_be_visible()
    expect(stranger.page.get_by_text("used before")).to_be_visible()
    assert "k=" not in stranger.page.url


def test_a_used_link_does_no_harm_to_the_browser_that_used_it(devices: Devices, server: RunningServer) -> None:
    laptop = devices.new().sign_in(server.link)
    laptop.sign_in(server.link)


def test_a_new_link_brings_in_another_device(devices: Devices, server: RunningServer) -> None:
    devices.new().sign_in(server.link)
    devices.new("phone").sign_in(server.new_link())


def test_a_lost_cookie_asks_for_a_link_and_comes_back_to_the_task(
    laptop: Device, server: RunningServer, task: str
) -> None:
    laptop.context.clear_cookies()
    laptop.page.reload()
    expect(laptop.page.get_by_text("This browser is not signed in")).to_be_visible()
    laptop.page.goto(server.new_link().replace("localhost", "127.0.0.1"))
    expect(laptop.editor).to_be_visible()
    expect(laptop.page.get_by_label("Name of the task")).to_have_value(task)
