"""A mind that does what the message says, for tests of everything around a mind.

Each line of the messages that it is asked about is one step; other lines are answered ``Heard: line.``:

    count N [every MS]    the numbers up to N, going on after those that ``begun`` has
    repeat N [every MS]   the same, always from 1, as a mind does that starts over
    say TEXT              just that
    decide TEXT | ask TEXT | demand TEXT | next TEXT     a proposal that quotes TEXT
    invent TEXT           a decision whose quote nobody said
    unsure TEXT | name TEXT | narrate TEXT | fall back TEXT
    hold PATH             until somebody makes that file
    block SECONDS         hold the process's loop, as native code does that hangs
    fail                  raise
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from agent.mind import Brief, FellBack, Filed, Kind, Message, Mind, Named, Narrated, Proposal, Said, Thought, Unfiled

KINDS: dict[str, Kind] = {"decide": "decision", "ask": "question", "demand": "constraint", "next": "next_step"}


class ScriptedMind:
    name = "scripted"

    async def think(self, brief: Brief) -> AsyncIterator[Thought]:
        for message in brief.asked:
            for line in message.text.splitlines():
                word, _, rest = line.strip().partition(" ")
                async for thought in _step(word, rest, message, brief):
                    yield thought


async def _step(word: str, rest: str, message: Message, brief: Brief) -> AsyncIterator[Thought]:
    match word:
        case "count" | "repeat":
            total, _, pause = rest.partition(" every ")
            done = len(brief.begun.split()) if word == "count" else 0
            for number in range(done + 1, int(total) + 1):
                yield Said(f"{number} ")
                await anyio.sleep(int(pause or 0) / 1000)
        case "say":
            yield Said(f"{rest} ")
        case "decide" | "ask" | "demand" | "next":
            yield Filed((Proposal(KINDS[word], rest, message.id, rest),))
        case "invent":
            yield Filed((Proposal("decision", rest, message.id, f"not {rest}"),))
        case "unsure":
            yield Unfiled(rest, message.id)
        case "name":
            yield Named(rest)
        case "narrate":
            yield Narrated(rest)
        case "fall":
            yield FellBack(rest)
        case "hold":
            while not Path(rest).exists():  # noqa: ASYNC110, ASYNC240 (another process makes it)
                await anyio.sleep(0.01)
        case "block":
            time.sleep(float(rest))  # noqa: ASYNC251
        case "fail":
            raise RuntimeError("as the script says")
        case _:
            yield Said(f"Heard: {word} {rest}".rstrip() + ".\n")


@asynccontextmanager
async def open_scripted(model: str | None) -> AsyncIterator[Mind]:
    yield ScriptedMind()
