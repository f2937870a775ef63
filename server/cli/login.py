"""``clew login`` and ``clew logout``: a bearer from a server that is reached by its URL, by a person's word (RFC 8628).

The bearer is kept in a file of the person's own; it is printed only when it is asked for, and never before.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from server.cli.asking import print_json
from server.cli.credentials import Credential, credentials_file, find, forget, keep, server_of
from server.cli.flags import Commands, command, with_json
from server.cli.table import plain
from server.cli.token import read_span
from server.domain.access import ROLE_NAMES
from server.domain.clock import SystemClock, iso
from server.domain.errors import Forbidden, Invalid, Unavailable

if TYPE_CHECKING:
    import httpx2

API: Final = "/api/v1"
GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"
PATIENCE: Final = 15.0
SLOWER: Final = 5.0


def add(commands: Commands) -> None:
    """Their flags."""
    login = command(commands, "login", "get a bearer from a server, by your word in a browser")
    login.add_argument("--role", choices=tuple(ROLE_NAMES), default="editor", help="what to ask for (default editor)")
    login.add_argument("--ttl", default="30d", metavar="TIME", help="for how long: 15m, 1h, 30d (default 30d)")
    login.add_argument("--agent", metavar="NAME", help="for `clew agent`: let an agent of that name answer you")
    login.add_argument("--show", action="store_true", help="print the bearer that is kept for the server")
    login.set_defaults(run=run)
    logout = command(commands, "logout", "give the bearer of a server back")
    logout.set_defaults(run=run_logout)
    for parser in (login, logout):
        parser.add_argument("--server", metavar="URL", default=os.environ.get("CLEW_SERVER"), help="or $CLEW_SERVER")
        parser.add_argument("--insecure-lan", action="store_true", help="also without TLS, where others can read along")
        with_json(parser)


def run(asked: argparse.Namespace) -> int:
    """Get a bearer and keep it, or show the one that is kept."""
    server, file = _server(asked), credentials_file(os.environ)
    if asked.show:
        kept = find(file, server)
        if kept is None:
            raise Invalid(f"Nothing is kept for {server}; `clew login --server {server}` gets it.")
        print(kept.token)
        return 0
    got = _ask(server, asked)
    expires_at = SystemClock().now() + got["expires_in"]
    keep(file, server, Credential(got["access_token"], got["token_id"], expires_at, asked.agent))
    told = {"server": server, "file": str(file), "id": got["token_id"], "expires_at": iso(expires_at)}
    if asked.json:
        print_json(told | {"role": got["role"], "task": got["task"]})
    else:
        print(f"Signed in to {server} until {told['expires_at']}. The bearer is in {file}, readable by you alone.")
    return 0


def run_logout(asked: argparse.Namespace) -> int:
    """End the bearer there, and forget it here."""
    server, file = _server(asked), credentials_file(os.environ)
    kept = find(file, server)
    if kept is None:
        raise Invalid(f"Nothing is kept for {server}.")
    with _client(server) as http:
        answer = _send(http, "DELETE", f"{API}/tokens/{kept.token_id}", bearer=kept.token)
    forget(file, server)
    if answer.status_code not in (204, 401, 404):
        raise Forbidden(
            "It is forgotten here, but the server has not ended the bearer: sign its device out in the page."
        )
    if asked.json:
        print_json({"server": server})
    else:
        print(f"Signed out of {server}.")
    return 0


def _ask(server: str, asked: argparse.Namespace) -> dict[str, Any]:
    name = f"clew agent on {socket.gethostname()}" if asked.agent else f"clew on {socket.gethostname()}"
    form = {"client_id": name[:200], "role": asked.role, "ttl": str(read_span(asked.ttl))}
    if asked.agent:
        form["agent"] = asked.agent
    with _client(server) as http:
        answer = _send(http, "POST", f"{API}/device/authorize", form=form)
        told = _read(answer)
        if answer.status_code != 200:
            raise Unavailable(f"{server} does not let programs ask at the moment.")
        print(f"Open {plain(told['verification_uri'])} in a browser where you are signed in,", file=sys.stderr)
        print(f"and type this code there:  {plain(told['user_code'])}", file=sys.stderr, flush=True)
        return _wait(http, server, told)


def _wait(http: httpx2.Client, server: str, told: dict[str, Any]) -> dict[str, Any]:
    """Poll no faster than the server says, and slower for good when it says so."""
    pause, ends = float(told["interval"]), time.monotonic() + float(told["expires_in"])
    while time.monotonic() < ends:
        time.sleep(pause)
        form = {"grant_type": GRANT_TYPE, "device_code": told["device_code"]}
        answer = _send(http, "POST", f"{API}/device/token", form=form)
        said = _read(answer)
        if answer.status_code == 200:
            return said
        match said.get("error"):
            case "authorization_pending":
                continue
            case "slow_down":
                pause += SLOWER
            case "access_denied":
                raise Forbidden("It was declined.")
            case "expired_token":
                break
            case _:
                raise Unavailable(f"{server} does not answer as it should.")
    raise Unavailable("Nobody has approved it in time; run the command again.")


def _server(asked: argparse.Namespace) -> str:
    if not asked.server:
        raise Invalid("Name the server: --server https://clew.example.org, or $CLEW_SERVER.")
    return server_of(asked.server, insecure=asked.insecure_lan)


def _client(server: str) -> httpx2.Client:
    import httpx2  # a quarter of a second that only these commands pay

    return httpx2.Client(base_url=server, timeout=PATIENCE, follow_redirects=False)


def _send(
    http: httpx2.Client, method: str, path: str, *, form: dict[str, str] | None = None, bearer: str | None = None
) -> httpx2.Response:
    import httpx2

    headers = {"authorization": f"Bearer {bearer}"} if bearer is not None else {}
    try:
        return http.request(method, path, data=form, headers=headers)
    except httpx2.HTTPError as error:
        raise Unavailable(f"{http.base_url} cannot be reached: {error}.") from None


def _read(answer: httpx2.Response) -> dict[str, Any]:
    try:
        said = answer.json()
    except ValueError:
        said = None
    return said if isinstance(said, dict) else {}
