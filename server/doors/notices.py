"""What a person is told on their other devices, at once: that a device joined, that one waits to be let in.

Owns what is told and to whom. A notice is no permission and no proof: whoever acts on one asks the server. Must never
carry a secret, a task's name or words; nor reach a bearer, which is nobody's screen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from crdt_docs.ids import DeviceId, UserId, new_id
from crdt_docs.messages import Notice
from crdt_docs.messages.ywebsocket import encode
from server.domain.access import LoginId, Principal

Kind = Literal["device-joined", "handoff-claimed"]
About = Mapping[str, object]


class Notifies(Protocol):
    """Who has the sockets."""

    def notify(self, matches: Callable[[Principal], bool], frame: bytes) -> None:
        """Say it to whom it matches."""
        ...


class Notices:
    """Tells people. What nobody hears, because no page of theirs is open, is told to nobody later."""

    def __init__(self, sockets: Notifies) -> None:
        self._sockets = sockets

    def tell(self, user: UserId, kind: Kind, about: About, except_device: DeviceId | None = None) -> None:
        """Tell all browsers of a person, but the one that it is about."""
        self._say(lambda who: who.user == user and who.device != except_device, kind, about)

    def tell_login(self, login: LoginId, kind: Kind, about: About) -> None:
        """Tell one browser."""
        self._say(lambda who: who.login == login, kind, about)

    def _say(self, matches: Callable[[Principal], bool], kind: Kind, about: About) -> None:
        frame = encode(Notice(json.dumps({"kind": kind, "id": new_id(), **about}, separators=(",", ":"))))
        self._sockets.notify(lambda who: who.login is not None and matches(who), frame)
