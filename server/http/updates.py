"""Updates: what somebody wrote while nobody heard them, brought by a request. It is no look at the task."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Base64Bytes, Field

from crdt_docs.ids import DocName, TaskId
from server.domain.access import Role
from server.doors.authority import Authority
from server.http.documents import Documents
from server.http.endpoint import Answer, Call, Endpoint, Input, Row

LONGEST: Final = 700_000
"""Bytes of an update; base64 makes nearly a megabyte of them, which is what a JSON body may have."""


class UpdateNew(Input):
    """A Yjs update (v1) in base64, and of which generation the copy is that it was made from (a ticket says)."""

    update: Annotated[Base64Bytes, Field(min_length=1, max_length=LONGEST)]
    generation: int


class UpdateAnswer(Answer):
    """The document's seq that holds it durably."""

    seq: int


def routes(documents: Documents, authority: Authority) -> list[Row]:
    """The endpoint of updates."""

    async def deliver(call: Call, new: UpdateNew) -> UpdateAnswer:
        who, task = call.principal, TaskId(call.ids["id"])
        await authority.require(who, task, Role.EDITOR)
        return UpdateAnswer(seq=await documents.deliver(DocName(task), who, new.update, new.generation))

    return [
        Endpoint(
            "POST",
            "/tasks/{id}/updates",
            deliver,
            UpdateNew,
            UpdateAnswer,
            "Bring what was written without a connection; whole or not at all.",
            201,
            ("forbidden", "not_found", "conflict", "too_large", "unavailable"),
        )
    ]
