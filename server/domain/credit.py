"""Whose the entries of a ledger are, as the log has it. Owns that nobody is named on the word of a document.

An agent's entry that quotes a message is whoever's wrote the message; must never credit words to who did not say them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

from crdt_docs.ids import AgentId, DeviceId, UserId
from server.domain.facts import Facts, Item
from server.domain.log import Actor
from server.domain.quoting import one_line

Place: TypeAlias = tuple[str, ...]
"""A root and an entry's id, and for an answer its own id."""
KINDS: Final = ("constraints", "decisions", "questions", "outputs")


class Credit(NamedTuple):
    """Whose an entry is; ``agent`` wrote it down for them."""

    user: UserId
    device: DeviceId | None
    agent: AgentId | None


def credit(ledger: Mapping[str, Any], authors: Mapping[Place, Actor]) -> dict[Place, Credit]:
    """Whose each entry is of which the log knows who made it."""
    said = {message["id"]: message["text"] for message in ledger.get("messages", [])}
    found: dict[Place, Credit] = {}
    for kind in KINDS:
        for item in ledger.get(kind, []):
            for place, one in ((kind, item["id"]), item), *_answers(kind, item):
                actor = authors.get(place)
                if actor is not None:
                    speaker = authors.get(("messages", str(one.get("source"))))
                    quotes = speaker is not None and not speaker.agent and _quotes(one, said)
                    user = speaker.user if actor.agent and quotes and speaker else actor.user
                    found[place] = Credit(user, actor.device, actor.agent)
    return found


def sign(facts: Facts, credits: Mapping[Place, Credit] | None, names: Mapping[str, str]) -> Facts:
    """The facts with ``by``, ``device`` and ``agent`` as the log has them: names, None where it does not know.

    What is older than the log's knowledge keeps its own ``by``; without ``credits`` nothing has one.
    """

    def signed(item: Item, place: Place) -> Item:
        one = None if credits is None else credits.get(place)
        if one is None:
            return {**item, "by": item.get("by") if credits is not None else None, "device": None, "agent": None}
        device = names.get(one.device) if one.device else None
        agent = names.get(one.agent, "?") if one.agent else None
        return {**item, "by": names.get(one.user), "device": device, "agent": agent}

    def every(kind: str) -> list[Item]:
        found = []
        for item in getattr(facts, kind):
            answers = [signed(answer, place) for place, answer in _answers(kind, item)]
            found.append({**signed(item, (kind, item["id"])), **({"answers": answers} if answers else {})})
        return found

    kinds: dict[str, Any] = {kind: every(kind) for kind in KINDS}
    return replace(facts, **kinds)


def _answers(kind: str, item: Item) -> list[tuple[Place, Item]]:
    return [((kind, item["id"], answer["id"]), answer) for answer in item.get("answers") or ()]


def _quotes(item: Item, said: Mapping[str, str]) -> bool:
    """Whether the words are in the message that an entry says they come from."""
    return one_line(item["text"]).casefold() in one_line(said.get(str(item.get("source")), "")).casefold()
