"""The switch by which people turn agents off in a task: off until an owner allows them again."""

from __future__ import annotations

from typing import Literal, Protocol

from crdt_docs.ids import TaskId
from server.domain.access import Principal, Role
from server.domain.clock import Clock
from server.doors.authority import Authority, require_resident
from server.doors.revocation import deed
from server.http.endpoint import Answer, Call, Endpoint, Nothing, Row
from server.store.audit import Audit


class Switch(Protocol):
    """Turns agents off and on."""

    async def agents_allowed(self, task: TaskId) -> bool:
        """Whether agents have a way into the task."""
        ...

    async def stop_agents(self, task: TaskId) -> int:
        """Once this returns, nothing more of any agent is admitted there; how many turns it stopped."""
        ...

    async def allow_agents(self, task: TaskId) -> None:
        """From the next message on."""
        ...


class AgentsAnswer(Answer):
    """Whether agents may answer in the task, and how many turns were stopped just now."""

    agents: Literal["allowed", "stopped"]
    turns: int = 0


def routes(switch: Switch, audit: Audit, authority: Authority, clock: Clock) -> list[Row]:
    """The endpoints of the switch."""

    async def show(call: Call, _: Nothing) -> AgentsAnswer:
        task = TaskId(call.ids["id"])
        await authority.role(call.principal, task)
        return AgentsAnswer(agents="allowed" if await switch.agents_allowed(task) else "stopped")

    async def stop(call: Call, _: Nothing) -> AgentsAnswer:
        task = TaskId(call.ids["id"])
        await authority.require(call.principal, task, Role.EDITOR)
        require_resident(call.principal)  # it lasts until an owner says otherwise: nothing for a guest
        turns = await switch.stop_agents(task)
        await _note("agents.stopped", call.principal, task)
        return AgentsAnswer(agents="stopped", turns=turns)

    async def allow(call: Call, _: Nothing) -> AgentsAnswer:
        task = TaskId(call.ids["id"])
        await authority.require(call.principal, task, Role.OWNER)
        await switch.allow_agents(task)
        await _note("agents.allowed", call.principal, task)
        return AgentsAnswer(agents="allowed")

    async def _note(event: str, who: Principal, task: TaskId) -> None:
        await audit.append(event, clock.now(), by=deed(who), task=task)

    return [
        Endpoint(
            "GET", "/tasks/{id}/agents", show, Nothing, AgentsAnswer, "Whether agents may.", errors=("not_found",)
        ),
        Endpoint(
            "POST",
            "/tasks/{id}/agents/stop",
            stop,
            Nothing,
            AgentsAnswer,
            "Stop every agent in the task, at once and until an owner allows them again.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "POST",
            "/tasks/{id}/agents/allow",
            allow,
            Nothing,
            AgentsAnswer,
            "Let agents answer again, from the next message on.",
            errors=("forbidden", "not_found"),
        ),
    ]
