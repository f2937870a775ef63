"""The resumption: what a returning user gets instead of a scroll of yesterday's chat. Rendered from the ledger."""

from __future__ import annotations

from dataclasses import asdict

from crdt_docs.ids import DocName, TaskId
from server.domain.errors import NotFound
from server.domain.resumption import resume
from server.doors.authority import Authority
from server.http.endpoint import Answer, Call, Endpoint, Nothing, Row
from server.http.reader import Reader
from server.http.shapes import Item, TaskAnswer, task_answer
from server.store.tasks import Tasks


class FactsAnswer(Answer):
    """What the text says, as data. ``next_step`` names the question or output that it is about."""

    constraints: list[Item]
    decisions: list[Item]
    questions: list[Item]
    outputs: list[Item]
    pending: list[Item]
    next_step: Item | None
    changes: list[Item]


class ResumptionAnswer(Answer):
    """``checked`` if every one of the facts was found in the text; ``covers_seq`` is how far it has read."""

    task: TaskAnswer
    text: str
    facts: FactsAnswer
    covers_seq: int
    checked: bool


def routes(tasks: Tasks, reader: Reader, authority: Authority) -> list[Row]:
    """The endpoint of the resumption."""

    async def show(call: Call, _: Nothing) -> ResumptionAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        known = await tasks.get(call.principal.user, task)
        if known is None:
            raise NotFound
        ledger = await reader.project(DocName(task))
        resumption = resume(known[0].name, ledger)
        return ResumptionAnswer(
            task=task_answer(known[0], role),
            text=resumption.text,
            facts=FactsAnswer.model_validate(asdict(resumption.facts)),
            covers_seq=ledger["seq"],
            checked=resumption.checked,
        )

    return [
        Endpoint(
            "GET",
            "/tasks/{id}/resume",
            show,
            Nothing,
            ResumptionAnswer,
            "Where the task stands, in words and as facts.",
            errors=("not_found", "unavailable"),
        )
    ]
