"""What one person wrote in a document, as words: for taking along. Owns that nobody else's are among them.

What is deleted is nobody's any more, and not told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crdt_docs.ids import UserId
from crdt_docs.updates.parse import MAX_CLOCK, STRING, Parsed, Struct, parse
from crdt_docs.updates.splice import merge
from crdt_docs.updates.values import read_string
from crdt_docs.updates.vectors import DeleteSet
from server.rooms.authors import Written
from server.rooms.scrubbing import deletion, spans_of


class Words(NamedTuple):
    """One stretch of somebody's words; ``at`` (Unix seconds) is when they had begun to write there."""

    text: str
    at: float


def own_words(parsed: Parsed, written: Sequence[Written]) -> list[Words]:
    """The live words of these spans in a whole document, as they were written."""
    deleted = DeleteSet(parsed.deletes)
    structs = {section.client: section.structs for section in parsed.sections}
    found = [
        Words(text, one.author.at) for one in written if (text := _text(parsed.update, one, structs, deleted)).strip()
    ]
    return sorted(found, key=lambda words: words.at)


def without_others(update: bytes, written: Sequence[Written], user: UserId) -> bytes:
    """A whole document in which only this person's words are left; all else keeps its place. Changes no document."""
    parsed, mine = parse(update), DeleteSet()
    for client, spans in spans_of(written, user).items():
        for first, end in spans:
            mine.add(client, first, end)
    others = {section.client: mine.missing(section.client, 0, MAX_CLOCK) for section in parsed.sections}
    return merge([update, deletion(parsed, others, texts=True)])


def _text(update: bytes, one: Written, structs: Mapping[int, Sequence[Struct]], deleted: DeleteSet) -> str:
    pieces: list[str] = []
    end = None
    for struct in structs.get(one.client, ()):
        first, last = max(struct.clock, one.first), min(struct.clock + struct.length, one.end)
        if struct.ref != STRING or first >= last:
            continue
        units = read_string(update, struct.content)[0].encode("utf-16-le", "surrogatepass")
        for clock in range(first, last):
            if not deleted.covers(one.client, clock, clock + 1):
                if pieces and end != clock:
                    pieces.append("\n")
                at = 2 * (clock - struct.clock)
                pieces.append(units[at : at + 2].decode("utf-16-le", "surrogatepass"))
                end = clock + 1
    return "".join(pieces).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
