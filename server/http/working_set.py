"""The working set as data: what stands in a task's document. Read by the engine, in a process that may crash."""

from __future__ import annotations

from pydantic import ConfigDict

from crdt_docs.ids import DocName, TaskId
from server.doors.authority import Authority
from server.http.endpoint import Answer, Call, Endpoint, Nothing, Row
from server.http.reader import Reader
from server.http.shapes import Item


class DocumentAnswer(Answer):
    """A document of the working set."""

    id: str
    title: str
    markdown: str


class RetiredDocument(Answer):
    """A document that somebody took away; it can be put back."""

    id: str
    title: str
    status: str


class WorkingSet(Answer):
    """The document at ``seq``. There may be more in it than is named here."""

    model_config = ConfigDict(frozen=True, extra="allow")

    seq: int
    documents: list[DocumentAnswer]
    retired_documents: list[RetiredDocument]
    constraints: list[Item]
    decisions: list[Item]
    questions: list[Item]
    outputs: list[Item]
    messages: list[Item]


def routes(reader: Reader, authority: Authority) -> list[Row]:
    """The endpoint of the working set."""

    async def show(call: Call, _: Nothing) -> WorkingSet:
        task = TaskId(call.ids["id"])
        await authority.role(call.principal, task)
        return WorkingSet.model_validate(await reader.project(DocName(task)))

    return [
        Endpoint(
            "GET",
            "/tasks/{id}/working-set",
            show,
            Nothing,
            WorkingSet,
            "What stands in the task.",
            errors=("not_found", "unavailable"),
            door="member",
        )
    ]
