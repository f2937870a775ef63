"""The light and the words, on lines and disks as they are. The numbers are those of what people expect and complain of.

"Saved" is held against the server's own log: what an export holds at the moment at which the page says so.
"""

from __future__ import annotations

import base64
import json
import random
import re
from typing import Any

import pytest
from kit.devices import Device, Devices, Home
from kit.hostile_line import HostileLine, Weather
from kit.running_server import RunningServer
from playwright.sync_api import expect
from pycrdt import Doc, Map

pytestmark = pytest.mark.browser

SEEN = """() => [document.querySelector("[data-light]").dataset.light, document.querySelector(".words").textContent]"""
FORGET = """async () => {
  for (const {name} of await indexedDB.databases()) indexedDB.deleteDatabase(name);
}"""
SPOILT = bytes([255, 255, 255, 1, 2, 3])
SPOIL = """async () => {
  const {name} = (await indexedDB.databases()).find((one) => one.name.startsWith("clew:"));
  const opened = indexedDB.open(name);
  await new Promise((done) => (opened.onsuccess = done));
  const store = opened.result.transaction("updates", "readwrite").objectStore("updates");
  const added = store.add(new Uint8Array([255, 255, 255, 1, 2, 3]));
  await new Promise((done) => (added.onsuccess = done));
  opened.result.close();
}"""


def task_of(device: Device) -> str:
    return device.page.url.rpartition("/")[2]


def logged(device: Device) -> str:
    """The words of all documents of the open task, as the server's log has them now."""
    answer = device.ask("GET", f"/tasks/{task_of(device)}/export?format=yjs")
    doc: Doc[Any] = Doc()
    documents: Map[Any] = doc.get("documents", type=Map)
    doc.apply_update(answer.body())
    return "\n".join(re.sub(r"<[^>]+>", "", str(documents[id]["body"])) for id in documents.keys())


def test_row_2_and_15_saved_is_what_the_log_has_whatever_becomes_of_the_line(
    devices: Devices, link: str, task: str, server: RunningServer
) -> None:
    laptop = devices.new()
    line = HostileLine(laptop)
    laptop.sign_in(link).start_task(task).wait_until("saved")
    draw = random.Random(7)
    weathers: list[Weather] = ["fair", "late", "dumb", "deaf", "dead"]
    laptop.write("start")
    told = 0
    for at, weather in enumerate([*weathers, *draw.sample(weathers, 3)]):
        if line.now == "fair":
            line.turn(weather)
        laptop.page.keyboard.type(f" w{at}")
        for pause in (0, 200, 600):
            laptop.page.wait_for_timeout(pause)
            light, words = laptop.page.evaluate(SEEN)
            if light == "saved":
                told += 1
                assert words in logged(laptop), (at, weather, pause)
        if line.now == "late":
            line.turn("fair")
        elif line.now != "fair":
            opened = line.opened
            if draw.random() < 0.6:
                line.cut()
            line.wait_for_another(opened)  # what is cut or dead is followed by another socket, by the page itself
        laptop.wait_until("saved")
        _, words = laptop.page.evaluate(SEEN)
        assert words in logged(laptop), (at, weather)
        told += 1
    assert told > 3
    assert "start w0 w1 w2 w3 w4 w5 w6 w7" in logged(laptop)


def test_16_a_socket_that_died_without_a_word_is_given_up_within_seconds_and_nothing_is_lost(
    devices: Devices, link: str, task: str, server: RunningServer
) -> None:
    laptop = devices.new()
    line = HostileLine(laptop)
    laptop.sign_in(link).start_task(task)
    laptop.write("before. ").wait_until("saved")
    line.turn("dead")
    laptop.page.keyboard.type("meanwhile.")
    laptop.wait_until("saving")
    opened = line.opened
    laptop.page.wait_for_timeout(3_000)
    light, _ = laptop.page.evaluate(SEEN)
    assert light != "saved"
    laptop.wait_until("saved", within=20)  # the provider itself would give it up after 30 s
    assert line.opened == opened + 1
    assert "before. meanwhile." in logged(laptop)


def test_5_and_16_an_idle_page_keeps_its_socket_and_one_that_died_in_its_sleep_is_replaced_on_waking(
    devices: Devices, link: str, task: str
) -> None:
    laptop = devices.new()
    line = HostileLine(laptop)
    laptop.page.clock.install()
    laptop.sign_in(link).start_task(task)
    laptop.write("before.").wait_until("saved")
    line.cut()  # as a restart of the server does
    for _ in range(8):
        laptop.page.clock.run_for(500)
    laptop.wait_until("saved")
    opened = line.opened
    for _ in range(100):  # 100 s by the page's clock, in steps in which no question can seem to wait for too long
        laptop.page.clock.run_for(1_000)
        laptop.page.evaluate("fetch('/readyz').then(answer => answer.text())")  # what the server has to say is heard
    assert line.opened == opened
    laptop.wait_until("saved")

    laptop.page.clock.pause_at(laptop.page.evaluate("Date.now()") / 1000 + 1)  # from here on it is we who tell the time
    line.turn("dead")
    laptop.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    laptop.page.clock.run_for(1_000)
    assert line.opened == opened
    laptop.page.clock.run_for(600)
    laptop.page.clock.resume()
    line.wait_for_another(opened)
    assert line.opened == opened + 1
    laptop.write(" And after.")
    laptop.page.clock.run_for(300)
    laptop.wait_until("saved")


def test_row_4_a_cut_of_a_moment_shows_no_banner_and_is_mended_at_once(devices: Devices, link: str, task: str) -> None:
    laptop = devices.new()
    line = HostileLine(laptop)
    laptop.sign_in(link).start_task(task).wait_until("saved")
    laptop.page.evaluate(
        """() => {
          window.banners = 0;
          new MutationObserver(() => (window.banners += document.querySelectorAll(".notice").length)).observe(
            document.body, {subtree: true, childList: true});
        }"""
    )
    for opened in range(1, 4):
        line.cut()
        line.wait_for_another(opened)
        laptop.wait_until("saved")
    assert laptop.page.evaluate("window.banners") == 0


def test_1_and_3_a_fresh_task_opened_by_two_at_once_and_reloaded_has_its_template_once(home: Home) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.open().page.get_by_label("New task").fill("A fresh one")
    laptop.page.get_by_role("button", name="Start").click()
    laptop.page.wait_for_url("**/t/*")
    phone.open(f"/t/{task_of(laptop)}").show("Document")
    laptop.show("Document").editor.click()
    laptop.page.keyboard.type("## A heading at the end")
    laptop.wait_until("saved")
    for _ in range(3):
        for device in (laptop, phone):
            device.page.reload()
        for device in (laptop, phone):
            device.show("Document").wait_until("saved")
    for device in (laptop, phone):
        expect(device.page.get_by_role("navigation", name="Documents").get_by_role("button")).to_have_count(2)
        expect(device.editor.locator("> *")).to_have_count(1)
        expect(device.editor.get_by_role("heading")).to_have_text("A heading at the end")


def test_7_and_8_site_data_cleared_in_mid_sentence_stops_nothing_and_loses_nothing(
    home: Home, operator: Device
) -> None:
    laptop, phone = home.laptop, home.phone
    laptop.write(" One half")
    laptop.page.evaluate(FORGET)
    laptop.page.keyboard.type(" and the other.")
    expect(phone.editor).to_contain_text("One half and the other.")
    laptop.wait_until("saved")
    laptop.page.keyboard.type(" And more.")
    laptop.wait_until("saved").page.reload()
    expect(laptop.page.get_by_text("This browser is not signed in")).to_be_visible()  # its key went with the rest
    laptop.page.goto(operator.invite().replace("localhost", "127.0.0.1"))
    expect(laptop.editor).to_contain_text("One half and the other. And more.")


def test_10_a_record_that_cannot_be_read_keeps_no_task_from_opening(home: Home) -> None:
    laptop = home.laptop
    laptop.write(" Kept.").wait_until("saved")
    laptop.page.evaluate(SPOIL)
    laptop.page.reload()
    expect(laptop.editor).to_contain_text("Kept.")
    laptop.wait_until("saved").write(" Still writing.").wait_until("saved")
    expect(home.phone.editor).to_contain_text("Kept. Still writing.")
    notice = laptop.page.get_by_role("group", name="A part of this device’s copy cannot be read")
    laptop.picture("must-broken-copy")
    with laptop.page.expect_download() as download:
        notice.get_by_role("button", name="Download what is kept here").click()
    kept = json.loads(download.value.path().read_text())["records"]
    assert SPOILT in [base64.b64decode(one) for one in kept] and len(kept) > 1
    notice.get_by_role("button", name="Let it go").click()
    expect(notice).to_have_count(0)
    laptop.page.reload()
    expect(laptop.editor).to_contain_text("Kept. Still writing.")
    expect(notice).to_have_count(0)


FULL = """() => {
  IDBObjectStore.prototype.add = function () {
    throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
  };
}"""


def test_33_a_full_disk_is_told_and_online_editing_goes_on(home: Home) -> None:
    laptop = home.laptop
    laptop.page.evaluate(FULL)
    laptop.write(" On a full disk.").wait_until("saved")
    expect(laptop.page.locator(".also", has_text="keeps no copy")).to_be_visible()
    laptop.page.keyboard.type(" And on.")
    expect(home.phone.editor).to_contain_text("On a full disk. And on.")
    laptop.wait_until("saved").page.reload()
    expect(laptop.editor).to_contain_text("On a full disk. And on.")


def test_row_5_and_30_two_tabs_are_one_person_on_one_device_and_hear_each_other_without_a_server(
    home: Home, shared_server: RunningServer
) -> None:
    laptop = home.laptop
    tab = Device(laptop.context, laptop.context.new_page(), shared_server, laptop.picture("must-tabs").parent)
    tab.open(f"/t/{task_of(laptop)}").show("Document").wait_until("saved")
    for device in (laptop, tab, home.phone):
        expect(device.people).to_have_count(1)
        expect(device.people).to_contain_text("2 devices")  # laptop and phone
    tab.write(" From the tab.")
    expect(laptop.editor).to_contain_text("From the tab.")
    laptop.wait_until("saved")
    laptop.context.set_offline(True)
    laptop.wait_until("offline").write(" One offline.")
    expect(tab.editor).to_contain_text("One offline.")
    tab.wait_until("offline").write(" And the other.")
    for one in (laptop, tab):
        expect(one.editor).to_contain_text("From the tab. One offline. And the other.")
        expect(one.light).to_contain_text("Offline: kept on this device")
        expect(one.people).to_have_count(1)
    laptop.context.set_offline(False)
    for one in (laptop, tab, home.phone):
        one.wait_until("saved")
        expect(one.editor).to_contain_text("From the tab. One offline. And the other.")
    assert logged(laptop).count("One offline.") == 1
    tab.page.close()


def test_12_13_and_14_who_is_not_signed_in_any_more_knocks_no_more_than_three_times(
    devices: Devices, link: str, task: str
) -> None:
    laptop = devices.new()
    line = HostileLine(laptop)
    laptop.sign_in(link).start_task(task)
    laptop.write("before").wait_until("saved")
    asked: list[str] = []
    laptop.page.on("request", lambda request: asked.append(request.url) if "/tickets" in request.url else None)
    laptop.context.clear_cookies()
    line.cut()
    expect(laptop.page.get_by_role("alert")).to_contain_text("clew link")
    laptop.page.wait_for_timeout(4_000)
    assert len(asked) <= 3, asked
    assert line.opened == 1
    laptop.write(" and after")
    expect(laptop.editor).to_contain_text("before and after")
    assert laptop.page.evaluate(SEEN)[0] != "saved"


@pytest.mark.own_server
def test_2_4_and_6_after_kill_9_with_two_devices_open_all_is_there_once_and_everybody_by_name(
    laptop: Device, phone: Device, server: RunningServer
) -> None:
    laptop.write("said once. ").wait_until("saved")
    expect(phone.editor).to_contain_text("said once.")
    server.kill()
    for device in (laptop, phone):
        device.wait_until("offline")
    server.start()
    for device in (laptop, phone):
        device.wait_until("saved")
        expect(device.people).to_contain_text("2 devices")  # nobody has typed since
        expect(device.editor.locator("p")).to_have_text(["said once. "])
    assert logged(laptop) == "said once. "
