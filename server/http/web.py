"""The web app's built files. Owns which paths are files and which are pages; must never open a path from outside.

The folder is listed once, at the start, and only what was found is served: a name that climbs, hides or does not
exist is simply not in the list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

BUILT: Final = Path(str(files("server"))) / "static"
"""Where the build puts the app, inside the installed package."""
_PAGE: Final = re.compile(r"/(?:(?:t|d|s|h|i|device|settings|devices)(?:/[A-Za-z0-9_-]{1,64})*/?)?")
_HASHED: Final = re.compile(r".*-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
_FOREVER: Final = "public, max-age=31536000, immutable"
MISSING: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Clew</title>
<p>Clew is running, but its web app has not been built: run <code>make web</code>, then start it again.
The API is at <a href="/api/v1/openapi.json">/api/v1</a>.</p></html>
"""


def routes(folder: Path = BUILT) -> list[BaseRoute]:
    """One route for all that is not API, sync or health; it belongs last."""
    app = WebApp(_list(folder))
    return [Route("/{path:path}", app.serve, methods=["GET"])]


def _list(folder: Path) -> dict[str, Path]:
    """Every regular file below the folder by its URL path; links that lead out of it are left out."""
    root = folder.resolve()
    found = (path for path in root.rglob("*") if path.is_file() and path.resolve().is_relative_to(root))
    return {f"/{path.relative_to(root).as_posix()}": path for path in found}


class WebApp:
    """Serves the listed files, and the one page for every address of the app."""

    def __init__(self, listed: Mapping[str, Path]) -> None:
        self._listed = listed

    async def serve(self, request: Request) -> Response:
        """A file, the page, the sentence that stands in for it, or 404."""
        path = request.scope["path"]
        if _PAGE.fullmatch(path):
            page = self._listed.get("/index.html")
            return FileResponse(page) if page else HTMLResponse(MISSING)
        file = self._listed.get(path)
        if file is None:
            return PlainTextResponse("There is no such page.", 404)
        hashed = path.startswith("/assets/") and _HASHED.fullmatch(path)
        return FileResponse(file, headers={"cache-control": _FOREVER} if hashed else None)
