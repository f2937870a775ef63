"""Names of things, as types that cannot be mixed up. Owns how ids are made; must never read them for meaning."""

from __future__ import annotations

import secrets
import sys
import uuid
from typing import Literal, NamedTuple, NewType

UserId = NewType("UserId", str)
DeviceId = NewType("DeviceId", str)
SessionId = NewType("SessionId", str)
TaskId = NewType("TaskId", str)
TokenId = NewType("TokenId", str)
AgentId = NewType("AgentId", str)
AttachmentId = NewType("AttachmentId", str)
TurnId = NewType("TurnId", str)
MessageId = NewType("MessageId", str)
"""A key under the root ``messages``: a UUIDv7, as honest clients make them; whatever a client wrote, as others do."""

ClientId = NewType("ClientId", int)
"""A Yjs client id: which replica made a struct. At most 2**53 - 1, so that JavaScript can hold it."""
Clock = NewType("Clock", int)
"""The number of UTF-16 units (or other countable content) that a client made before this struct."""
Seq = NewType("Seq", int)
"""A document's position in the log: gapless per document, starts at 1, only grows (I2)."""

MAX_CLIENT_ID = 2**53 - 1

Part = Literal["main", "margin"]


class DocName(NamedTuple):
    """Which document: a task's working set (``main``) or its comments and suggestions (``margin``)."""

    task: TaskId
    part: Part = "main"

    def __str__(self) -> str:
        return self.task if self.part == "main" else f"{self.task}/{self.part}"


def parse_doc_name(text: str) -> DocName | None:
    """Read ``{task_id}`` or ``{task_id}/margin``; None if it is neither, so that ids never become paths."""
    task, slash, part = text.partition("/")
    if not is_id(task) or (slash and part != "margin"):
        return None
    return DocName(TaskId(sys.intern(task)), "margin" if slash else "main")  # each who comes in brings the same again


def is_id(text: str) -> bool:
    """Whether the text is a UUID in its canonical, lower-case form."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


def new_id() -> str:
    """A UUIDv4: 122 random bits, so that possession of a neighbour's id tells nothing (RFC 9562 section 5.4)."""
    return str(uuid.uuid4())


def new_ordered_id(now_ms: int) -> str:
    """A UUIDv7 for entries that sort by time of making, such as messages (RFC 9562 section 5.7)."""
    value = (now_ms & (2**48 - 1)) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=value))


def new_client_id() -> ClientId:
    """A random 32-bit Yjs client id, as Yjs itself draws them."""
    return ClientId(secrets.randbits(32))
