"""``make bench``: the same real work on Clew and on its peers, in turn, with a table of ratios and a plot."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bench import plot, table
from bench.load import Load, LoadFailed, build
from bench.rows import ROWS, Row
from bench.scenarios import GROUPS, DidNotKeepUp, Group, Step, Work
from bench.servers import PEERS, Make, clews
from bench.servers.hocuspocus import Hocuspocus
from bench.servers.server import DidNotStart
from bench.streams import Streams
from bench.table import Results

ROOT = Path(__file__).resolve().parents[1]
STAMPS = ROOT / ".stamps" / "bench"
SCENARIOS = tuple(dict.fromkeys(step.name for group in GROUPS for step in group))
WINDOWS = {"hocuspocus 5 ms": ("fan-out 100 busy cpu", 5), "hocuspocus 20 ms": ("fan-out 500 busy cpu", 20)}
"""Hocuspocus at the window that Clew comes to at that size (50 µs a connection, 20 ms at most)."""


def parse(words: list[str]) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--only", action="append", choices=SCENARIOS, help="this scenario; may be given again")
    parser.add_argument("--server", action="append", help="servers whose name begins so; may be given again")
    parser.add_argument("--repeats", type=int, default=3, help="how often all is done, in turn (3)")
    parser.add_argument("--quick", action="store_true", help="once and short, to see that all works")
    parser.add_argument("--clew", action="append", metavar="[NAME=]TREE", help="measure Clew from this tree; again")
    parser.add_argument("--out", type=Path, default=STAMPS, help="where results.json, table.md and cost.svg go")
    return parser.parse_args(words)


def choose_servers(options: argparse.Namespace) -> dict[str, Make]:
    """By name, Clew first."""
    found: dict[str, Make] = {}
    for given in options.clew or [f"clew={ROOT}"]:
        name, _, tree = given.rpartition("=")
        found |= clews(name or Path(tree).resolve().name, Path(tree).resolve())
    found |= PEERS
    found |= {name: partial(Hocuspocus, window=window) for name, (_, window) in WINDOWS.items()}
    if options.server:
        found = {name: make for name, make in found.items() if name.startswith(tuple(options.server))}
    return found


def choose_steps(group: Group, options: argparse.Namespace, repeat: int, server: str) -> list[Step]:
    """What is left of a group."""
    steps = [step for step in group if (not options.only or step.name in options.only) and repeat < step.repeats]
    return [step for step in steps if step.name == "fan-out"] if server in WINDOWS else steps


def run_group(name: str, make: Make, steps: list[Step], work: Work, results: Results, repeat: int) -> None:
    """Start the server and do all of it; what fails is noted, and ends the group for this server."""
    measured = results.measured.setdefault(name, [])
    while len(measured) <= repeat:
        measured.append({})
    with tempfile.TemporaryDirectory(prefix="clew-bench-", ignore_cleanup_errors=True) as folder:
        step = steps[0]
        try:
            with make(Path(folder) / "server") as server:
                for step in steps:
                    start = time.monotonic()
                    measured[repeat] |= step.run(server, work)
                    print(f"  {name}: {step.name}, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        except (DidNotKeepUp, DidNotStart, LoadFailed) as failed:
            if isinstance(failed, DidNotKeepUp):
                measured[repeat] |= failed.measured
            results.notes.setdefault(name, {})[step.name] = _last_line(failed)
            print(f"  {name}: {step.name}: {failed}", file=sys.stderr, flush=True)


def _last_line(failed: Exception) -> str:
    return (str(failed).strip() or "did not start, and wrote nothing").splitlines()[-1]


def write(results: Results, names: list[str], out: Path) -> str:
    """The files, and the table."""
    out.mkdir(parents=True, exist_ok=True)
    own = [(name, name.rpartition(" ")[2]) for name in names if name.rpartition(" ")[2] in ("full", "process")]
    peers = [name for name in names if name in PEERS]
    drawn = table.draw(results, ROWS, own, peers)
    for window, (measure, _) in WINDOWS.items():
        if results.values(window, measure):
            row = Row(f"{measure}, beside {window}", measure, "µs", peers=(window,))
            drawn += "\n\n" + table.draw(results, [row], own, [window]).split("\n\n")[0]
    (out / "results.json").write_text(json.dumps({"measured": results.measured, "notes": results.notes}, indent=1))
    (out / "table.md").write_text(drawn + "\n")
    if plot.curves(results, "history") or plot.curves(results, "documents"):
        (out / "cost.svg").write_text(plot.draw(results))
    return drawn


def main() -> None:
    """Everything, in turn: for each repeat, for each group of scenarios, every server."""
    options = parse(sys.argv[1:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    Load.client = build(STAMPS)
    work = Work(Streams(STAMPS), options.quick)
    servers = choose_servers(options)
    results = Results()
    start = time.monotonic()
    for repeat in range(1 if options.quick else options.repeats):
        for group in GROUPS:
            for name, make in servers.items():
                if steps := choose_steps(group, options, repeat, name):
                    run_group(name, make, steps, work, results, repeat)
                    write(results, list(servers), options.out)
    print(write(results, list(servers), options.out))
    print(f"\n{(time.monotonic() - start) / 60:.0f} minutes; files in {options.out}", file=sys.stderr)


if __name__ == "__main__":
    main()
