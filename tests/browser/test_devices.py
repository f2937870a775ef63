"""What a browser proves of itself, over HTTPS: a session bound to the machine, a key of its own, a copy of neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kit.axe import complaints
from kit.certificate import make_certificate
from kit.devices import ARTIFACTS, FLAGS, Device, Devices
from kit.running_server import RunningServer, running_server
from playwright.sync_api import Browser, BrowserContext, Playwright, expect

pytestmark = pytest.mark.browser

BINDING = (
    "--enable-features=DeviceBoundSessions:RefreshQuota/false,EnableBoundSessionCredentialsSoftwareKeysForManualTesting"
)
"""Chromium binds sessions on any machine, by keys in software, where the certificate is one that it takes."""


@pytest.fixture(scope="module")
def https(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningServer, str]]:
    """A server with a certificate of its own, and the flag by which Chromium takes it."""
    folder = tmp_path_factory.mktemp("https")
    certificate = make_certificate(folder)
    with running_server(folder / "data", certificate.options) as server:
        yield server, f"--ignore-certificate-errors-spki-list={certificate.pin}"


@pytest.fixture(scope="module")
def browsers(
    https: tuple[RunningServer, str], chromium_path: str, playwright: Playwright
) -> Iterator[tuple[Browser, Browser]]:
    """One that binds sessions to the machine, and one that does not."""
    _, pinned = https
    launch = playwright.chromium.launch
    binding = launch(executable_path=chromium_path, args=[*FLAGS, pinned, BINDING])
    plain = launch(executable_path=chromium_path, args=[*FLAGS, pinned])
    yield binding, plain
    binding.close()
    plain.close()


class Watched:
    """What a browser says of its bound sessions."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.said: list[dict[str, Any]] = []
        session = device.context.new_cdp_session(device.page)
        session.on("Network.deviceBoundSessionEventOccurred", lambda event: self.said.append(event))
        session.send("Network.enable")
        session.send("Network.enableDeviceBoundSessions", {"enable": True})

    def wait_for(self, details: str) -> dict[str, Any]:
        """The last event of that sort, once there is one that went well."""
        for _ in range(600):
            found = [one for one in self.said if details in one and one["succeeded"]]
            if found:
                return dict(found[-1][details])
            self.device.page.wait_for_timeout(50)
        raise AssertionError((details, self.said))


def level(device: Device) -> str:
    listed = device.ask("GET", "/devices").json()["devices"]
    return str(next(one["level"] for one in listed if one["current"]))


def cookie_jar(context: BrowserContext) -> dict[str, str]:
    return {one["name"]: one["value"] for one in context.cookies()}


def test_a_session_is_bound_refreshed_and_shown_and_a_copied_cookie_jar_opens_nothing(
    https: tuple[RunningServer, str], browsers: tuple[Browser, Browser]
) -> None:
    server, _ = https
    with Devices(browsers[0], server, ARTIFACTS) as bound, Devices(browsers[1], server, ARTIFACTS) as plain:
        laptop = bound.new()
        watched = Watched(laptop)
        laptop.sign_in(server.link)
        created = watched.wait_for("creationEventDetails")
        assert created["fetchResult"] == "Success"
        first = cookie_jar(laptop.context)
        assert set(first) == {"__Host-clew", "__Host-clew-bound"}
        laptop.start_task("Acme contract").write("Net 30 days.").wait_until("saved")
        assert level(laptop) == "hardware"

        laptop.context.clear_cookies(name="__Host-clew-bound")
        laptop.page.reload()
        refreshed = watched.wait_for("refreshEventDetails")
        assert refreshed["refreshResult"] == "Refreshed"
        second = cookie_jar(laptop.context)
        assert second["__Host-clew-bound"] != first["__Host-clew-bound"]
        laptop.show("Document").wait_until("saved")

        # the same person's other browser, which binds nothing: it has a key all the same
        phone = plain.new("phone", "dark").sign_in(laptop.invite()).open_task("Acme contract")
        assert level(phone) == "software" and set(cookie_jar(phone.context)) == {"__Host-clew"}
        phone.write(" Nothing is due.").wait_until("saved")
        expect(laptop.editor).to_contain_text("Nothing is due.")

        for victim in (laptop, phone):
            thief = copy_of_the_jar_opens_nothing(victim, plain, server)
        sockets: list[str] = []
        thief.page.on("websocket", lambda socket: sockets.append(socket.url))
        thief.open(f"/t/{laptop.page.url.rpartition('/')[2]}")
        expect(thief.page.get_by_text("clew link")).to_be_visible()
        assert sockets == []
        look_at_the_list(laptop)
        page_without_a_secure_context_says_what_it_lacks(plain.new("phone", "dark"), server)
        bound.check()


def copy_of_the_jar_opens_nothing(victim: Device, browsers: Devices, server: RunningServer) -> Device:
    """Every cookie of the victim's in another browser: no task, no ticket, and so no socket."""
    task = victim.page.url.rpartition("/")[2]
    thief = browsers.new()
    thief.context.add_cookies(victim.context.cookies())  # type: ignore[arg-type]
    ask = thief.context.request
    origin = {"origin": server.url}
    for path in ("/me", "/tasks", f"/tasks/{task}", f"/tasks/{task}/working-set", f"/tasks/{task}/resume"):
        assert ask.get(f"{server.url}/api/v1{path}", ignore_https_errors=True).status == 401, path
    for path in (f"/tasks/{task}/tickets", "/links"):
        there = f"{server.url}/api/v1{path}"
        assert ask.post(there, data={}, headers=origin, ignore_https_errors=True).status == 401, path
    return thief


def page_without_a_secure_context_says_what_it_lacks(device: Device, server: RunningServer) -> None:
    """As on plain HTTP by another machine's name: it works, it has no key, and it says so."""
    device.context.add_init_script("Object.defineProperty(globalThis, 'isSecureContext', {value: false})")
    device.sign_in(server.new_link())
    device.page.get_by_role("button", name="Menu").click()
    device.page.get_by_role("button", name="Devices").click()
    dialog = device.page.get_by_role("dialog")
    expect(dialog).to_contain_text("This page came by plain HTTP")
    expect(dialog.get_by_role("listitem").filter(has_text="this device")).to_contain_text("no key")


def look_at_the_list(device: Device) -> None:
    """The two devices with what each can prove; nothing that axe minds, nothing that does not fit."""
    device.page.get_by_role("button", name="Menu").click()
    device.page.get_by_role("button", name="Devices").click()
    dialog = device.page.get_by_role("dialog")
    expect(dialog.get_by_role("listitem").filter(has_text="this device")).to_contain_text("bound to its hardware")
    expect(dialog.get_by_role("listitem").filter(has_not_text="this device")).to_contain_text("has a key")
    dialog.get_by_text("What a device can prove").click()
    expect(dialog).to_contain_text("A cookie alone")
    device.picture("devices-levels")
    assert complaints(device.page) == []
