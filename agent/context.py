"""What a mind gets to know for a turn, out of what the working set says.

Owns the order of messages, which of them are asked, and the language of the answer. Pure. Must never take a message
for asked because it stands in the document: what is asked, the server says.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from agent.mind import Brief, Language, Message
from crdt_docs.contents import Contents, message_order

MAX_LOOKED_AT: Final = 4000
"""Characters of a message that are looked at for its language."""

UNNAMED: Final = ("", "Untitled task")
"""What a task is called until somebody names it. An agent's own name for it is not thought over at every turn."""


def build_brief(
    contents: Contents,
    asked: Collection[str],
    *,
    answer: str,
    now: int,
    begun: str = "",
    named: bool = False,
    language: Language | None = None,
    user: str | None = None,
) -> Brief:
    """A brief about the messages ``asked``, as far as they stand in the document.

    ``answer`` is the entry that is being written: with ``begun`` it is an earlier attempt's and no message; without,
    what stands there was said in an earlier round of this turn, and is the last thing ``before``. ``language`` decides
    where the messages don't. ``user`` wrote the messages, whatever they say of themselves.
    """
    messages = [_message(item) for item in contents.messages]
    questions = tuple(replace(message, author=user or message.author) for message in messages if message.id in asked)
    last = max((message_order(message.id) for message in questions), default=None)
    before = [
        message
        for message in messages
        if message.id not in asked and message.id != answer and (last is None or message_order(message.id) < last)
    ]
    so_far = [] if begun else [message for message in messages if message.id == answer and message.text]
    return Brief(
        task_name=contents.meta["name"],
        language=language_of("\n".join(message.text for message in questions)) or language or "en",
        asked=questions,
        before=(*before, *so_far),
        contents=contents,
        now=now,
        needs_name=not named and contents.meta["name"] in UNNAMED,
        begun=begun,
        follows=bool(so_far),
    )


def missing(contents: Contents, asked: Collection[str]) -> set[str]:
    """Those of the messages that don't stand in the document (yet, or any more)."""
    return set(asked) - {item["id"] for item in contents.messages}


def language_of(text: str) -> Language | None:
    """The language to answer in, by script: Chinese where Han characters outnumber Latin words; None without letters.

    A Chinese sentence full of English terms is Chinese, an English one that names a street in Beijing is not. Kana or
    Hangul make it neither, and English is what is left.
    """
    han = words = 0
    in_word = False
    for character in text[:MAX_LOOKED_AT]:
        if not character.isalpha():
            in_word = in_word and character in "'’-"
            continue
        script = unicodedata.name(character, "").partition(" ")[0]
        if script in ("HIRAGANA", "KATAKANA", "HANGUL"):
            return "en"
        if script == "CJK":
            han += 1
            in_word = False
        else:
            words += not in_word
            in_word = True
    if not han and not words:
        return None
    return "zh" if han > words else "en"


def milliseconds(moment: Any) -> int | None:
    """A moment as ``contents`` gives it, in milliseconds since the epoch; None if it is none."""
    if not isinstance(moment, str):
        return None
    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _message(item: dict[str, Any]) -> Message:
    at = milliseconds(item["at"]) or 0
    return Message(item["id"], item["author"] or "", item["role"], item["text"], at)
