"""A laptop that hands a task over, and the phone that takes it. Owns the steps as a page does them, and no assertion
but that the honest ones go well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from joserfc.jwk import ECKey
from kit.app_under_test import HOST, ORIGIN, Answered, AppUnderTest, Browser
from kit.keyed import proof

from crdt_docs.ids import UserId
from server.http.endpoint import PREFIX

ANDROID = "Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0 Mobile Safari/537.36"


@dataclass
class Offer:
    """What a laptop shows. ``shown`` is what a phone presents of it."""

    id: str
    shown: dict[str, str]
    answer: dict[str, Any]

    @property
    def secret(self) -> str:
        """The secret of the QR code, or the code that is typed."""
        return self.shown.get("secret") or self.shown["code"]


@dataclass
class Phone:
    """A browser that nobody knows; with ``key`` it proves that it holds one. ``place`` is its address."""

    app: AppUnderTest
    key: ECKey | None = None
    place: str = "127.0.0.1"
    claim: str = ""

    async def post(self, path: str, body: dict[str, Any]) -> Answered:
        """One request, with a proof if it has a key."""
        extra: dict[str, str | None] = {"user_agent": ANDROID}
        if self.key is not None:
            now, nonce = self.app.clock.now(), self.app.doors.proofs.nonces.issue()
            extra["dpop"] = proof(self.key, "POST", f"http://{HOST}{PREFIX}{path}", now, nonce)
        return await Browser(self.app.app, {"origin": ORIGIN}, address=self.place).post(path, body, **extra)

    async def redeem(self, offer: Offer) -> Answered:
        """Present what was read off."""
        answer = await self.post("/handoffs/redeem", offer.shown)
        if answer.status == 202:
            self.claim = answer.json["claim"]
        return answer

    async def collect(self, offer: Offer) -> Answered:
        """Ask whether it may come in."""
        return await self.post("/handoffs/collect", {"id": offer.id, "claim": self.claim})

    def signed_in(self, answer: Answered) -> Browser:
        """The phone with the cookie that it was given."""
        cookie = answer.headers["set-cookie"].partition(";")[0]
        who, device = answer.json["user"]["id"], answer.json["device"]["id"]
        return Browser(self.app.app, {"origin": ORIGIN, "cookie": cookie}, UserId(who), device)


async def offer(laptop: Browser, task: str, **more: object) -> Offer:
    """Offer the task."""
    made = await laptop.post("/handoffs", {"task": task, **more})
    assert made.status == 201, made.body
    answer: dict[str, Any] = made.json
    if answer["url"] is None:
        return Offer(answer["id"], {"code": answer["code"]}, answer)
    id, _, secret = answer["url"].partition("#")[2].partition(".")
    return Offer(answer["id"], {"id": id, "secret": secret}, answer)


async def approve(laptop: Browser, offer: Offer, number: int, session: str | None = None) -> Answered:
    """Pick a number."""
    return await laptop.post(f"/handoffs/{offer.id}/approve", {"number": number, "session": session})


async def hand_over(app: AppUnderTest, laptop: Browser, task: str, **more: object) -> tuple[Browser, Offer]:
    """All of it, as it goes well; the phone, which has no key."""
    phone, made = Phone(app), await offer(laptop, task, **more)
    number = (await phone.redeem(made)).json["number"]
    assert (await approve(laptop, made, number)).status == 200
    collected = await phone.collect(made)
    assert collected.status == 201, collected.body
    return phone.signed_in(collected), made
