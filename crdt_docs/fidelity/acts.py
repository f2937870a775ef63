"""Acts, and whether a sentence tells them as done or as still to be done. Must never guess: most are neither."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from .words import root, segments

State = Literal["done", "pending"]

_I: Final = re.IGNORECASE
_ACTS: Final = dict(
    line.split(" ", 1)
    for line in r"""approve approv\w*|sign(?:s|ed|ing)?[ -]?off|批准|审批
accept accept\w*|接受
sign signed|signing|signs?\b|signature|签署|签字|签订
confirm confirm\w*|确认
agree agree(?:d|s)?\b|同意
complete complet\w+|finish\w*|完成
send sends?\b|sent|sending|发送|发出|寄[出给了]|发给
submit submit\w*|submission|提交
review review\w*|审核|审阅|评审
pay pays?\b|paid|支付|付款
deliver deliver\w*|交付
publish publish\w*|发布
launch launch\w*|上线
test test(?:s|ed|ing)?\b|测试
book book(?:s|ed|ing)?\b|预订|订好
merge merg(?:e[sd]?|ing)\b|合并
hire hir(?:e[sd]?|ing)\b|录用
deploy deploy\w*|部署
write writes?\b|wrote|written|起草|撰写
receive receiv\w*|收到
ship ship(?:s|ped|ping)?\b|发货
file filed|filing
reply repl(?:y|ies|ied)\b|回复|答复
run runs?\b|ran\b|running""".splitlines()
)
_ACT: Final = re.compile("|".join(rf"(?P<{act}>(?<![a-z_])(?:{pattern}))" for act, pattern in _ACTS.items()), _I)
_NOUN: Final = re.compile("approval|acceptance|signature|confirmation|completion|submission|review|delivery|test")
_PENDING_BEFORE: Final = re.compile(
    r"\b(?:to|must|should|shall|will|needs?|would|yet|pending|await(?:s|ing)?|waiting|requires?|required|until"
    r"|unless|once|if|before|subject|seek(?:s|ing)?"
    r"|missing|want(?:s|ed)?|ask(?:s|ed)?|not|never)\b[^,;.]{0,28}$|(?:需|待|须|将|等|尚未|仍未|未|还没|请|应"
    r"|计划|准备|下一步|要求)[^,;。]{0,10}$",
    _I,
)
_PENDING_AFTER: Final = re.compile(
    r"^[^,;.]{0,12}\b(?:required|needed|pending|outstanding|missing|awaited|necessary|due)\b|^[^,;。]{0,3}(?:待定"
    r"|尚缺|未完成|未到)",
    _I,
)
_LACKING: Final = re.compile(
    r"\b(?:required|needed|pending|outstanding|missing|awaited|necessary)\b|(?<!without )\b(?:still|yet) to\b", _I
)
_DONE_AUX: Final = re.compile(r"\b(?:has|have|had|was|were|been|already|'ve)\b(?: (?!to\b|be\b)\w+){0,2}\s$", _I)
_DONE_ZH_BEFORE: Final = re.compile(
    r"已经?(?!确定|决定|约定|商定|同意|定|明确|确认)[^,;。]{0,12}$|(?:获得?|得到|经)[^,;。]{0,4}$"
)
_DONE_ZH_AFTER: Final = re.compile(r"^(?:了|完毕|完成|通过了?)")
_PASSIVE: Final = re.compile(r"\b(?:is|are|be|being)\b(?: \w+)?\s$", _I)
_ATTRIBUTE: Final = re.compile(
    r"\b(?:the|an?|his|her|its|their|our|your|this|that|these|those|all|any|each|every|no|of|with)\s$", _I
)
_IRREGULAR: Final = frozenset(
    "sent paid met written wrote made given gave told chosen chose bought built held took taken done got ran".split()
)


def acts(text: str) -> Iterator[tuple[str, State]]:
    """The acts in a sentence that are told as done or as still to be done; of the others nothing is said."""
    for start, end in segments(text):
        for match in _ACT.finditer(text, start, end):
            act = match.lastgroup or ""
            state = _state(match.group().lower(), text[start : match.start()], text[match.end() : end])
            if state is not None:
                yield act, state


def _state(word: str, before: str, after: str) -> State | None:
    if not word.isascii():
        if _PENDING_BEFORE.search(before) or _PENDING_AFTER.search(after):
            return "pending"
        return "done" if _DONE_ZH_BEFORE.search(before) or _DONE_ZH_AFTER.search(after) else None
    if _PENDING_AFTER.search(after) or (_NOUN.fullmatch(word) and _LACKING.search(after)):
        return "pending"
    past = word.endswith("ed") or word in _IRREGULAR
    if past and _ATTRIBUTE.search(before):
        return None
    if past and _DONE_AUX.search(before):
        return "pending" if re.search(r"\b(?:not|yet|never)\b", before[-24:]) else "done"
    if _PENDING_BEFORE.search(before[-40:]):
        return "pending"
    return "done" if past and not _PASSIVE.search(before) else None


def mentions(text: str) -> frozenset[str]:
    """The acts that are spoken of, done or not."""
    return frozenset(match.lastgroup or "" for match in _ACT.finditer(text))


_DOING: Final = re.compile(r"[a-z]{4,24}|(?:已经?|均已)(?P<zh>[\u4e00-\u9fff]{2})|(?P<zh2>[\u4e00-\u9fff]{2})了", _I)


def finished(text: str) -> Iterator[tuple[str, str]]:
    """Whatever is told as done, known act or not: what the word counts as, and the word itself."""
    for start, end in segments(text):
        for match in _DOING.finditer(text, start, end):
            zh = match["zh"] or match["zh2"]
            surface = match.group().lower()
            past = surface.endswith("ed") or surface in _IRREGULAR
            if zh and not _PENDING_BEFORE.search(text[start : match.start()]):
                yield zh, zh
            elif not zh and past and _state(surface, text[start : match.start()], text[match.end() : end]) == "done":
                yield root(surface), surface
