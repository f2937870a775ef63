"""How the page looks, against pictures that somebody has looked at.

``CLEW_BASELINES=1 make pytest ARGS=tests/browser/test_pixels.py`` draws them anew: look at each before it is committed.
On failure what was drawn and where it differs are in ``tests/browser/artifacts``. Another Chromium or other fonts draw
otherwise: there is nothing to compare then, and the tests say so.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from kit.catalogue import Catalogue, Language
from kit.devices import ARTIFACTS, Device, Devices, Theme
from kit.pictures import Pictures
from kit.running_server import RunningServer, running_server
from playwright.sync_api import Browser, Page, Route, expect

pytestmark = pytest.mark.browser

BASELINES: Final = Path(__file__).parent / "baselines"
MACHINE: Final = BASELINES / "machine.json"
IS_DRAWN: Final = bool(os.environ.get("CLEW_BASELINES"))
SHARE, WORST = 0.01, 0.25
"""So much of the whole, and of any one tile, may differ."""
HIDDEN: Final = (
    "time, .return > .eyebrow, .caret { visibility: hidden !important; } * { caret-color: transparent !important; }"
    " .person { --tone: #777777 !important; }"
)
"""What is not the same every time: how long ago something was, and the colour that a person's id gives them."""
DRESS: Final = """style => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(style);
  document.adoptedStyleSheets = [sheet];
}"""
"""As the page's own code might: a style element from outside is stopped by the page's policy."""
AGO: Final = re.compile(r"\((?:just now|\d+ \w+ ago)\)|（(?:刚刚|\d+ ?分钟前)）")
"""The same in the middle of a sentence."""
TASK: Final = "Acme 合同 revision"
PROBE: Final = """() => {
  const brush = document.createElement("canvas").getContext("2d");
  return ["system-ui", "DejaVu Serif", "Noto Sans CJK SC", "Noto Serif CJK SC", "sans-serif"].map((font) => {
    brush.font = `40px "${font}"`;
    return Math.round(brush.measureText("Acme 合同 revision 150 k€").width);
  });
}"""
SHOTS: Final[list[tuple[str, str, Theme, Language]]] = [
    ("task", "laptop", "light", "en"),
    ("task", "laptop", "dark", "zh"),
    ("talk", "phone", "light", "en"),
    ("talk", "phone", "dark", "zh"),
    ("ledger", "phone", "light", "zh"),
    ("ledger", "phone", "dark", "en"),
    ("document", "phone", "light", "en"),
    ("document", "phone", "dark", "zh"),
    ("return", "laptop", "light", "zh"),
    ("return", "laptop", "dark", "en"),
    ("return", "phone", "light", "en"),
    ("list", "phone", "dark", "zh"),
]


@pytest.fixture(scope="module")
def pixel_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with one task and nobody else on it."""
    with running_server(tmp_path_factory.mktemp("pixels") / "data") as server:
        yield server


@pytest.fixture(scope="module")
def pictures(chromium: Browser) -> Iterator[Pictures]:
    with Pictures(chromium) as looking:
        yield looking


@pytest.fixture(scope="module")
def scene(chromium: Browser, pixel_server: RunningServer) -> Iterator[dict[str, Device]]:
    """A laptop and a phone on a task in which something of each kind stands."""
    with Devices(chromium, pixel_server, ARTIFACTS) as devices:
        laptop = devices.new().sign_in(pixel_server.link)
        check_machine(laptop, chromium)
        laptop.start_task(TASK).write("Acme pays within 30 days. 逾期须支付利息。")
        laptop.add("Add what must hold", "Never below 150 k€", How_grave="critical")
        laptop.add("Add a decision", "Net 30 days, 自收到发票起算", Topic="payment").add(
            "Ask a question", "谁代表 Acme 签字？"
        )
        laptop.add("Add a next step", "Send the draft to Acme").add("Add a next step", "准备附件")
        laptop.act("准备附件", "Done")
        for words in ("Good morning. 早上好。", "The price is what they will fight over, so keep the cap in."):
            laptop.composer.fill(words)
            laptop.composer.press("Enter")
        phone = devices.new("phone").sign_in(laptop.invite()).open_task(TASK)
        for device in (laptop, phone):
            device.page.route("**/resume?*", tell_no_time)
            device.wait_until("saved")
            expect(device.people).to_contain_text("2 devices")
            expect(device.page.locator(".also")).to_contain_text("Chrome on Linux")
        yield {"laptop": laptop, "phone": phone}
        devices.check()


def tell_no_time(route: Route) -> None:
    """Say "just now" of whatever was."""
    answer = route.fetch()
    route.fulfill(
        response=answer, body=AGO.sub(lambda found: "（刚刚）" if "（" in found[0] else "(just now)", answer.text())
    )


def check_machine(laptop: Device, chromium: Browser) -> None:
    """Skip where letters are drawn otherwise than where the pictures were."""
    here: dict[str, Any] = {"chromium": chromium.version.split(".")[0], "widths": laptop.page.evaluate(PROBE)}
    if IS_DRAWN:
        BASELINES.mkdir(exist_ok=True)
        MACHINE.write_text(json.dumps(here) + "\n")
    there = json.loads(MACHINE.read_text())
    if here != there:
        pytest.skip(f"the pictures were drawn with {there}, and this is {here}")


def prepare(device: Device, what: str, theme: Theme, language: Language) -> None:
    """Bring it on the screen."""
    say, page = Catalogue(language), device.page
    page.emulate_media(color_scheme=theme)
    path = page.evaluate("location.pathname")
    page.evaluate("language => localStorage.setItem('clew.language', language)", language)
    if what in ("return", "list"):
        if path != "/" or page.locator("html").get_attribute("lang") != {"en": "en", "zh": "zh-Hans"}[language]:
            device.open()
        card = page.get_by_role("region", name=say("return.heading", name=TASK))
        expect(card.locator(".paragraph")).to_contain_text("150 k€")
        if what == "list":
            page.get_by_role("heading", name=say("list.title")).evaluate("title => title.scrollIntoView()")
        return
    page.reload()
    device.wait_until("saved")
    expect(device.editor).to_be_attached()
    expect(device.page.locator(".also")).to_contain_text("Chrome on Linux")
    expect(device.talk).to_contain_text(say("talk.no_agent"))
    if device.page.viewport_size != {"width": 1280, "height": 800}:
        expect(device.talk).to_contain_text(say("talk.on_device", device="Chrome on Linux"))
    if what != "task":
        page.locator(f".panel-nav [data-shows={what}]").click()
    page.evaluate("document.activeElement.blur()")


@pytest.mark.parametrize("shot", SHOTS, ids="-".join)
def test_it_looks_as_it_did_when_somebody_looked(
    scene: dict[str, Device], pictures: Pictures, shot: tuple[str, str, Theme, Language]
) -> None:
    what, size, theme, language = shot
    prepare(scene[size], what, theme, language)
    page = scene[size].page
    page.mouse.move(0, 0)
    drawn = draw(page, HIDDEN)
    name = "-".join(shot)
    baseline = BASELINES / f"{name}.png"
    if IS_DRAWN:
        baseline.write_bytes(pictures.shrink(drawn))
    difference = pictures.compare(drawn, baseline.read_bytes())
    if difference.share > SHARE or difference.worst > WORST:
        ARTIFACTS.mkdir(exist_ok=True)
        (ARTIFACTS / f"pixels-{name}-actual.png").write_bytes(drawn)
        (ARTIFACTS / f"pixels-{name}-diff.png").write_bytes(difference.shown)
    assert difference.share <= SHARE, f"{difference.share:.2%} differ: see {ARTIFACTS}"
    assert difference.worst <= WORST, f"{difference.worst:.0%} of one place differ: see {ARTIFACTS}"


def draw(page: Page, style: str) -> bytes:
    """The page as it looks under some more style."""
    page.evaluate(DRESS, style)
    drawn = page.screenshot(animations="disabled", caret="initial")
    page.evaluate(DRESS, "")
    return drawn


def test_a_button_that_is_missing_is_seen(scene: dict[str, Device], pictures: Pictures) -> None:
    page = scene["phone"].page
    whole = draw(page, HIDDEN)
    without = draw(page, HIDDEN + " .new button { visibility: hidden !important; }")
    assert pictures.compare(whole, whole).share == 0
    assert pictures.compare(whole, without).worst > WORST
