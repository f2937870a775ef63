"""The resumption: what a returning user gets instead of a scroll of yesterday's chat. Rendered from the ledger."""

from __future__ import annotations

import json
from typing import Any

from crdt_docs.ids import TaskId
from server.domain.clock import iso
from server.domain.errors import NotFound
from server.domain.language import Language
from server.doors.authority import Authority
from server.http.endpoint import Answer, Call, Endpoint, Input, Row
from server.http.resumptions import Resumptions
from server.http.shapes import Item, TaskAnswer, task_answer
from server.store.accounts import Accounts
from server.store.places import Places
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


class PlaceAnswer(Answer):
    """Where the user was last in the task: ``where`` as their page noted it, on the device of that name."""

    where: dict[str, Any]
    device: str | None
    at: str


class ResumptionAnswer(Answer):
    """``checked`` if every fact that the text owes was found in it; ``covers_seq`` is how far it has read.

    ``looked_at`` is when the user had last seen the task, null if never: then nothing is told of changes.
    ``narrative`` is what an agent wrote about where the task stands, if it is true to the facts. ``last_edit`` is what
    a person wrote in last, by the log's word, ``place`` where the user themselves were; null where nobody knows.
    """

    task: TaskAnswer
    text: str
    facts: FactsAnswer
    covers_seq: int
    checked: bool
    looked_at: str | None
    narrative: str | None
    last_edit: Item | None
    place: PlaceAnswer | None


def routes(
    tasks: Tasks, places: Places, accounts: Accounts, resumptions: Resumptions, authority: Authority
) -> list[Row]:
    """The endpoint of the resumption."""

    async def show(call: Call, asked: ResumptionAsked) -> ResumptionAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        known = await tasks.get(call.principal.user, task)
        if known is None:
            raise NotFound
        account = await accounts.get(call.principal.user)
        language = account.speaks(asked.lang, call.request.headers.get("accept-language"))
        told = await resumptions.of(task, known[0].name, language, call.principal)
        facts, place = told.resumption.facts, await places.get(call.principal.user, task)
        return ResumptionAnswer(
            task=task_answer(known[0], role),
            text=told.resumption.text,
            facts=FactsAnswer.model_validate({field: getattr(facts, field) for field in FactsAnswer.model_fields}),
            covers_seq=told.covers_seq,
            checked=told.resumption.checked,
            looked_at=iso(told.looked_at) if told.looked_at is not None else None,
            narrative=told.narrative,
            last_edit=Item.model_validate(told.last_edit) if told.last_edit is not None else None,
            place=PlaceAnswer(where=json.loads(place.where), device=place.device, at=iso(place.at)) if place else None,
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
