"""Tasks: list, create, read, patch, delete. SQL has their name and status; the document only shows them (I7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from crdt_docs.ids import DocName, TaskId, new_id
from crdt_docs.schema import seed
from crdt_docs.updates.compose import Composer
from server.domain.access import Role
from server.domain.clock import Clock
from server.domain.errors import ClewError, Forbidden, NotFound
from server.domain.policy import Allow, Deny
from server.domain.task import NamedBy, Status
from server.doors.authority import Authority, require_account
from server.doors.revocation import Revocation
from server.http.documents import Documents
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.http.reader import Reader
from server.http.shapes import Name, Page, TaskAnswer, task_answer
from server.rooms.looking import Looking
from server.store.tasks import Tasks

UNNAMED = "Untitled task"


class TaskNew(Input):
    """A task to begin. Without a name it is called "Untitled task" until somebody names it."""

    name: Name = UNNAMED
    goal: Annotated[str, StringConstraints(max_length=10_000)] = ""


class TaskChange(Input):
    """What to change of a task; at least one of the two."""

    name: Name | None = None
    status: Status | None = None

    @model_validator(mode="after")
    def _something(self) -> TaskChange:
        if self.name is None and self.status is None:
            raise ValueError("give a name, a status, or both")
        return self


class TaskFilter(Page):
    """Which tasks to list; all of them without a status."""

    status: Status | None = Field(None, description="Only tasks of this status.")


class TaskList(Answer):
    """Tasks, the one that last changed first. ``withheld``: how many more there are that open elsewhere only.

    Their rules are not met by whoever asks as they come, so not even their names are told.
    """

    tasks: list[TaskAnswer]
    withheld: int


def routes(
    tasks: Tasks,
    authority: Authority,
    documents: Documents,
    reader: Reader,
    looking: Looking,
    revocation: Revocation,
    clock: Clock,
) -> list[Row]:
    """The endpoints of tasks."""

    async def list_(call: Call, asked: TaskFilter) -> TaskList:
        who = call.principal
        if who.task is None:
            found = await tasks.of_user(who.user, [asked.status] if asked.status else None, asked.limit)
        else:
            only = await tasks.get(who.user, who.task)
            found = [only] if only is not None and asked.status in (None, only[0].status) else []
        await authority.learn(who.user, [task.id for task, _ in found])
        verdicts = [(task, await authority.judge(who, task.id)) for task, _ in found]
        shown = [task_answer(task, verdict.role) for task, verdict in verdicts if isinstance(verdict, Allow)]
        elsewhere = [one for _, one in verdicts if isinstance(one, Deny) and one.reason != "delegation_over"]
        return TaskList(tasks=shown, withheld=len(elsewhere))

    async def create(call: Call, new: TaskNew) -> TaskAnswer:
        who = call.principal
        require_account(who)
        if who.cap < Role.EDITOR:
            raise Forbidden
        named_by: NamedBy = "user" if "name" in new.model_fields_set else "none"
        task = await tasks.create(who.user, new.name, clock.now(), named_by=named_by)
        document = new_id()

        def plant(composer: Composer) -> None:
            seed(composer, name=new.name, goal=new.goal, document=document)

        try:
            await documents.compose(DocName(task.id), who, plant, fresh=True)
        except ClewError:
            await tasks.delete(who.user, task.id)  # a task without its document would never get one
            raise
        await looking.spoke(who, task.id)
        return task_answer(task, min(Role.OWNER, who.cap))

    async def show(call: Call, _: Nothing) -> TaskAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        found = await tasks.get(call.principal.user, task)
        if found is None:
            raise NotFound
        return task_answer(found[0], role)

    async def change(call: Call, change: TaskChange) -> TaskAnswer:
        task = TaskId(call.ids["id"])
        role = await authority.require(call.principal, task, Role.EDITOR)
        before = await tasks.get(call.principal.user, task)
        changed = await tasks.patch(call.principal.user, task, clock.now(), name=change.name, status=change.status)
        if before is None or changed is None:
            raise NotFound
        try:
            await documents.compose(DocName(task), call.principal, _display(change.name, change.status))
        except ClewError:
            await tasks.restore(changed[0], before[0])  # who is told that it failed is not to see it done
            raise
        return task_answer(changed[0], role)

    async def delete(call: Call, _: Nothing) -> None:
        task = TaskId(call.ids["id"])
        await authority.require(call.principal, task, Role.OWNER)
        await revocation.task(call.principal, task)
        reader.forget(DocName(task))

    return [
        Endpoint("GET", "/tasks", list_, TaskFilter, TaskList, "The tasks that you are on.", door="member"),
        Endpoint(
            "POST",
            "/tasks",
            create,
            TaskNew,
            TaskAnswer,
            "Begin a task.",
            201,
            ("forbidden", "too_large", "unavailable"),
        ),
        Endpoint("GET", "/tasks/{id}", show, Nothing, TaskAnswer, "One task.", errors=("not_found",), door="member"),
        Endpoint(
            "PATCH",
            "/tasks/{id}",
            change,
            TaskChange,
            TaskAnswer,
            "Rename a task, or change its status.",
            errors=("forbidden", "not_found", "too_large", "unavailable"),
        ),
        Endpoint(
            "DELETE",
            "/tasks/{id}",
            delete,
            Nothing,
            None,
            "Delete a task with its documents, for everyone.",
            errors=("forbidden", "not_found", "unavailable"),
        ),
    ]


def _display(name: str | None, status: Status | None) -> Callable[[Composer], None]:
    """Show in the document what SQL says."""

    def show(composer: Composer) -> None:
        if name is not None:
            composer.set("meta", "name", name)
        if status is not None:
            composer.set("meta", "status", status)

    return show
