"""What a task asks of whoever opens it, apart from how they signed in. Owns the rules and their words; pure.

Must never be asked before it is known that somebody is on the task: a refusal says that there is one. It names no more
than the rule that was not met, and never the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from server.domain.access import Principal, Proven, Role
from server.domain.device import Level
from server.domain.errors import Forbidden
from server.domain.login import Login

Resume = Literal["owner", "members"]
"""Who may pick the task up: its owners alone, or everybody on it."""
DeviceRule = Literal["any", "registered", "bound"]
"""On what: any device; one with a key of its own; one whose browser binds it to the machine's key store."""
Confirm = Literal["none", "number-match", "passkey"]
"""What they must have shown on this device not long ago: nothing; a passkey, or a number match that goes back to one; a
passkey."""
Reason = Literal["policy_resume", "policy_device", "policy_confirm", "delegation_over"]
"""Which rule was not met. Programs read it; so does the page when a socket closes with it."""

CONFIRM_LIFE: Final = 12 * 3600.0
"""Seconds that a confirmation counts: a working day, so that nobody is asked at every reconnect."""

WHYS: Final[dict[Reason, str]] = {
    "policy_resume": "Only this task's owners may open it.",
    "policy_device": "This task opens on devices that prove who they are; this one does not, or not enough.",
    "policy_confirm": "This task asks you to confirm that it is you before you open it on this device.",
    "delegation_over": "Your time on this task is over.",
}
_LEVEL: Final[dict[DeviceRule, Level]] = {"any": Level.NONE, "registered": Level.SOFTWARE, "bound": Level.HARDWARE}


@dataclass(frozen=True, slots=True)
class Policy:
    """A task's rules. The default is what a task has until an owner says otherwise."""

    resume: Resume = "members"
    device: DeviceRule = "any"
    confirm: Confirm = "none"


@dataclass(frozen=True, slots=True)
class Place:
    """A person's place on a task, with the rules that hold there.

    ``until`` (Unix seconds) ends it. ``keyed`` if they came by a link that is for devices with a key.
    """

    role: Role
    policy: Policy = Policy()
    until: float | None = None
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class Allow:
    """They may, as this; ``until`` (Unix seconds) says for how long, if it is known."""

    role: Role
    until: float | None


@dataclass(frozen=True, slots=True)
class Deny:
    """They may not, and this is why."""

    reason: Reason


Verdict: TypeAlias = Allow | Deny


class Denied(Forbidden):
    """A rule of the task was not met. What it says names the rule, and nothing of the task."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(WHYS[reason], reason)


def judge(who: Principal, place: Place, now: float) -> Verdict:
    """Whether somebody on the task may open it as they come. ``now`` is in Unix seconds.

    The server's own agent runs where the server does: it has no device to prove, and nobody to ask. Any other agent
    stands on the machine of whoever runs it, which is held to the rules as a device is.
    """
    if place.until is not None and now >= place.until:
        return Deny("delegation_over")
    policy = place.policy
    if policy.resume == "owner" and place.role < Role.OWNER:
        return Deny("policy_resume")
    if not who.housed:
        least = max(_LEVEL[policy.device], Level.SOFTWARE if place.keyed else Level.NONE)
        if who.level < least:
            return Deny("policy_device")
        if not _confirmed(who, policy.confirm, now):
            return Deny("policy_confirm")
    return Allow(min(place.role, who.cap), place.until)


def _confirmed(who: Principal, rule: Confirm, now: float) -> bool:
    if rule == "none":
        return True
    held = confirmation(who, now)
    return held is not None and (rule == "number-match" or held.by == "passkey")


def confirmation(who: Principal | Login, now: float) -> Proven | None:
    """What they have shown that still counts; None for nothing."""
    if who.proven_at is None or who.proven_by is None or now - who.proven_at >= CONFIRM_LIFE:
        return None
    return Proven(who.proven_by, who.proven_at)


def pass_on(who: Principal | Login, now: float) -> Proven | None:
    """What a number match is worth that they answer: the confirmation that they hold, as old as it is there.

    So every one goes back to a passkey, and a device that has proven nothing makes no other that has.
    """
    held = confirmation(who, now)
    return Proven("number-match", held.at) if held is not None else None
