"""The walk of somebody who has never seen Clew, in English and in Chinese, with the built-in agent and no model.

With ``CLEW_TOUR=1`` each step is also drawn: ``CLEW_TOUR=1 make pytest ARGS=tests/browser/test_tour.py`` writes the
pictures in ``docs/tour/`` and ``docs/tour.md`` around them. Look at all of them before they are committed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, get_args

import pytest
from kit.axe import complaints
from kit.catalogue import Catalogue, Language
from kit.devices import ARTIFACTS, Device, Devices, Kind
from kit.pictures import Pictures
from kit.running_server import RunningServer, running_server
from playwright.sync_api import Browser, Locator, expect

pytestmark = pytest.mark.browser

DOCS: Final = Path(__file__).parents[2] / "docs"
PICTURES: Final = DOCS / "tour"
IS_DRAWN: Final = bool(os.environ.get("CLEW_TOUR"))
HEAVIEST: Final = 60_000
"""Bytes of a picture."""

STEPS: Final[dict[str, tuple[str, str]]] = {
    "1-signed-in": (
        "A one-time link signs the browser in. There is nothing yet but a field to name what you are working on.",
        "一次性链接让浏览器登录。这里还什么都没有，只有一个输入框，用来写下您在做什么。",
    ),
    "2-new-task": (
        "A task has three parts: what is said, what is written, and where it stands.",
        "任务有三个部分：说过的话、写下的文字，以及当前状况。",
    ),
    "3-written": (
        "You write; the light says “Saved” once the words are on the server's disk.",
        "您写文档；文字存到服务器磁盘上之后，指示灯才显示“已保存”。",
    ),
    "4-decided": (
        "You say what must hold, what is decided and what is open; the agent files it, in your words.",
        "您说出必须满足什么、决定了什么、还有什么没定；智能体用您的原话归档。",
    ),
    "5-asked": (
        "Ask the agent, and it answers from what is filed.",
        "向智能体提问，它根据已归档的内容回答。",
    ),
    "6-phone": (
        "On the phone the same task is offered at once, with one paragraph of where it stands.",
        "打开手机，马上就能看到同一个任务，并用一段话说明当前状况。",
    ),
    "7-answered": (
        "The question that was open is answered on the phone; the laptop shows it in the same moment.",
        "在手机上回答那个待答的问题；笔记本上同时显示出来。",
    ),
    "8-offline": (
        "Without a network you go on writing. The light does not say “Saved”, but where the words are kept.",
        "没有网络也能继续写。指示灯不会说“已保存”，而是说明文字保存在哪里。",
    ),
    "9-together": (
        "When the network is back, both devices have all of it.",
        "网络恢复后，两台设备上的内容完全一致。",
    ),
    "10-tomorrow": (
        "The next session begins where the last one ended, and tells what came since you last looked: here, a message "
        "sent over the API while no page was open, and what the agent made of it.",
        "下一次打开时，从上次结束的地方开始，并说明自您上次查看以来的变更："
        "这里是在没有打开页面时通过 API 发来的一条消息，以及智能体对它的归档。",
    ),
}

SAID: Final[dict[Language, dict[str, str]]] = {
    "en": {
        "user": "owner",
        "task": "Acme contract revision",
        "heading": "Clause 4: payment",
        "text": "Acme pays each invoice within 30 days. Late payment bears interest.",
        "said": "The price must not exceed 150 k€. We decided to pay within 30 days. Who signs for Acme?",
        "must": "150 k€",
        "decided": "30 days",
        "question": "Who signs for Acme?",
        "ask": "What did we decide about payment?",
        "answer": "Jane Miller, their CFO",
        "offline": " Written on the train.",
        "later": "The legal team must approve the draft before Acme sees it.",
    },
    "zh": {
        "user": "小雨",
        "task": "Acme 合同修订",
        "heading": "第四条　付款",
        "text": "Acme 应在收到发票后 30 天内付款，逾期须支付利息。",
        "said": "总价不能超过15万欧元。我们决定付款周期为30天。谁代表 Acme 签字？",
        "must": "15万欧元",
        "decided": "30天",
        "question": "谁代表 Acme 签字？",
        "ask": "付款周期我们之前怎么定的？",
        "answer": "王总",
        "offline": "这句写于高铁上。",
        "later": "草案必须先经法务审核。",
    },
}


CLIPPED = """() => [...document.querySelectorAll("body *")].filter((one) => {
  const style = getComputedStyle(one);
  const cuts = ["hidden", "clip"].includes(style.overflowX) && style.textOverflow !== "ellipsis";
  return cuts && !one.closest(".unseen") && one.clientWidth > 0 && one.scrollWidth > one.clientWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""
"""What is cut off at its right edge."""


@pytest.fixture(scope="module")
def tour_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server with its agent, for two people who do not know each other."""
    with running_server(tmp_path_factory.mktemp("tour") / "data", agent=True) as server:
        server.clew("user", "add", SAID["zh"]["user"])
        yield server


class Walk:
    """One person with a laptop and a phone; each ``step`` is held to what every screen owes."""

    def __init__(self, devices: Devices, pictures: Pictures, language: Language) -> None:
        self.say = Catalogue(language)
        self.words = SAID[language]
        self.language = language
        self._locale = {"en": "en", "zh": "zh-CN"}[language]
        self._devices = devices
        self._pictures = pictures

    def sign_in(self, link: str, kind: Kind = "laptop") -> Device:
        """A new browser, by a link."""
        device = self._devices.new(kind, locale=self._locale)
        device.page.goto(link.replace("localhost", "127.0.0.1"))
        expect(device.page.get_by_role("heading", name=self.say("list.title"))).to_be_visible()
        return device

    def step(self, device: Device, name: str) -> None:
        """Nothing is wrong with this screen; draw it."""
        assert complaints(device.page) == [], name
        assert device.overflow() == 0, name
        assert device.page.evaluate(CLIPPED) == [], name
        if IS_DRAWN:
            drawn = self._pictures.shrink(device.page.screenshot(animations="disabled", caret="initial"))
            assert len(drawn) <= HEAVIEST, (name, len(drawn))
            PICTURES.mkdir(exist_ok=True)
            (PICTURES / f"{name}.{self.language}.png").write_bytes(drawn)

    def show(self, device: Device, panel: str) -> None:
        """Bring a part of the task into view on a phone."""
        device.page.get_by_role("button", name=self.say(f"panel.{panel}"), exact=True).first.click()

    def send(self, device: Device, words: str) -> None:
        """Say something, by the field and its button."""
        device.page.get_by_label(self.say("talk.field")).fill(words)
        device.talk.get_by_role("button", name=self.say("talk.send")).click()

    def section(self, device: Device, name: str) -> Locator:
        """A part of the ledger."""
        heading = device.page.get_by_role("heading", name=self.say(f"ledger.{name}"), exact=True)
        return device.ledger.locator("section").filter(has=heading)

    def card(self, device: Device) -> Locator:
        """What a returning person is shown."""
        return device.page.get_by_role("region", name=self.say("return.heading", name=self.words["task"]))


def begin(walk: Walk, laptop: Device) -> None:
    """A task, and words in its document."""
    page, say, words = laptop.page, walk.say, walk.words
    walk.step(laptop, "1-signed-in")
    page.get_by_label(say("list.new")).fill(words["task"])
    page.get_by_role("button", name=say("list.start")).click()
    expect(laptop.editor).to_be_visible()
    laptop.wait_until("saved")
    walk.step(laptop, "2-new-task")
    laptop.editor.click()
    page.keyboard.type("## " + words["heading"])
    page.keyboard.press("Enter")
    page.keyboard.type(words["text"])
    laptop.wait_until("saved")
    walk.step(laptop, "3-written")


def decide_and_ask(walk: Walk, laptop: Device) -> None:
    """What is said is filed by the agent, and what is filed it answers from."""
    words, answers = walk.words, laptop.talk.locator(".message.agent")
    walk.send(laptop, words["said"])
    expect(answers.locator(".refs").first).to_contain_text(words["must"], timeout=40_000)
    for section, text in (("constraints", "must"), ("decisions", "decided"), ("questions", "question")):
        expect(walk.section(laptop, section)).to_contain_text(words[text])
    expect(laptop.page.locator(".people .person").filter(has_text="Clew")).to_contain_text(walk.say("people.ai"))
    expect(laptop.talk.locator(".agent-state")).to_have_count(0)
    laptop.wait_until("saved")
    walk.step(laptop, "4-decided")
    walk.send(laptop, words["ask"])
    expect(answers).to_have_count(2, timeout=40_000)
    expect(answers.last.locator(".said")).to_contain_text(words["decided"])
    expect(laptop.talk.locator(".agent-state")).to_have_count(0)
    laptop.wait_until("saved")
    walk.step(laptop, "5-asked")


def go_on_by_phone(walk: Walk, laptop: Device, phone: Device) -> None:
    """The phone is offered the task, answers what was open, and writes without a network."""
    say, words = walk.say, walk.words
    card = walk.card(phone)
    for text in ("must", "decided", "question"):
        expect(card.locator(".paragraph")).to_contain_text(words[text])
    walk.step(phone, "6-phone")
    card.get_by_role("link", name=say("return.continue")).click()
    walk.show(phone, "ledger")
    entry = walk.section(phone, "questions").locator("[data-entry]").filter(has_text=words["question"])
    entry.locator(".entry-text").click()
    entry.get_by_role("button", name=say("ledger.answer"), exact=True).click()
    field = phone.ledger.get_by_label(say("ledger.answer"), exact=True)
    field.fill(words["answer"])
    field.press("Enter")
    expect(walk.section(laptop, "questions")).to_contain_text(words["answer"])
    phone.wait_until("saved")
    walk.step(phone, "7-answered")

    walk.show(phone, "document")
    expect(phone.editor).to_contain_text(words["text"])
    phone.context.set_offline(True)
    phone.wait_until("offline")
    phone.write(words["offline"])
    expect(phone.light).to_contain_text(say("light.offline_kept"))
    expect(phone.page.locator(".notice")).to_contain_text(say("away.kept"))
    walk.step(phone, "8-offline")
    phone.context.set_offline(False)
    phone.wait_until("saved")
    expect(laptop.editor).to_contain_text(words["offline"].strip())
    here = laptop.page.locator(".people .person").filter(has_not_text="Clew")  # who may still be there for a moment
    expect(here).to_contain_text(say("people.devices", n=2))
    laptop.page.locator("body").click(position={"x": 2, "y": 400})
    walk.step(laptop, "9-together")


def is_filed(device: Device, task: str, text: str) -> bool:
    """Whether what was said is a constraint now."""
    constraints = device.ask("GET", f"/tasks/{task}/working-set").json()["constraints"]
    return any(one["text"] and one["text"] in text for one in constraints)


def come_back(walk: Walk, laptop: Device, phone: Device, server: RunningServer) -> None:
    """All is closed, something is said over the API, and another session of the laptop is offered the task."""
    words = walk.words
    task = laptop.page.url.rpartition("/")[2]
    laptop.page.close()
    phone.open()
    assert phone.ask("POST", f"/tasks/{task}/messages", {"text": words["later"]}).status == 201
    until = time.monotonic() + 40
    while not is_filed(phone, task, words["later"]):
        assert time.monotonic() < until, "the agent did not file it"
        phone.page.wait_for_timeout(300)
    phone.context.close()
    later = Device(laptop.context, laptop.context.new_page(), server, ARTIFACTS).open()
    card = walk.card(later)
    for text in ("must", "decided", "answer"):
        expect(card).to_contain_text(words[text])
    expect(card.locator(".changes")).to_contain_text(words["later"].rstrip(".。"))
    walk.step(later, "10-tomorrow")
    card.get_by_role("link", name=walk.say("return.continue")).click()
    expect(later.editor).to_contain_text(words["offline"].strip())


@pytest.mark.parametrize("language", get_args(Language))
def test_a_stranger_signs_in_writes_decides_asks_goes_on_by_phone_and_comes_back(
    chromium: Browser, tour_server: RunningServer, language: Language
) -> None:
    user = SAID[language]["user"]
    with Devices(chromium, tour_server, ARTIFACTS) as devices, Pictures(chromium) as pictures:
        walk = Walk(devices, pictures, language)
        laptop = walk.sign_in(tour_server.new_link(user))
        begin(walk, laptop)
        decide_and_ask(walk, laptop)
        phone = walk.sign_in(laptop.invite(), "phone")
        go_on_by_phone(walk, laptop, phone)
        come_back(walk, laptop, phone, tour_server)
        devices.check()


def test_the_tour_in_the_docs_shows_every_step_in_both_languages() -> None:
    if IS_DRAWN:
        (DOCS / "tour.md").write_text(page_of_the_tour())
    assert (DOCS / "tour.md").read_text() == page_of_the_tour()
    drawn = {path.name: path.stat().st_size for path in PICTURES.glob("*.png")}
    assert set(drawn) == {f"{step}.{language}.png" for step in STEPS for language in get_args(Language)}
    assert max(drawn.values()) <= HEAVIEST and sum(drawn.values()) < 1_500_000


def page_of_the_tour() -> str:
    """``docs/tour.md``."""
    parts = [
        "# A walk through Clew · 导览\n\nDrawn by `tests/browser/test_tour.py`, which walks it in both languages.\n"
    ]
    for step, (english, chinese) in STEPS.items():
        number, name = step.split("-", 1)
        parts.append(
            f"\n## {number}. {name.replace('-', ' ').capitalize()}\n\n{english}\n\n![{english}](tour/{step}.en.png)\n\n"
            f"{chinese}\n\n![{chinese}](tour/{step}.zh.png)\n"
        )
    return "".join(parts)
