"""How long a letter takes from a key on one screen to another screen: ``python -m bench.keystroke [--letters 100]``.

A real server (fsync before anybody sees it), two browsers, one in a phone's size. Measured from the key's event on the
laptop to the next frame on the phone after its editor shows the letter. Needs what ``make pytest`` sets up.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from kit.devices import FLAGS, Device, Devices
from kit.editors import CHROMIUM
from kit.running_server import running_server
from playwright.sync_api import sync_playwright

WANTED = 100.0
"""Milliseconds, median."""
PRESSED = """() => {
  window.pressed = [];
  addEventListener("keydown", () => window.pressed.push(performance.timeOrigin + performance.now()), {capture: true});
}"""
SHOWN = """() => {
  window.shown = [];
  const words = document.querySelector(".words");
  let letters = words.textContent.replaceAll("\\u2060", "").length;
  new MutationObserver(() => {
    const now = words.textContent.replaceAll("\\u2060", "").length;
    const fresh = now - letters;
    letters = now;
    if (fresh > 0) requestAnimationFrame(() => {
      for (let at = 0; at < fresh; at += 1) window.shown.push(performance.timeOrigin + performance.now());
    });
  }).observe(words, {subtree: true, childList: true, characterData: true});
}"""


def measure(laptop: Device, phone: Device, letters: int) -> list[float]:
    """Milliseconds for each letter."""
    laptop.write("start ").wait_until("saved")
    phone.page.wait_for_function("() => document.querySelector('.words').textContent.includes('start')")
    laptop.page.evaluate(PRESSED)
    phone.page.evaluate(SHOWN)
    for _ in range(letters):
        laptop.page.keyboard.press("x")
        laptop.page.wait_for_timeout(60)
    phone.page.wait_for_function("letters => window.shown.length >= letters", arg=letters, timeout=30_000)
    pressed: list[float] = laptop.page.evaluate("window.pressed")
    shown: list[float] = phone.page.evaluate("window.shown")
    return [after - before for before, after in zip(pressed, shown, strict=True)]


def main() -> int:
    """Print median and tail; 1 if the median is not under what is wanted."""
    parser = argparse.ArgumentParser(prog="bench.keystroke")
    parser.add_argument("--letters", type=int, default=100)
    letters: int = parser.parse_args().letters
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder) / "data") as server,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with Devices(browser, server, Path(folder)) as devices:
            laptop = devices.new().sign_in(server.link).start_task("Keystroke")
            phone = devices.new("phone").sign_in(laptop.invite()).open_task("Keystroke")
            delays = measure(laptop, phone, letters)
        browser.close()
    marks = statistics.quantiles(delays, n=20)
    median = statistics.median(delays)
    tail = f"95 % {marks[18]:.0f} ms, most {max(delays):.0f} ms"
    print(f"key to the other screen, {letters} letters: median {median:.0f} ms, {tail}")
    return int(median >= WANTED)


if __name__ == "__main__":
    sys.exit(main())
