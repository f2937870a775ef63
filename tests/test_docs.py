"""The documentation says what the code does: commands, settings, codes and message types, no more and no fewer."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from urllib.parse import urlsplit

import crdt_docs.messages.ywebsocket as wire
from server.cli.doctor import OTHERS
from server.cli.main import parser
from server.config import SETTINGS, Config
from server.domain import errors

ROOT = Path(__file__).resolve().parents[1]
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
PROTOCOL = (ROOT / "docs" / "protocol.md").read_text()
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    below = text.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in below.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def commands() -> dict[str, set[str]]:
    """Each command of ``clew`` with its actions."""
    found = {}
    for name, command in subcommands(parser()).items():
        found[name] = set(subcommands(command))
    return found


def subcommands(of: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def test_every_command_and_action_is_documented_and_none_that_is_not_there() -> None:
    documented: dict[str, set[str]] = {}
    for first, *_ in rows(OPERATIONS, "Commands"):
        words = re.findall(r"`([^`]+)`", first)
        _, name, *action = words[0].split()
        documented[name] = {word.split()[0] for word in [*action[:1], *words[1:]]}
    assert documented == commands()


def test_every_setting_is_documented_with_its_variable_and_default() -> None:
    documented = {
        cells[0].strip("`"): (cells[1].strip("`"), cells[2].strip("`")) for cells in rows(OPERATIONS, "Settings")
    }
    defaults = Config()
    words = {True: "true", False: "false", None: "none", (): "none"}
    actual = {}
    for setting in SETTINGS:
        default = getattr(defaults, setting.field)
        actual[setting.field] = (setting.variable, words.get(default, str(default)))
    assert documented == actual


def test_the_doctor_knows_every_variable_that_readers_are_told_of() -> None:
    told = set(re.findall(r"CLEW_[A-Z_]+", README + OPERATIONS))
    assert "CLEW_MODEL" in told
    assert told <= {setting.variable for setting in SETTINGS} | OTHERS


def test_the_close_codes_are_those_of_the_code() -> None:
    documented = {int(cells[0]) for cells in rows(PROTOCOL, "Close codes")}
    singles = {value for name, value in vars(errors).items() if name.startswith("CLOSE_")}
    assert documented == {*errors.CLOSE.values(), *singles}


def test_the_message_types_are_those_of_the_code() -> None:
    documented = {int(cells[0]): cells[1].split(",")[0] for cells in rows(PROTOCOL, "Messages")}
    names = {"Sync": "SYNC", "Awareness": "AWARENESS", "Denied": "AUTH", "QueryAwareness": "QUERY_AWARENESS"}
    own = {"Barrier": "BARRIER", "Refused": "REFUSED", "Renew": "RENEW", "Notice": "NOTICE"}
    assert documented == {getattr(wire, constant): name for name, constant in {**names, **own}.items()}


def test_the_page_knows_the_message_types_too() -> None:
    source = (ROOT / "web" / "src" / "sync" / "task_sync.ts").read_text()
    known = dict(re.findall(r"export const (\w+) = (\d+);", source))
    types = {"BARRIER": wire.BARRIER, "REFUSAL": wire.REFUSED, "RENEWAL": wire.RENEW, "NOTICE": wire.NOTICE}
    assert known == {name: str(number) for name, number in types.items()}


def test_what_the_readers_are_told_to_make_can_be_made() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = set(re.findall(r"(?:^|`)make ([a-z]+)", README + CONTRIBUTING, re.MULTILINE))
    assert {"run", "test"} <= told <= targets
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_commands_in_the_readme_are_there() -> None:
    told = {tuple(words.split()) for words in re.findall(r"clew ((?:[a-z]+ ?){1,2})(?=[^a-z.]|$)", README) if words}
    known = commands()
    for name, *action in told:
        if name in known:
            assert not action or not known[name] or action[0] in known[name], (name, action)
    assert {name for name, *_ in told} >= {"serve", "link", "token"}


def test_links_between_documents_lead_somewhere() -> None:
    dead = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
            if not urlsplit(target).scheme and not (page.parent / target.split("#")[0]).exists():
                dead.append(f"{page.relative_to(ROOT)}: {target}")
    assert dead == []


def test_the_map_in_the_readme_is_of_this_tree() -> None:
    drawn = README.split("## The map")[1].split("```")[1]
    paths = re.findall(r"(?:^|\s{8})((?:[a-z_]+/)+[a-z_.]*)", drawn, re.MULTILINE)
    assert len(paths) >= 12
    assert [path for path in paths if not (ROOT / path).exists()] == []
