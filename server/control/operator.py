"""What an operator can ask of a data folder, by name. The same functions answer over the socket and in a command.

Owns how commands read their arguments and word their answers. Must never check membership: whoever holds the folder
holds everything in it; and must never act on documents but through the parts that a server has for it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol, cast, get_args

from crdt_docs.ids import DocName, TaskId, TokenId, is_id
from crdt_docs.rope import Rope
from server.control.trail import Trail
from server.domain.access import ROLE_NAMES, Principal, Role
from server.domain.audit import Deed
from server.domain.clock import Clock, iso
from server.domain.credential import LINK_LIFE
from server.domain.errors import Invalid, NotFound, Unavailable
from server.domain.language import LANGUAGES, Language
from server.domain.policy import Policy
from server.domain.resumption import Told
from server.domain.task import Status, Task
from server.domain.user import User
from server.doors.links import link_url
from server.store.nouns import Nouns
from server.store.users import OWNER

Arguments = Mapping[str, Any]
FileKind = Literal["md", "docx"]
FORMATS: Final = ("md", "json", "docx", "yjs")
DAY: Final = 86400


class Reads(Protocol):
    """How documents are read."""

    async def raw(self, name: DocName) -> Rope:
        """One v1 update that rebuilds the document."""
        ...

    async def project(self, name: DocName) -> dict[str, Any]:
        """The working set, with its ``seq``."""
        ...

    async def export(self, name: DocName, kind: FileKind, title: str) -> bytes:
        """The working set as a file."""
        ...


class Resumes(Protocol):
    """How it is told where a task stands."""

    async def of(self, task: TaskId, called: str, language: Language, who: Principal | None = None) -> Told:
        """In one paragraph and as facts; without a person nothing is said of changes."""
        ...


class Revokes(Protocol):
    """How bearers are taken back, also from live connections."""

    async def token(self, by: Principal, token: TokenId) -> None:
        """End a bearer."""
        ...

    async def policy(self, by: Principal | None, task: TaskId, policy: Policy) -> None:
        """Ask something else of whoever opens a task."""
        ...


class Mends(Protocol):
    """How a document is repaired."""

    async def __call__(self, name: DocName) -> dict[str, Any]:
        """Begin a clean generation from what can be read, and say what was left out."""
        ...


class BacksUp(Protocol):
    """How the data folder is backed up."""

    async def __call__(self, to: Path) -> dict[str, Any]:
        """Write a backup, and say where and of what."""
        ...


class Operator:
    """Answers commands. Without ``reads``, ``revokes`` and ``mends`` it knows only those that need no document."""

    def __init__(
        self,
        nouns: Nouns,
        clock: Clock,
        url: Callable[[], str],
        reads: Reads | None = None,
        resumes: Resumes | None = None,
        revokes: Revokes | None = None,
        mends: Mends | None = None,
        status: Callable[[], Mapping[str, Any]] | None = None,
        backs_up: BacksUp | None = None,
        more: Mapping[str, Callable[[Arguments], Awaitable[Any]]] | None = None,
    ) -> None:
        self._nouns = nouns
        self._clock = clock
        self._url = url
        self._reads = reads
        self._resumes = resumes
        self._revokes = revokes
        self._mends = mends
        self._status_of = status
        self._backs_up = backs_up
        self._commands: dict[str, Callable[[Arguments], Awaitable[Any]]] = {
            "link": self._link,
            "token.create": self._create_token,
            "token.list": self._list_tokens,
            "token.revoke": self._revoke_token,
            "user.add": self._add_user,
            "user.list": self._list_users,
            "user.plan": self._plan_user,
            "tasks.list": self._list_tasks,
            "tasks.show": self._show_task,
            "tasks.export": self._export_task,
            "tasks.resume": self._resume_task,
            "tasks.unlock": self._unlock_task,
            "sessions.list": self._list_sessions,
            "repair": self._repair,
            "backup": self._backup,
            "status": self._status,
            **Trail(nouns, clock).commands,
            **(more or {}),
        }

    async def answer(self, command: str, arguments: Arguments) -> Any:
        """Do it. Raises ClewError; Invalid for what it does not know."""
        known = self._commands.get(command)
        if known is None:
            raise Invalid(f"There is no command {command}; is the server of another version?")
        return await known(arguments)

    # People and their secrets

    async def _link(self, arguments: Arguments) -> Any:
        user, now = await self._user(arguments, OWNER), self._clock.now()
        secret = await self._nouns.links.issue(user.id, now)
        await self._note("link.made", now, user.id)
        return {"link": link_url(self._url(), secret), "user": user.name, "expires_at": iso(now + LINK_LIFE)}

    async def _create_token(self, arguments: Arguments) -> Any:
        user, now = await self._user(arguments, OWNER), self._clock.now()
        task = await self._task(arguments) if arguments.get("task") else None
        ttl = arguments.get("ttl", 3600)
        if isinstance(ttl, bool) or not isinstance(ttl, int) or not 1 <= ttl <= 366 * DAY:
            raise Invalid("A token lives from one second to a year.")
        agent = None
        if arguments.get("agent"):
            if _role(arguments) < Role.EDITOR:
                raise Invalid("An agent answers in the task, so its role is editor.")
            agent = await self._nouns.agents.ensure(user.id, _text(arguments, "agent"), now)
        token, secret = await self._nouns.tokens.issue(
            user.id,
            role=Role.EDITOR if agent else _role(arguments),
            at=now,
            expires_at=now + ttl,
            task=task.id if task else None,
            agent=agent.id if agent else None,
        )
        await self._note("token.made", now, token.id, user.id)
        return {"id": token.id, "token": secret, "expires_at": iso(token.expires_at)}

    async def _list_tokens(self, arguments: Arguments) -> Any:
        found = await self._nouns.tokens.of_user((await self._user(arguments, OWNER)).id)
        return {
            "tokens": [
                {
                    "id": token.id,
                    "task": token.task,
                    "agent": token.agent_name or None,
                    "role": token.role.name.lower(),
                    "created_at": iso(token.created_at),
                    "expires_at": iso(token.expires_at),
                    "revoked_at": iso(token.revoked_at) if token.revoked_at is not None else None,
                }
                for token in found
            ]
        }

    async def _revoke_token(self, arguments: Arguments) -> Any:
        user = await self._user(arguments, OWNER)
        await _given(self._revokes).token(Principal(user.id, user.name), TokenId(_text(arguments, "id")))
        return {}

    async def _add_user(self, arguments: Arguments) -> Any:
        user = await self._nouns.users.add(_text(arguments, "name"), self._clock.now())
        await self._note("user.added", user.created_at, user.id)
        return _shown_user(user)

    async def _plan_user(self, arguments: Arguments) -> Any:
        user, plan = await self._user(arguments), _text(arguments, "plan")
        if len(plan) > 40:
            raise Invalid("A plan's name has up to 40 characters.")
        await self._nouns.accounts.put(replace(await self._nouns.accounts.get(user.id), plan=plan))
        await self._note("user.planned", self._clock.now(), user.id)
        return {**_shown_user(user), "plan": plan}

    async def _list_users(self, _: Arguments) -> Any:
        found = [(user, await self._nouns.accounts.get(user.id)) for user in await self._nouns.users.all()]
        return {"users": [{**_shown_user(user), "plan": account.plan} for user, account in found]}

    # Tasks and sessions

    async def _list_tasks(self, arguments: Arguments) -> Any:
        status = arguments.get("status")
        if status is not None and status not in get_args(Status):
            raise Invalid(f"A task is {', '.join(get_args(Status))}.")
        if arguments.get("user"):
            user = await self._user(arguments)
            tasks = [task for task, _ in await self._nouns.tasks.of_user(user.id)]
        else:
            tasks = await self._nouns.tasks.every()
        return {"tasks": [_shown_task(task) for task in tasks if status in (None, task.status)]}

    async def _show_task(self, arguments: Arguments) -> Any:
        task = await self._task(arguments)
        return {"task": _shown_task(task), **await _given(self._reads).project(DocName(task.id))}

    async def _export_task(self, arguments: Arguments) -> Any:
        task, kind = await self._task(arguments), arguments.get("format", "md")
        reads, name = _given(self._reads), DocName(task.id)
        if kind == "yjs":
            content = bytes(await reads.raw(name))
        elif kind == "json":
            shown = {"task": _shown_task(task), **await reads.project(name)}
            content = json.dumps(shown, ensure_ascii=False, indent=2).encode()
        elif kind in get_args(FileKind):
            content = await reads.export(name, cast(FileKind, kind), task.name)
        else:
            raise Invalid(f"A task is exported as {', '.join(FORMATS)}.")
        return {"task": _shown_task(task), "content": base64.b64encode(content).decode()}

    async def _resume_task(self, arguments: Arguments) -> Any:
        task = await self._task(arguments)
        language = arguments.get("lang") or "en"
        if language not in LANGUAGES:
            raise Invalid(f"A resumption is told in {', '.join(LANGUAGES)}.")
        told: Told = await _given(self._resumes).of(task.id, task.name, language)
        return {
            "task": _shown_task(task),
            "text": told.resumption.text,
            "facts": asdict(told.resumption.facts),
            "covers_seq": told.covers_seq,
            "checked": told.resumption.checked,
            "narrative": told.narrative,
        }

    async def _unlock_task(self, arguments: Arguments) -> Any:
        task = await self._task(arguments)
        await _given(self._revokes).policy(None, task.id, Policy())
        return {"task": _shown_task(task)}

    async def _list_sessions(self, arguments: Arguments) -> Any:
        if arguments.get("user"):
            found = await self._nouns.sessions.of_user((await self._user(arguments)).id)
        else:
            found = await self._nouns.sessions.every()
        devices = {session.device for session in found if session.device is not None}
        names = await self._nouns.names.of({session.user for session in found}, devices, ())
        return {
            "sessions": [
                {
                    "id": session.id,
                    "user": names.get(session.user),
                    "device": session.device,
                    "device_name": names.get(session.device or ""),
                    "framework": session.framework,
                    "task": session.task,
                    "started_at": iso(session.started_at),
                    "seen_at": iso(session.seen_at),
                    "ended_at": iso(session.ended_at) if session.ended_at is not None else None,
                }
                for session in found
            ]
        }

    async def _repair(self, arguments: Arguments) -> Any:
        part = arguments.get("part", "main")
        if part not in ("main", "margin"):
            raise Invalid("A task's document is main or margin.")
        task, mends = _text(arguments, "task"), _given(self._mends)
        if not is_id(task):  # a damaged folder may know the task no more, but its document all the same
            task = (await self._task(arguments)).id
        told: dict[str, Any] = await mends(DocName(TaskId(task), part))
        await self._note("task.repaired", self._clock.now(), task)
        return told

    async def _backup(self, arguments: Arguments) -> Any:
        to = Path(_text(arguments, "to"))
        if not to.is_absolute():
            raise Invalid("Where a backup goes is a whole path.")
        told: dict[str, Any] = await _given(self._backs_up)(to)
        await self._note("folder.backed_up", self._clock.now())
        return told

    async def _status(self, _: Arguments) -> Any:
        return dict(_given(self._status_of)())

    # How

    async def _user(self, arguments: Arguments, default: str | None = None) -> User:
        """The user of that name; without a name, or by ``default`` where nobody has it, whose server it is."""
        name = arguments.get("user") or default
        if not isinstance(name, str):
            raise Invalid("A user's name is wanted.")
        named = arguments.get("user") is not None
        found = await self._nouns.users.named(name) if named else None
        if found is None and name == OWNER:  # there before anybody came in, and whatever they are called now
            found = await self._nouns.users.ensure_owner(self._clock.now())
        if found is None:
            raise NotFound(f"There is no user {name}; `clew user list` names them.")
        return found

    async def _task(self, arguments: Arguments) -> Task:
        """The task of that id, of an id that begins so, or of that name, if it is the only one."""
        said = _text(arguments, "task")
        found = await self._nouns.tasks.find(said)
        if not found:
            raise NotFound(f"There is no task {said}; `clew tasks list` names them.")
        if len(found) > 1:
            raise Invalid(f"{said} may be {', '.join(f'{task.id} ({task.name})' for task in found[:5])}.")
        return found[0]

    async def _note(self, event: str, at: float, *subjects: str) -> None:
        await self._nouns.audit.append(event, at, by=Deed(), subjects=subjects)


def _given(part: Any) -> Any:
    if part is None:
        raise Unavailable("This needs the documents, which were not opened.")
    return part


def _text(arguments: Arguments, name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{name} is wanted.")
    return value.strip()


def _role(arguments: Arguments) -> Role:
    role = ROLE_NAMES.get(str(arguments.get("role", "editor")))
    if role is None:
        raise Invalid(f"A role is {', '.join(ROLE_NAMES)}.")
    return role


def _shown_user(user: User) -> dict[str, str]:
    return {"id": user.id, "name": user.name, "created_at": iso(user.created_at)}


def _shown_task(task: Task) -> dict[str, str]:
    return {
        "id": task.id,
        "name": task.name,
        "status": task.status,
        "created_at": iso(task.created_at),
        "updated_at": iso(task.updated_at),
    }
