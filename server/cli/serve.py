"""``clew serve``: the server, and the one-click link to it. Prints to standard output nothing but where to go."""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from server.cli.flags import Commands, command, settings, with_folder
from server.config import Config, is_local
from server.domain.errors import Invalid
from server.doors.links import link_url

if TYPE_CHECKING:
    from server.app import Serving

REDIRECT: Final = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={0}"><a href="{0}">Clew</a>'
)
REDIRECT_LIFE: Final = 30.0
"""Seconds that a browser has to read the page that leads it to the link."""
SWITCH: Final = 0.0003
"""Seconds after which a thread that runs lets another have the interpreter. A commit asks for it with every statement,
hundreds of times where many documents are first written in: beside a busy loop, at Python's 5 ms, that was seconds."""


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "serve", "serve a data folder")
    with_folder(parser)
    parser.add_argument("--host", help="the address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", help="the port to listen on (default 8484; 0 takes a free one)")
    parser.add_argument("--durability", choices=("full", "process"), help="what a receipt survives (default full)")
    parser.add_argument("--allow-host", dest="allow_hosts", action="append", metavar="H", help="a further name of it")
    parser.add_argument("--tls-cert", metavar="F", help="the certificate chain, for HTTPS without a proxy")
    parser.add_argument("--tls-key", metavar="F", help="the certificate's key")
    parser.add_argument(
        "--insecure-lan", action="store_const", const=True, help="listen for others without TLS: they can read along"
    )
    parser.add_argument(
        "--trusted-proxy", dest="trusted_proxies", action="append", metavar="CIDR", help="a proxy whose word is taken"
    )
    parser.add_argument("--user-header", metavar="H", help="the header in which it names who asks")
    parser.add_argument("--oidc-issuer", metavar="URL", help="an organisation's OpenID provider to sign in by")
    parser.add_argument("--oidc-client-id", metavar="ID", help="what this server is called there")
    parser.add_argument("--oidc-secret-file", metavar="F", help="a file with its secret there")
    parser.add_argument("--oidc-admit", choices=("invited", "all"), help="who of its people may become users")
    parser.add_argument("--oidc-name", metavar="NAME", help="what people know the organisation by")
    parser.add_argument(
        "--no-agent", dest="agent", action="store_const", const=False, help="without the built-in agent"
    )
    parser.add_argument("--no-browser", dest="browser", action="store_const", const=False, help="print the link only")
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM."""
    config = settings(asked).config
    require_private(config)
    require_certificate(config)
    require_port(config)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(config, _Signals()))
    return 0


def require_private(config: Config) -> None:
    """Refuse to serve others in the clear, unless the operator says that they want that. Raises Invalid."""
    if is_local(config.host) or config.tls_cert is not None or config.trusted_proxies:
        return
    if not config.insecure_lan:
        raise Invalid(
            f"{config.host} can be reached by others and has no TLS: they could read along and take what you sign in"
            " with. Give --tls-cert and --tls-key, or put a proxy that speaks HTTPS in front and either listen on"
            " 127.0.0.1 or name it by --trusted-proxy. --insecure-lan serves in the clear all the same."
        )
    print(f"clew: {config.host} is served without TLS: whoever is on that network can read along.", file=sys.stderr)


def require_certificate(config: Config) -> None:
    """Say in a sentence that the certificate or its key can't be used. Raises Invalid."""
    if config.tls_cert is None or config.tls_key is None:
        return
    import ssl  # which most servers do without

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.tls_cert, config.tls_key, lambda: "")
    except OSError as error:  # ssl's own are among them
        files = f"{config.tls_cert} with the key {config.tls_key}"
        raise Invalid(f"{files} can't be used: {error.strerror or error}. `clew doctor` looks at both.") from error


def require_port(config: Config) -> None:
    """Say in a sentence what is wrong with where to listen; what is not known here shows when serving starts."""
    where = f"{config.host}:{config.port}"
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    with socket.socket(family) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((config.host, config.port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise Invalid(
                    f"Another program listens on {where}. Choose another port: clew serve --port N, or make run PORT=N."
                ) from error
            if error.errno == errno.EACCES:
                raise Invalid(f"The system lets you listen on no port as low as {config.port}.") from error
            if error.errno == errno.EADDRNOTAVAIL:
                raise Invalid(
                    f"{config.host} is no address of this machine; 0.0.0.0 stands for all of them."
                ) from error
            if isinstance(error, socket.gaierror) and not _is_known(config.host):
                raise Invalid(
                    f"Nobody knows the name {config.host}; --host takes an address of this machine."
                ) from error


def _is_known(host: str) -> bool:
    """Whether the name has an address of any kind."""
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


class _Signals:
    """uvicorn hears SIGINT and SIGTERM while it serves, and raises them again when it has ended.

    That must not stop what is still to be committed, so from then on they mean nothing; before, they end it.
    """

    def __init__(self) -> None:
        self.served = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def _hear(self, number: int, _: object) -> None:
        if not self.served:
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)


async def _serve(config: Config, signals: _Signals) -> None:
    from server.domain import garbage, memory

    with garbage.put_off():
        from server.app import serve

    memory.set_long_apart()
    sys.setswitchinterval(SWITCH)
    listening: asyncio.Future[Serving] = asyncio.get_running_loop().create_future()

    def ready(serving: Serving) -> None:
        garbage.set_apart()
        signals.served = True
        listening.set_result(serving)

    try:
        async with asyncio.TaskGroup() as group:
            greeting = group.create_task(_greet(listening, config.browser), name="print the link")
            try:
                await serve(config, ready=ready)
            finally:
                greeting.cancel()
    except ExceptionGroup as several:
        raise _first(several) from several


def _first(several: BaseException) -> BaseException:
    while isinstance(several, BaseExceptionGroup):
        several = several.exceptions[0]
    return several


async def _greet(listening: asyncio.Future[Serving], browser: bool) -> None:
    serving = await listening
    link = link_url(serving.url, await serving.services.doors.links.issue_by_name())
    print(f"Clew serves {serving.services.config.data} on {serving.url}\n\n  {link}\n", flush=True)
    more = another(serving.services.config)
    print(f"The link signs you in, once, within ten minutes. Another one: {more}", flush=True)
    if browser:
        with _redirect(link) as page:
            await asyncio.to_thread(webbrowser.open, page.as_uri())
            await asyncio.sleep(REDIRECT_LIFE)


def another(config: Config) -> str:
    """The command that gives another link, as it can be typed where the server was started."""
    called = sys.argv[0] if Path(sys.argv[0]).name == "clew" and not shutil.which("clew") else "clew"
    folder = "" if config.data == Config().data else f" --data {shlex.quote(str(config.data))}"
    return f"{called} link{folder}"


@contextmanager
def _redirect(link: str) -> Iterator[Path]:
    """A page of the owner's alone that leads to the link: on a command line everybody could read it."""
    descriptor, name = tempfile.mkstemp(prefix="clew-", suffix=".html")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(REDIRECT.format(escape(link)))
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
