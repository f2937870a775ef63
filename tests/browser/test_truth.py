"""What the page says of one's words is true: without a server, after a reload, in several tabs, after signing out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from kit.devices import Device, Devices
from kit.running_server import RunningServer
from playwright.sync_api import Route, WebSocketRoute, expect

pytestmark = [pytest.mark.browser, pytest.mark.own_server]

IS_READY = "navigator.serviceWorker.ready.then(() => caches.keys()).then(names => names.length)"
KEPT = """async () => ({
  databases: (await indexedDB.databases()).map(one => one.name),
  local: Object.keys(localStorage),
  session: Object.keys(sessionStorage),
})"""


def test_without_a_server_a_task_opens_is_written_in_and_loses_nothing(
    laptop: Device, devices: Devices, server: RunningServer, task: str
) -> None:
    page = laptop.page
    laptop.write("Written online. ").wait_until("saved")
    assert page.evaluate(IS_READY) == 1
    phone_link = laptop.invite()
    server.kill()
    laptop.wait_until("offline")
    expect(page.locator(".notice")).to_have_count(0)  # a server that is away for a moment is no news
    laptop.write("Written offline. ")
    expect(laptop.light).to_contain_text("kept on this device")
    expect(page.locator(".notice")).to_contain_text("The server is away")
    laptop.picture("truth-away")

    page.reload()
    expect(laptop.editor).to_contain_text("Written online. Written offline.")
    laptop.wait_until("offline")
    expect(laptop.light).to_contain_text("kept on this device")  # this tab typed nothing, and it is still true
    laptop.write("After the reload. ")
    tab = Device(laptop.context, laptop.context.new_page(), server, laptop.picture("truth-reload").parent).open()
    expect(tab.page.get_by_role("main").get_by_role("status")).to_contain_text("The server cannot be reached")
    tab.open_task(task)
    expect(tab.editor).to_contain_text("Written offline. After the reload.")
    tab.page.close()

    server.start()
    laptop.wait_until("saved")
    phone = devices.new("phone", "dark").sign_in(phone_link).open_task(task)
    expect(phone.editor).to_contain_text("Written online. Written offline. After the reload.")
    expect(phone.editor.locator("p")).to_have_count(1)


class Cutter:
    """Stands in the line between page and server: holds back what the page says, or ends the connection with a code."""

    def __init__(self, device: Device) -> None:
        self.holds = False
        self.line: WebSocketRoute | None = None
        device.page.route_web_socket("**/sync/**", self._open)

    def _open(self, line: WebSocketRoute) -> None:
        self.line = line
        server = line.connect_to_server()
        line.on_message(lambda message: None if self.holds else server.send(message))

    def end(self, code: int, why: str) -> None:
        assert self.line is not None
        self.line.close(code=code, reason=why)


def test_words_that_the_server_refuses_for_good_are_offered_and_can_be_put_back(
    devices: Devices, server: RunningServer
) -> None:
    laptop = devices.new()
    cutter = Cutter(laptop)
    laptop.sign_in(server.link).start_task("Acme contract")
    laptop.write("Taken. ").wait_until("saved")
    cutter.holds = True
    laptop.write("Never through.")
    laptop.composer.fill("Nor this.")
    laptop.composer.press("Enter")
    expect(laptop.editor).to_contain_text("Taken. Never through.")
    laptop.page.wait_for_timeout(300)
    cutter.holds = False
    cutter.end(4409, "client id of another")
    offer = laptop.page.get_by_role("group", name="Words of yours that never got through")
    expect(offer).to_contain_text("Taken. Never through.")
    expect(offer).to_contain_text("Nor this.")
    laptop.wait_until("saved")
    expect(laptop.editor).to_have_text("Taken. ")
    laptop.picture("truth-offer")
    offer.get_by_role("button", name="Put them back").click()
    expect(offer).to_have_count(0)
    laptop.wait_until("saved").page.reload()
    expect(laptop.talk.locator(".message")).to_contain_text("Nor this.")
    laptop.page.get_by_role("button", name="Kept on this device").click()
    expect(laptop.editor).to_contain_text("Taken. Never through.")


def test_signing_out_leaves_nothing_in_the_browser_and_asks_for_a_link(laptop: Device) -> None:
    page = laptop.page
    laptop.write("secret").wait_until("saved")
    laptop.composer.fill("a draft that was never sent")
    kept = page.evaluate(KEPT)
    assert len(kept["databases"]) == 2 and "clew.me" in kept["local"]  # the task, and the key of this device
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out")).to_be_visible()
    page.wait_for_function(f"({KEPT})().then(kept => kept.databases.length === 0)")
    kept = page.evaluate(KEPT)
    assert kept == {"databases": [], "local": [], "session": []}
    page.reload()
    expect(page.get_by_text("This browser is not signed in")).to_be_visible()


def test_who_signs_out_is_shown_what_could_not_be_sent_before_it_goes(laptop: Device) -> None:
    page = laptop.page
    laptop.write("Sent. ").wait_until("saved")
    laptop.context.set_offline(True)
    laptop.wait_until("offline").write("Nowhere else.")
    expect(laptop.light).to_contain_text("kept on this device")
    page.get_by_role("link", name="All tasks").click()
    refusal = {"code": "conflict", "reason": "gap", "detail": "It builds on what is not here."}
    page.route("**/updates", lambda route: route.fulfill(status=409, json=refusal))
    laptop.context.set_offline(False)
    expect(page.locator(".waiting")).to_have_text("Not all sent: open it to send")
    page.get_by_role("button", name="Menu").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Unsent words")).to_have_value(re.compile("Nowhere else."))
    laptop.picture("truth-signed-out-words")
    expect(page.get_by_text("You are signed out")).to_be_visible()
    page.wait_for_function(f"({KEPT})().then(kept => kept.databases.length === 0)")
    page.get_by_role("button", name="Sign in again").click()
    expect(page.get_by_label("Unsent words")).to_have_count(0)


def test_words_for_a_task_that_was_deleted_meanwhile_are_found_in_the_list_until_they_are_let_go(
    laptop: Device, devices: Devices, task: str
) -> None:
    page, other = laptop.page, devices.new("phone").sign_in(laptop.invite())
    path = "/tasks/" + page.url.rpartition("/")[2]
    laptop.write("Sent. ").wait_until("saved")
    laptop.context.set_offline(True)
    laptop.wait_until("offline").write("Nowhere else.")
    expect(laptop.light).to_contain_text("kept on this device")
    page.get_by_role("link", name="All tasks").click()
    assert other.ask("DELETE", path).ok
    laptop.context.set_offline(False)
    row = page.locator(".tasks li").filter(has_text=task)
    expect(row).to_contain_text("Not all sent: open it to send")
    row.get_by_role("link").click()
    offer = page.get_by_role("group", name="Words of yours that never got through")
    expect(offer).to_contain_text("Nowhere else.")
    laptop.picture("truth-deleted")
    offer.get_by_role("button", name="Let them go").click()
    page.get_by_role("link", name="All tasks").click()
    expect(page.get_by_label("New task")).to_be_visible()
    expect(row).to_have_count(0)


def test_who_signs_in_where_somebody_else_was_sends_none_of_their_words_on_a_slow_line(
    laptop: Device, server: RunningServer
) -> None:
    page, task = laptop.page, laptop.page.url.rpartition("/")[2]
    server.clew("user", "add", "wei")
    assert laptop.ask("POST", f"/tasks/{task}/members", {"user": "wei", "role": "editor"}).ok
    laptop.write("Sent. ").wait_until("saved")
    assert page.evaluate(IS_READY) == 1
    laptop.context.set_offline(True)
    page.reload()  # under a client id that the server has not seen
    laptop.wait_until("offline").write("The owner's.")
    expect(laptop.light).to_contain_text("kept on this device")
    page.goto("about:blank")
    laptop.context.set_offline(False)

    def late(route: Route) -> None:
        page.wait_for_timeout(5_000)  # longer than the page waits for where it knows who was here
        route.continue_()

    page.route("**/api/v1/me", late)
    with page.expect_response("**/api/v1/me"):
        page.goto(server.new_link("wei").replace("localhost", "127.0.0.1"))
    expect(page.get_by_role("heading", name="Your tasks")).to_be_visible()
    (document,) = laptop.ask("GET", f"/tasks/{task}/working-set").json()["documents"]
    assert "The owner" not in document["markdown"]
    expect(page.locator(".waiting")).to_have_count(0)


def test_11_a_version_that_the_server_restored_is_not_mixed_with_what_the_phone_wrote_meanwhile(
    laptop: Device, phone: Device, server: RunningServer, tmp_path: Path
) -> None:
    laptop.write("Version three.").wait_until("saved")
    expect(phone.editor).to_contain_text("Version three.")
    server.clew("backup", "--to", str(tmp_path / "kept"))
    phone.context.set_offline(True)
    phone.wait_until("offline").write(" From the phone.")
    laptop.write(" Version four.").wait_until("saved")
    server.stop()
    shutil.rmtree(server.data)
    server.clew("restore", "--from", str(tmp_path / "kept"), "--keep-logins")
    server.start()
    phone.context.set_offline(False)
    offer = phone.page.get_by_role("group", name="Words that the server does not have")
    expect(offer).to_contain_text("Version three. From the phone.")
    expect(offer).to_contain_text("restored or repaired")
    taken_back = laptop.page.get_by_role("group", name="Words that the server does not have")
    expect(taken_back).to_contain_text("Version three. Version four.")
    for device in (laptop, phone):
        device.wait_until("saved")
        expect(device.editor).to_have_text("Version three.")
    phone.picture("truth-restored-phone-dark")
