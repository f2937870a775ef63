"""Resumptions, put together: the ledger as it stands, what changed since the person looked, a narrative if it is true.

Owns what is kept, so that asking again costs no engine: facts by the document's seq, changes by that and the look.
Names, and how long ago something was, are told as they are now. A document that can't be read still has a name.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Generic, NamedTuple, TypeVar

from crdt_docs.ids import DocName, TaskId
from crdt_docs.updates.touched import Path
from server.domain.access import Principal
from server.domain.changes import Change, Deleted, Written, excerpt, find_changes, last_edit, word_changes
from server.domain.changes import Reader as Reading
from server.domain.clock import Clock
from server.domain.credit import Credit, Place, credit, sign
from server.domain.facts import Facts, Item, gather, unanswered
from server.domain.language import Language
from server.domain.log import Actor, Span
from server.domain.look import Look
from server.domain.resumption import Told, unreadable, word
from server.domain.summary_basis import ledger_items, summary_source
from server.domain.telling import Since
from server.engine.failures import EngineFailed
from server.engine.pool import Changed
from server.http.reader import Reader
from server.rooms.authors import Authors
from server.rooms.looking import Looking
from server.store.names import Names
from server.store.turns import Turns

WEIGHT_KEPT: Final = 20_000_000
"""What is kept of facts, and as much of changes: characters, and ``ENTRY`` for each entry."""
ENTRY: Final = 1_000
Value = TypeVar("Value")


class _Stood(NamedTuple):
    """What stood in a document at a seq."""

    seq: int
    facts: Facts
    ledger: dict[str, Any]
    narrative: str | None


class _Signed(NamedTuple):
    """Whose the entries are, and what a person wrote last."""

    credits: dict[Place, Credit]
    last: Change | None


class _Kept(Generic[Value]):
    """The newest value for each key, the least recently used thrown out; a value counts only for its own moment."""

    def __init__(self) -> None:
        self._held: OrderedDict[Any, tuple[Any, Value, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: object, moment: object) -> Value | None:
        held = self._held.get(key)
        if held is None or held[0] != moment:
            return None
        self._held.move_to_end(key)
        return held[1]

    def put(self, key: object, moment: object, value: Value, weight: int) -> None:
        self.forget(key)
        self._held[key] = (moment, value, weight)
        self._weight += weight
        while self._weight > WEIGHT_KEPT:
            self.forget(next(iter(self._held)))

    def forget(self, key: object) -> None:
        held = self._held.pop(key, None)
        self._weight -= held[2] if held is not None else 0

    def clear(self) -> None:
        self._held.clear()
        self._weight = 0


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a resumption comes from."""

    reader: Reader
    looking: Looking
    authors: Authors
    names: Names
    turns: Turns


class Resumptions:
    """The resumptions of this server's tasks."""

    def __init__(self, sources: Sources, clock: Clock) -> None:
        self._from = sources
        self._clock = clock
        self._stood: _Kept[_Stood] = _Kept()
        self._changes: _Kept[list[Change]] = _Kept()
        self._credits: _Kept[_Signed] = _Kept()

    def forget(self) -> None:
        """Drop all that is kept: somebody was erased."""
        for kept in (self._stood, self._changes, self._credits):
            kept.clear()

    async def of(self, task: TaskId, called: str, language: Language, who: Principal | None = None) -> Told:
        """Where a task of that name stands, for that person; without one, nothing is said of changes.

        Raises Unavailable while it can't be read for a passing reason.
        """
        name = DocName(task)
        place = await self._from.authors.position(name)
        stood = None if place.quarantined is not None else await self._stand(name, called, place.moment)
        if stood is None:
            return Told(unreadable(called, language), place.seq)
        facts = await self._attended(task, stood)
        if who is None:
            return Told(word(called, facts, language), stood.seq, narrative=stood.narrative)
        reading = Reading(who.user, who.device, who.token if who.device is None else None)
        facts, last = await self._signed(name, place.moment, stood, facts, reading)
        look = await self._from.looking.since(who, task)
        if look is None:
            return Told(word(called, facts, language), stood.seq, None, stood.narrative, last)
        changes = await self._change(name, place.moment, stood, look, reading)
        since = None
        if changes is not None:
            facts = replace(facts, changes=await self._named(changes, reading))
            since = Since(look.at, self._clock.now())
        return Told(word(called, facts, language, since), stood.seq, look.at, stood.narrative, last)

    async def _stand(self, name: DocName, called: str, moment: tuple[int, int]) -> _Stood | None:
        """What stands now; None if the document was set aside for good."""
        kept = self._stood.get(name, (moment, called))
        if kept is not None:
            return kept
        try:
            ledger = await self._from.reader.project(name)
        except EngineFailed as failed:
            if failed.verdict.quarantine:
                return None
            raise
        narrative = await self._narrative(called, ledger)
        stood = _Stood(ledger["seq"], gather(ledger), _slim(ledger), narrative)
        self._stood.put(name, ((moment[0], stood.seq), called), stood, _weight(stood.ledger))
        return stood

    async def _narrative(self, called: str, ledger: dict[str, Any]) -> str | None:
        """The summary that an agent wrote, if it is true to the ledger as it is now; none where that can't be told."""
        summary: str = ledger.get("summary", {}).get("text") or ""
        if not summary.strip():
            return None
        items = [asdict(item) for item in ledger_items(ledger)]
        try:
            passes = await self._from.reader.judge(summary, items, summary_source(called, ledger))
        except EngineFailed:
            return None
        return summary if passes else None

    async def _attended(self, task: TaskId, stood: _Stood) -> Facts:
        """The facts, with what no agent answered among what was not filed."""
        messages = await self._from.turns.unanswered(task)
        found = unanswered(stood.ledger, messages) if messages else []
        return replace(stood.facts, not_filed=[*stood.facts.not_filed, *found]) if found else stood.facts

    async def _signed(
        self, name: DocName, moment: tuple[int, int], stood: _Stood, facts: Facts, reading: Reading
    ) -> tuple[Facts, Item | None]:
        """The facts, each under the name of whoever's it is by the log; and the last edit."""
        at = (moment[0], stood.seq)
        signed = self._credits.get(name, at)
        if signed is None:
            try:
                whole = await self._from.reader.changed(name, {}, [])
            except EngineFailed:
                return sign(facts, None, {}), None
            credits = credit(stood.ledger, await self._authors(name, whole))
            signed = _Signed(credits, last_edit(stood.ledger, await self._ends(name, whole)))
            self._credits.put(name, at, signed, ENTRY // 4 * len(credits))
        credits, last = signed
        facts = sign(facts, credits, await self._names([*credits.values()]))
        return facts, (await self._named([last], reading))[0] if last else None

    async def _ends(self, name: DocName, whole: Changed) -> list[Written]:
        """What was written last under each client id."""
        ends: dict[int, tuple[Span, Path]] = {}
        for path, _, spans in whole.new:
            for client, first, end in spans:
                if client not in ends or ends[client][0][2] < end:
                    ends[client] = ((client, max(first, end - 1), end), _path(path))
        known = await self._from.authors.of(name, [span for span, _ in ends.values()])
        return [
            Written(path, False, authors[-1].actor, authors[-1].at)
            for (_, path), authors in zip(ends.values(), known, strict=True)
            if authors
        ]

    async def _authors(self, name: DocName, whole: Changed) -> dict[Place, Actor]:
        """Who made the entries, answers and messages."""
        places: dict[Place, Span] = {}
        for (root, key, field, inner), made, spans in whole.new:
            if made and root and key and (field is None or (field == "answers" and inner)):
                places[(root, key, inner) if inner else (root, key)] = spans[0]
        known = await self._from.authors.of(name, list(places.values()))
        return {place: authors[0].actor for place, authors in zip(places, known, strict=True) if authors}

    async def _change(
        self, name: DocName, moment: tuple[int, int], stood: _Stood, look: Look, reading: Reading
    ) -> list[Change] | None:
        """What changed since the look; None where that can't be told."""
        if look.seq >= stood.seq:
            return []
        key, at = (name, reading), (moment[0], stood.seq, look.seq)
        kept = self._changes.get(key, at)
        if kept is not None:
            return kept
        cuts = await self._from.authors.cuts(name, look.seq)
        try:
            changed = await self._from.reader.changed(
                name, look.state_vector, [(cut.client, cut.clock) for cut in cuts]
            )
        except EngineFailed:
            return None
        had = look.state_vector
        deleted = [
            Deleted(_path(path), cut.clock < had.get(cut.client, 0), cut.actor, cut.at)
            for path, cut in zip(changed.lost, cuts, strict=True)
            if path is not None
        ]
        found = find_changes(stood.ledger, await self._written(name, changed), deleted, reading)
        self._changes.put(key, at, found, sum(ENTRY + len(change.text) for change in found))
        return found

    async def _written(self, name: DocName, changed: Changed) -> list[Written]:
        """What is new, once for each of its authors."""
        spans = [span for _, _, spans in changed.new for span in spans]
        authors = iter(await self._from.authors.of(name, spans))
        written: list[Written] = []
        for path, made, spans in changed.new:
            for _ in spans:
                by = next(authors)
                written += [Written(_path(path), made, author.actor, author.at) for author in by]
                if not by:
                    written.append(Written(_path(path), made, None, None))
        return written

    async def _named(self, changes: list[Change], reading: Reading) -> list[Item]:
        return word_changes(changes, reading, await self._names([one.actor for one in changes if one.actor]))

    async def _names(self, parties: Sequence[Actor | Credit]) -> dict[str, str]:
        users = {party.user for party in parties}
        devices = {party.device for party in parties if party.device is not None}
        agents = {party.agent for party in parties if party.agent is not None}
        return await self._from.names.of(users, devices, agents)


def _path(names: tuple[str | None, ...]) -> Path:
    root, key, field, inner = names
    return Path(root or "", key or "", field, inner)


def _slim(ledger: dict[str, Any]) -> dict[str, Any]:
    """The ledger without running text, which no change is told with."""
    documents = [{**document, "markdown": ""} for document in ledger["documents"]]
    outputs = [{**output, "markdown": ""} for output in ledger["outputs"]]
    messages = [{"id": one["id"], "text": excerpt(one["text"]), "status": one["status"]} for one in ledger["messages"]]
    return {**ledger, "documents": documents, "outputs": outputs, "messages": messages, "summary": {}}


def _weight(ledger: dict[str, Any]) -> int:
    roots = [entries for entries in ledger.values() if isinstance(entries, list)]
    return sum(ENTRY + len(entry.get("text", "")) for entries in roots for entry in entries)
