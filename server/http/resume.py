"""The resumption: what a returning user gets instead of a scroll of yesterday's chat. Rendered from the ledger."""

from __future__ import annotations

from dataclasses import asdict

from crdt_docs.ids import DocName, TaskId
from server.domain.errors import NotFound
from server.domain.language import Language, preferred
from server.domain.resumption import resume
from server.doors.authority import Authority
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.http.reader import Reader
from server.http.shapes import Item, TaskAnswer, task_answer
from server.store.tasks import Tasks


class ResumptionAsked(Input):
    """In which language; else the best of ``Accept-Language``."""

    lang: Language | None = None


class FactsAnswer(Answer):
    """What the text says, as data, and all of what it only counts.

    ``next_step`` is the latest of the open ``next_steps``, or else the question or output that comes next.
    """

    constraints: list[Item]
    decisions: list[Item]
    questions: list[Item]
    outputs: list[Item]
    pending: list[Item]
    next_steps: list[Item]
    next_step: Item | None
    changes: list[Item]
    not_filed: list[Item]


class ResumptionAnswer(Answer):
    """``checked`` if every one of the facts was found in the text; ``covers_seq`` is how far it has read."""

    task: TaskAnswer
    text: str
    facts: FactsAnswer
    covers_seq: int
    checked: bool


def routes(tasks: Tasks, reader: Reader, authority: Authority) -> list[Row]:
    """The endpoint of the resumption."""

    async def show(call: Call, asked: ResumptionAsked) -> ResumptionAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        known = await tasks.get(call.principal.user, task)
        if known is None:
            raise NotFound
        ledger = await reader.project(DocName(task))
        language = asked.lang or preferred(call.request.headers.get("accept-language"))
        resumption = resume(known[0].name, ledger, language)
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
            ResumptionAsked,
            ResumptionAnswer,
            "Where the task stands, in words and as facts.",
            errors=("not_found", "unavailable"),
            door="member",
        )
    ]
