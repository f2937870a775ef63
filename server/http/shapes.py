"""The shapes that more than one noun takes or gives. Owns how names, times and roles are written on the wire."""

from __future__ import annotations

import unicodedata
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from server.domain.access import ROLE_NAMES, Role
from server.domain.clock import iso
from server.domain.task import MAX_NAME, NamedBy, Status, Task
from server.http.endpoint import Answer, Input

RoleName = Literal["viewer", "commenter", "editor", "owner"]
_HIDDEN = frozenset(map(chr, [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]))
"""Characters that turn the direction of what follows them, in a list of names as in a file's name."""


def _visible(text: str) -> str:
    if any(unicodedata.category(char) == "Cc" or char in _HIDDEN for char in text):
        raise ValueError("control characters have no place here")
    return unicodedata.normalize("NFC", text)


Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_NAME), AfterValidator(_visible)
]
"""What people call something: one line of 1 to 200 characters."""
Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$")]
Limit = Annotated[int, Field(ge=1, le=500)]


class Page(Input):
    """How much of a list to give."""

    limit: Limit = 200


class TaskAnswer(Answer):
    """A task as one of its members sees it. ``role`` is what whoever asks may do with it.

    ``named_by`` is ``agent`` while a name that an agent proposed stands, and ``none`` before there is any.
    """

    id: str
    name: str
    named_by: NamedBy
    status: Status
    role: RoleName
    created_at: str
    updated_at: str


class Item(Answer):
    """An entry of the working set. What else it carries depends on its kind."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    text: str
    status: str


def task_answer(task: Task, role: Role) -> TaskAnswer:
    """The task on the wire."""
    return TaskAnswer(
        id=task.id,
        name=task.name,
        named_by=task.named_by,
        status=task.status,
        role=role_name(role),
        created_at=iso(task.created_at),
        updated_at=iso(task.updated_at),
    )


def role_name(role: Role) -> RoleName:
    """The role on the wire."""
    names: dict[Role, RoleName] = {
        Role.VIEWER: "viewer", Role.COMMENTER: "commenter", Role.EDITOR: "editor", Role.OWNER: "owner"
    }  # fmt: skip
    return names[role]


def read_role(name: RoleName) -> Role:
    """The role that was meant."""
    return ROLE_NAMES[name]
