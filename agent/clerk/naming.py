"""A name for a task, from the first thing said in it.

Owns the way from a message to a name: what is to be done, without the wish to do it. Must never invent a word that is
not in the message, but for the noun of a verb ("revise" gives "revision").
"""

from __future__ import annotations

import re
from typing import Final

from agent.clerk.rules import read_pairs, read_patterns
from agent.clerk.sentences import BLANK, blank, is_chinese

LONGEST: Final = 40
"""Characters of a name at most."""

_READ: Final = 2_000
_SENTENCE: Final = re.compile(r"[.!?。！？；;\n]+(?:\s|$)|[。！？；\n]")
_PREPOSITION: Final = re.compile(r" (?:for|with|from|to|in|at|into|between|on) ")
_POINTING: Final = re.compile(r"^(?:这个?|那个?|一份|一个|我们的|我的|咱们的|和(?=[A-Za-z])|跟.{1,4}?(?=重新|谈))")
_MARKS: Final = "-*#>•· "
_ROUNDS: Final = 6
"""How often a wish may be wrapped in another."""


def name_from(text: str) -> str | None:
    """A name of at most 40 characters for the task that a message begins, or None if it says nothing to name it by."""
    text = text[:_READ]
    plain = blank(text)
    at, limited = 0, None
    for found in [*_SENTENCE.finditer(plain), None]:
        end = found.start() if found else len(plain)
        sentence = text[at:end].strip().lstrip(_MARKS)
        blanked = plain[at:end].count(BLANK) > (end - at) / 2
        at = found.end() if found else end
        while sentence and not blanked:
            name = _name(sentence)
            if name and not _pattern("limit").match(sentence):
                return name
            limited = limited or name
            _, _, sentence = sentence.replace("，", ",", 1).partition(",")
            sentence = sentence.strip() if name else ""
    return limited


def _name(sentence: str) -> str | None:
    sentence = _pattern("greeting").sub("", sentence).strip()
    if not sentence:
        return None
    name = _chinese_name(sentence) if is_chinese(sentence) else _english_name(sentence)
    return name if len(re.findall(r"\w", name)) >= 3 - is_chinese(name) else None


def _english_name(sentence: str) -> str:
    rest = sentence.replace("’", "'")
    for _ in range(_ROUNDS):
        found = _pattern("wish").match(rest)
        if not found or not found[0]:
            break
        rest = rest[found.end() :].lstrip(" ,:")
    while found := _pattern("plain_verb").match(rest):
        rest = rest[found.end() :]
    first, _, object_ = rest.partition(" ")
    noun = read_pairs("naming", "nouns").get(first.lower()) if object_ else None
    if noun:
        rest = object_
    rest = _pattern("article").sub("", rest)
    if (cut := _pattern("cut").search(rest)) and cut.start() > 0:
        rest = rest[: cut.start()]
    if noun and not rest.lower().endswith(noun):
        head, middle, tail = _before_preposition(rest)
        rest = f"{head} {noun}{middle}{tail}"
    return _capital(_short(rest.strip(" -–—.'\"")))


def _before_preposition(phrase: str) -> tuple[str, str, str]:
    found = _PREPOSITION.search(phrase)
    if not found:
        return phrase, "", ""
    return phrase[: found.start()], found[0], phrase[found.end() :]


def _chinese_name(sentence: str) -> str:
    rest = sentence
    if found := _pattern("wish_chinese").match(rest):
        rest = rest[found.end() :] or rest
    noun, rest = _noun_chinese(_POINTING.sub("", rest))
    if (cut := _pattern("cut_chinese").search(rest)) and cut.start() > 1:
        rest = rest[: cut.start()]
    rest = _pattern("tail_chinese").sub("", rest.strip())
    rest = _POINTING.sub("", rest).strip(" 。，,")
    return _short(rest + noun if noun and not rest.endswith(noun) else rest)


def _short(name: str) -> str:
    name = " ".join(name.split())
    if len(name) > LONGEST:
        head = name[: LONGEST + 1]
        name = head.rsplit(" ", 1)[0] if " " in head[10:] else head[:LONGEST]
    return _pattern("loose").sub("", name)


def _capital(name: str) -> str:
    first = name.split(" ", 1)[0]
    return name[:1].upper() + name[1:] if first.islower() else name


def _noun_chinese(rest: str) -> tuple[str, str]:
    """The noun for the verb that a phrase begins with, and the phrase without the verb."""
    nouns = read_pairs("naming", "nouns_chinese")
    for verb in sorted(nouns, key=len, reverse=True):
        if found := re.match(rf"{verb}(?:一下|下|一遍|好|个|一份)?(?=[\w《“ ]{{2}})", rest):
            return nouns[verb], rest[found.end() :]
    found = _pattern("verb_chinese").match(rest)
    return "", rest[found.end() :] if found else rest


def _pattern(name: str) -> re.Pattern[str]:
    return read_patterns("naming")[name]
