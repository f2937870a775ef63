"""The resumption: what a returning user gets instead of a scroll of yesterday's chat. Rendered from the ledger."""

from __future__ import annotations

from crdt_docs.ids import TaskId
from server.domain.clock import iso
from server.domain.errors import NotFound
from server.domain.language import Language, preferred
from server.doors.authority import Authority
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.http.resumptions import Resumptions
from server.http.shapes import Item, TaskAnswer, task_answer
from server.store.tasks import Tasks


class ResumptionAsked(Input):
    """In which language; else the best of ``Accept-Language``."""

    lang: Language | None = None


class FactsAnswer(Answer):
    """What the text says, as data, and all of what it only counts.

    ``by``, ``device`` and ``agent`` of an entry are the log's word, not the document's. In ``not_filed`` the status is
    ``not_filed`` for what an agent could not file, ``not_answered`` for the beginning of a message that none answered.
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
    """``checked`` if every fact that the text owes was found in it; ``covers_seq`` is how far it has read.

    ``looked_at`` is when the user had last seen the task, null if never: then nothing is told of changes.
    ``narrative`` is what an agent wrote about where the task stands, if it is true to the facts.
    """

    task: TaskAnswer
    text: str
    facts: FactsAnswer
    covers_seq: int
    checked: bool
    looked_at: str | None
    narrative: str | None


def routes(tasks: Tasks, resumptions: Resumptions, authority: Authority) -> list[Row]:
    """The endpoint of the resumption."""

    async def show(call: Call, asked: ResumptionAsked) -> ResumptionAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        known = await tasks.get(call.principal.user, task)
        if known is None:
            raise NotFound
        language = asked.lang or preferred(call.request.headers.get("accept-language"))
        told = await resumptions.of(task, known[0].name, language, call.principal)
        facts = told.resumption.facts
        return ResumptionAnswer(
            task=task_answer(known[0], role),
            text=told.resumption.text,
            facts=FactsAnswer.model_validate({field: getattr(facts, field) for field in FactsAnswer.model_fields}),
            covers_seq=told.covers_seq,
            checked=told.resumption.checked,
            looked_at=iso(told.looked_at) if told.looked_at is not None else None,
            narrative=told.narrative,
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
