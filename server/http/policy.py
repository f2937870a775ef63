"""A task's policy: what it asks of whoever opens it. Its owners change it; all who are on the task may read it."""

from __future__ import annotations

from pydantic import Field

from crdt_docs.ids import TaskId
from server.domain.access import Principal, Role
from server.domain.clock import Clock
from server.domain.errors import Conflict
from server.domain.policy import Confirm, Deny, DeviceRule, Place, Policy, Reason, Resume, judge
from server.doors.authority import Authority
from server.doors.revocation import Revocation
from server.http.endpoint import Answer, Call, Endpoint, Input, Nothing, Row
from server.store.policies import Policies

LOCKOUT = "lockout"
_SELF = {
    "policy_device": "This device does not meet that rule itself: you would be out of this task here, at once.",
    "policy_confirm": "You have not confirmed on this device that it is you: you would be out of this task, at once.",
}


class PolicyAnswer(Answer):
    """Who may pick the task up, on what device, and what they must have shown on it not long ago."""

    resume: Resume
    device: DeviceRule
    confirm: Confirm


class PolicyGiven(Input):
    """A whole policy. Who would lock themselves out by it is refused, unless they say that they know."""

    resume: Resume
    device: DeviceRule
    confirm: Confirm
    confirm_lockout: bool = Field(False, description="I know that this closes the task to the device I ask from.")


def routes(policies: Policies, authority: Authority, revocation: Revocation, clock: Clock) -> list[Row]:
    """The endpoints of policies."""

    async def show(call: Call, _: Nothing) -> PolicyAnswer:
        task = TaskId(call.ids["id"])
        await authority.role(call.principal, task)
        return _answer(await policies.of(task))

    async def change(call: Call, given: PolicyGiven) -> PolicyAnswer:
        task, who = TaskId(call.ids["id"]), call.principal
        await authority.require(who, task, Role.OWNER)
        policy = Policy(given.resume, given.device, given.confirm)
        out = _locks_out(who, policy, clock.now())
        if out is not None and not given.confirm_lockout:
            raise Conflict(_SELF[out], LOCKOUT)
        await revocation.policy(who, task, policy)
        return _answer(policy)

    return [
        Endpoint(
            "GET",
            "/tasks/{id}/policy",
            show,
            Nothing,
            PolicyAnswer,
            "What the task asks of whoever opens it.",
            errors=("forbidden", "not_found"),
        ),
        Endpoint(
            "PUT",
            "/tasks/{id}/policy",
            change,
            PolicyGiven,
            PolicyAnswer,
            "Ask something else of whoever opens the task; who does not meet it is out at once.",
            errors=("forbidden", "not_found", "conflict"),
        ),
    ]


def _locks_out(who: Principal, policy: Policy, now: float) -> Reason | None:
    """Which rule of the policy its own maker would not meet, as they ask."""
    verdict = judge(who, Place(Role.OWNER, policy), now)
    return verdict.reason if isinstance(verdict, Deny) else None


def _answer(policy: Policy) -> PolicyAnswer:
    return PolicyAnswer(resume=policy.resume, device=policy.device, confirm=policy.confirm)
