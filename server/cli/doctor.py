"""``clew doctor``: what is set and where it came from, what the disk costs, and whether all that is needed is there.

Changes nothing but a probe file that it removes. Exit code 1 if something must be seen to.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import stat
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import anyio

import server
from server.cli.asking import print_json
from server.cli.flags import Commands, command, settings, with_folder, with_json
from server.cli.table import print_table
from server.config import SETTINGS, Config, Loaded, Setting, is_local
from server.control import wire
from server.domain.clock import SystemClock
from server.domain.errors import ClewError, Invalid
from server.domain.log import CorruptLog
from server.store.examine import quarantined
from server.store.folder import is_held
from server.store.log_file import LOG

PROBES: Final = 20
OLDEST_SQLITE: Final = (3, 37, 0)
"""The first with STRICT tables; RETURNING is older."""
ANSWERS_WITHIN: Final = 5.0
LEAST_FREE: Final = 200_000_000
OTHERS: Final = frozenset(
    {
        "CLEW_CONFIG",
        "CLEW_CREDENTIALS",
        "CLEW_MODEL",
        "CLEW_MODEL_KEY",
        "CLEW_MODEL_URL",
        "CLEW_SERVER",
        "CLEW_TOKEN",
    }
)
"""Variables that other commands and the agent read."""

Mark = Literal["ok", "note", "WRONG"]


class Finding(NamedTuple):
    """One thing that was looked at."""

    mark: Mark
    what: str
    said: str


def add(commands: Commands) -> None:
    """Its flags."""
    parser = command(commands, "doctor", "print the effective settings and check what they need")
    with_folder(parser)
    with_json(parser)
    parser.set_defaults(run=run)


def run(asked: argparse.Namespace) -> int:
    """Look at everything, and say what was found."""
    loaded = settings(asked)
    values = [(setting, _value(setting, loaded.config)) for setting in SETTINGS]
    findings = list(examine(loaded))
    if asked.json:
        shown = {s.field: {"value": _shown(v), "from": loaded.origins[s.field]} for s, v in values}
        print_json({"settings": shown, "findings": [finding._asdict() for finding in findings]})
    else:
        rows = [(s.field, _shown(v), loaded.origins[s.field], s.meaning) for s, v in values]
        print_table(("SETTING", "VALUE", "FROM", "MEANING"), rows)
        print()
        print_table(("", "CHECK", "FOUND"), findings)
    return 1 if any(finding.mark == "WRONG" for finding in findings) else 0


def examine(loaded: Loaded) -> Iterator[Finding]:
    """All findings, in the order in which they matter."""
    config = loaded.config
    yield from _look_at_folder(config)
    yield from _look_at_documents(config)
    yield _measure_disk(config)
    yield from _look_at_network(config)
    yield _look_at_sqlite()
    yield _look_at_page()
    yield _look_at_agent(config)
    for name in sorted(os.environ):
        if name.startswith("CLEW_") and name not in {s.variable for s in SETTINGS} | OTHERS:
            yield Finding("note", "environment", f"{name} means nothing to Clew")


def _look_at_folder(config: Config) -> Iterator[Finding]:
    folder = config.data
    if not folder.exists():
        yield Finding("ok", "data folder", f"{folder.absolute()} will be made at the first start")
        return
    held = is_held(folder)
    yield Finding("ok", "data folder", f"{folder.absolute()}, {'held by a server' if held else 'held by nobody'}")
    loose = [path.name or str(path) for path in (folder, *folder.iterdir()) if path.lstat().st_mode & 0o077]
    if loose:
        yield Finding("WRONG", "permissions", f"others may read {', '.join(loose[:5])}; the next start closes them")
    else:
        yield Finding("ok", "permissions", f"{stat.filemode(folder.stat().st_mode)}, nobody else can read in it")
    free = shutil.disk_usage(folder).free
    yield Finding("ok" if free > LEAST_FREE else "WRONG", "space", f"{free // 1_000_000} MB are free")


def _look_at_documents(config: Config) -> Iterator[Finding]:
    if not (config.data / LOG).exists():
        return
    try:
        found = quarantined(config.data / LOG)
    except CorruptLog as error:
        yield Finding("WRONG", "documents", f"{error.why}; clew verify tells more")
        return
    for name, why in found:
        part = "" if name.part == "main" else f" --part {name.part}"
        yield Finding("WRONG", "documents", f"{name}: {why}; clew repair --task {name.task}{part}")
    if not found:
        yield Finding("ok", "documents", "none is set aside because the engine failed on it")


def _measure_disk(config: Config) -> Finding:
    milliseconds = measure_fsync(_nearest(config.data)) * 1000
    said = f"an fsync takes {milliseconds:.2f} ms there (median of {PROBES})"
    if config.durability == "process":
        return Finding("note", "disk", f"{said}; durability is process, so receipts do not wait for it")
    if milliseconds > 20:
        return Finding("note", "disk", f"{said}: a lone writer feels this at every word; consider a faster disk")
    return Finding("ok", "disk", f"{said}: so much later others see a lone writer's word, and many writers share it")


def measure_fsync(folder: Path) -> float:
    """Seconds that it takes to make a small append durable; the median of some."""
    with tempfile.TemporaryFile(dir=folder) as file:
        spans = []
        for _ in range(PROBES):
            began = time.perf_counter()
            file.write(bytes(1056))  # a small commit's share of the write-ahead log
            file.flush()
            os.fsync(file.fileno())
            spans.append(time.perf_counter() - began)
    return statistics.median(spans)


def _look_at_network(config: Config) -> Iterator[Finding]:
    if config.tls_cert is not None and config.tls_key is not None:
        from server.cli import certificate  # cryptography, which other commands do without

        names = [name.rpartition(":")[0] or name for name in config.allow_hosts]
        now = datetime.fromtimestamp(SystemClock().now(), UTC)
        for mark, said in certificate.examine(config.tls_cert, config.tls_key, names, now):
            yield Finding(mark, "TLS", said)
    elif is_local(config.host):
        yield Finding("ok", "TLS", "none, and only this machine can reach it")
    elif config.trusted_proxies:
        yield Finding("ok", "TLS", f"none of its own; only {', '.join(config.trusted_proxies)} may connect")
    else:
        yield Finding("WRONG", "TLS", f"none, and {config.host} can be reached by others: they can read along")
    if config.user_header is not None:
        by = ", ".join(config.trusted_proxies)
        yield Finding("note", "sign-in", f"whoever connects from {by} may say in {config.user_header} who asks")
    yield from _look_at_provider(config)


def _look_at_provider(config: Config) -> Iterator[Finding]:
    if config.oidc_issuer is None:
        return
    from server.doors.provider import check_issuer  # as above
    from server.doors.ways import read_secret

    try:
        check_issuer(config.oidc_issuer)
        secret = read_secret(config.oidc_client_secret, config.oidc_secret_file)
    except Invalid as error:
        yield Finding("WRONG", "OpenID", error.why)
        return
    who = "all of its people" if config.oidc_admit == "all" else "those who are invited"
    said = f"{config.oidc_issuer}, for {who}" + ("" if secret else ", as a client without a secret")
    yield Finding("ok", "OpenID", said)


def _look_at_sqlite() -> Finding:
    enough = sqlite3.sqlite_version_info >= OLDEST_SQLITE
    return Finding("ok" if enough else "WRONG", "sqlite", f"{sqlite3.sqlite_version}, 3.37 or newer is needed")


def _look_at_page() -> Finding:
    page = Path(server.__file__).parent / "static" / "index.html"
    if page.exists():
        return Finding("ok", "page", "the web page is built in")
    return Finding("note", "page", "the web page is not built in; the API and the sockets work without it")


def _look_at_agent(config: Config) -> Finding:
    """How the agent is that a server has started; asked of the server, if there is one."""
    if not config.data.exists() or not is_held(config.data):
        return Finding("ok", "agent", "starts with the server" if config.agent else "none of its own")
    try:
        said = anyio.run(_ask_status, config.data)
    except (OSError, TimeoutError, ClewError) as error:
        return Finding("note", "agent", f"the server does not tell ({error or type(error).__name__})")
    agent, turns = said["agent"], said["turns"]
    about = f"{said['hosts']} connected; {turns['running']} turns running, {turns['queued']} queued"
    if agent is None:
        return Finding("ok", "agent", f"none of the server's own, {about}")
    if agent["state"] == "running":
        return Finding("ok", "agent", f"running, started again {agent['restarts']} times; {about}")
    return Finding("WRONG", "agent", f"{agent['state']}: {agent['trouble'] or 'just started'}; {about}")


async def _ask_status(folder: Path) -> Any:
    with anyio.fail_after(ANSWERS_WITHIN):
        return await wire.ask(folder, "status", {})


def _nearest(folder: Path) -> Path:
    """The folder, or the first above it that is there."""
    folder = folder.absolute()
    while not folder.is_dir():
        folder = folder.parent
    return folder


def _value(setting: Setting, config: Config) -> object:
    value = getattr(config, setting.field)
    return "(a secret)" if setting.secret and value is not None else value


def _shown(value: object) -> str | None:
    if isinstance(value, tuple):
        return ", ".join(value) or None
    return None if value is None else str(value)
