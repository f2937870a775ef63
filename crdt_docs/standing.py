"""How questions and decisions stand, from the entries that people added.

Owns the derivation, pure. Must never pick a winner: what conflicts is said to conflict, and stays so until somebody
supersedes all sides of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

DecisionStatus = Literal["current", "superseded", "conflicting"]
QuestionStatus = Literal["open", "answered", "dropped", "conflicting"]


def decision_standings(supersedes: Mapping[str, Sequence[str]]) -> dict[str, DecisionStatus]:
    """The status of each decision, given which others it supersedes.

    A decision that another supersedes is superseded. Where one was superseded along two lines whose ends both still
    stand, those ends are in conflict; so are decisions that supersede each other in a ring.
    """
    successors: dict[str, set[str]] = {key: set() for key in supersedes}
    for key, olds in supersedes.items():
        for old in olds:
            if old in successors and old != key:
                successors[old].add(key)
    out: dict[str, DecisionStatus] = {key: "superseded" if after else "current" for key, after in successors.items()}
    for key, after in successors.items():
        if len(after) > 1 or (after and key in _after(key, successors)):
            reached = _after(key, successors)
            heads = [end for end in reached if not successors[end]]
            if len(heads) != 1:
                for end in heads or reached:
                    out[end] = "conflicting"
    return out


def _after(start: str, successors: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = list(successors[start])
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            waiting.extend(successors[key])
    return seen


def answer_standing(answers: Sequence[Mapping[str, Any]], *, dropped: bool) -> QuestionStatus:
    """Open, answered, dropped, or conflicting when answers that differ in words stand beside each other.

    ``answers`` have ``id``, ``text`` and ``supersedes``. An empty answer is one that somebody is still writing.
    """
    given = [answer for answer in answers if str(answer["text"]).strip()]
    replaced = {old for answer in given for old in answer["supersedes"] if old != answer["id"]}
    standing = {" ".join(str(answer["text"]).split()).casefold() for answer in given if answer["id"] not in replaced}
    if len(standing) == 1:
        return "answered"
    if given:
        return "conflicting"
    return "dropped" if dropped else "open"
