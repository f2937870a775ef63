"""``clew audit``: what was done on this server and by whom, in ids, and whether that account of it is whole."""

from __future__ import annotations

import argparse

from server.cli.asking import answer, print_json
from server.cli.flags import Commands, command, with_folder, with_json
from server.cli.table import print_table
from server.domain.audit import RETENTION_DAYS


def add(commands: Commands) -> None:
    """Its commands and their flags."""
    actions = command(commands, "audit", "what was done on this server, and by whom").add_subparsers(
        metavar="ACTION", required=True
    )
    listing = command(actions, "list", "list events, the latest first")
    listing.add_argument("--limit", type=int, default=100, metavar="N", help="at most so many (default 100)")
    listing.add_argument("--event", metavar="E", help="only of this kind: token, or token.revoked")
    listing.add_argument("--user", metavar="U", help="only by or about this person: a name, or an id")
    listing.add_argument("--days", type=int, metavar="N", help="only of the last so many days")
    listing.set_defaults(run=run_list)
    verify = command(actions, "verify", "prove that no event was changed, removed or cut off")
    verify.add_argument("--head", metavar="N:HASH", help="prove that a head noted earlier is on this trail")
    verify.set_defaults(run=run_verify)
    prune = command(actions, "prune", "let go of old events; the trail says so and still holds")
    prune.add_argument(
        "--days", type=int, default=RETENTION_DAYS, metavar="N", help=f"keep so many (default {RETENTION_DAYS})"
    )
    prune.set_defaults(run=run_prune)
    for parser in (listing, verify, prune):
        with_folder(parser)
        with_json(parser)


def run_list(asked: argparse.Namespace) -> int:
    """Print events."""
    wanted = {"limit": asked.limit, "event": asked.event, "user": asked.user, "days": asked.days}
    said = answer(asked, "audit.list", wanted)
    if asked.json:
        print_json(said)
        return 0
    rows = []
    for event in said["events"]:
        agent = f" by agent {event['act']['name'] or event['act']['sub']}" if event["act"] else ""
        who = f"{event['name'] or event['sub'] or 'operator'}{agent}"
        rows.append((event["number"], event["at"], event["event"], who, event["task"], " ".join(event["subjects"])))
    print_table(("NO", "AT", "EVENT", "BY", "TASK", "SUBJECTS"), rows)
    return 0


def run_verify(asked: argparse.Namespace) -> int:
    """Say whether the trail is whole; exit code 1 if it is not."""
    said = answer(asked, "audit.verify", {"head": asked.head})
    if asked.json:
        print_json(said)
    else:
        for finding in said["findings"]:
            print(f"BROKEN  event {finding['event']}: {finding['why']}")
        print(f"{said['events']} events, {'the trail is whole' if said['sound'] else 'the trail is BROKEN'}.")
        print(f"head {said['head']}")
    return 0 if said["sound"] else 1


def run_prune(asked: argparse.Namespace) -> int:
    """Let go of old events."""
    said = answer(asked, "audit.prune", {"days": asked.days})
    if asked.json:
        print_json(said)
    else:
        print(f"{said['gone']} events are gone.")
    return 0
