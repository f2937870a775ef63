"""Export: a task as a file that lives without this server. Owns its name, which must never be a path or a header."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Final, Literal
from urllib.parse import quote

from starlette.responses import Response, StreamingResponse

from crdt_docs.ids import DocName, TaskId
from crdt_docs.rope import Rope
from server.domain.errors import NotFound
from server.domain.task import Task
from server.doors.authority import Authority, require_resident
from server.http.endpoint import Call, Endpoint, Input, Row
from server.http.reader import Reader
from server.http.shapes import task_answer
from server.store.tasks import Tasks

Format = Literal["yjs", "json", "md", "docx"]
MEDIA: Final[dict[Format, str]] = {
    "yjs": "application/octet-stream",
    "json": "application/json",
    "md": "text/markdown; charset=utf-8",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


SLICE: Final = 64 * 1024
"""Bytes that are handed over at a time."""


class ExportWanted(Input):
    """``yjs`` is one v1 update that rebuilds the document; ``json`` the working set; the others are for people."""

    format: Format = "json"


def routes(tasks: Tasks, reader: Reader, authority: Authority) -> list[Row]:
    """The endpoint of exports."""

    async def export(call: Call, wanted: ExportWanted) -> Response:
        task = TaskId(call.ids["id"])
        role = await authority.role(call.principal, task)
        require_resident(call.principal)
        known = await tasks.get(call.principal.user, task)
        if known is None:
            raise NotFound
        if wanted.format == "yjs":
            return _slowly(await reader.raw(DocName(task)), known[0])
        elif wanted.format == "json":
            about = {"task": task_answer(known[0], role).model_dump()}
            content = json.dumps({**about, **await reader.project(DocName(task))}, ensure_ascii=False).encode()
        else:
            content = await reader.export(DocName(task), wanted.format, known[0].name)
        return _file(content, known[0], wanted.format)

    return [
        Endpoint(
            "GET",
            "/tasks/{id}/export",
            export,
            ExportWanted,
            None,
            "The task as a file.",
            errors=("forbidden", "not_found", "unavailable"),
            media=tuple(kind.partition(";")[0] for kind in MEDIA.values()),
        )
    ]


def _file(content: bytes, task: Task, kind: Format) -> Response:
    return Response(content, media_type=MEDIA[kind], headers={"Content-Disposition": disposition(task.name, kind)})


def _slowly(content: Rope, task: Task) -> Response:
    headers = {"Content-Disposition": disposition(task.name, "yjs"), "Content-Length": str(len(content))}
    return StreamingResponse(_slices(content), media_type=MEDIA["yjs"], headers=headers)


async def _slices(content: Rope) -> AsyncIterator[bytes]:
    """It, letting others run in between; not on a thread, for the document must not grow while it is looked at."""
    for some in content.slices(SLICE):
        yield some
        await asyncio.sleep(0)


def disposition(name: str, extension: str) -> str:
    """A Content-Disposition with the name for people, and a plain one for old clients (RFC 6266)."""
    tidy = re.sub(r'[\x00-\x1f\x7f/\\:*?"<>|]+', " ", name).strip(" .")[:80].strip(" .") or "task"
    plain = re.sub(r"[^A-Za-z0-9 ._-]+", "_", tidy).strip(" .") or "task"
    return f"attachment; filename=\"{plain}.{extension}\"; filename*=UTF-8''{quote(f'{tidy}.{extension}', safe='')}"
