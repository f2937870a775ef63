"""The small words that turn a sentence: denial, doubt, "no longer", "optional".

Owns the patterns and what they rule. Must never know what a sentence is about.
"""

from __future__ import annotations

import re
from typing import Final

from .numerals import NUMBER_WORD
from .words import segments

_I: Final = re.IGNORECASE
_COMPARING: Final = (
    "exceed|exceeding|above|over|more than|beyond|longer than|later than|greater than|higher than|after|below|under"
    "|less than|fewer than|earlier than|shorter than|lower than|before"
)
_NOT_DENIAL: Final = re.compile(
    r"\bnot (?:only|just|least|yet|sure|clear|known|certain|decided|settled|agreed upon|resolved|final"
    r"|been (?:decided|settled|agreed"
    r"|resolved|answered))\b|\b(?:or|if|why|whether) not\b|\bno longer\b|\bno(?:t|r)? (?:more|later|less|fewer"
    r"|earlier|longer) than\b"
    rf"|(?:\b(?:not|never|no|cannot)|n't)(?: [a-z]+){{0,4}} (?:{_COMPARING})\b(?=[^.;]{{0,24}}(?:\d"
    rf"|\b(?:{NUMBER_WORD})\b))"
    r"|[不别][得能可应会许]?(?:超过|高于|低于|少于|早于|晚于|多于|迟于|大于|小于|超出)"
    r"|\bnothing (?:else|more|further)\b|\bno (?:other )?(?:open|further) |\bnone(?= of the)"
    r"|不得不|不能不|不仅|不但|不同|不错|不断|不久|不论|无论|是否|能否|可否|尚未|还未|仍未|未定|未决|未来|未经"
    r"|不过|不变|不等|不确定|不清楚|不一定|非常|没问题"
    r"|不再|还没有?|是不是|要不要|能不能|会不会|有没有|无误|不明|而不是|而非",
    _I,
)
_DENIAL: Final = re.compile(
    r"\b(?:not|never|no|cannot|nor|neither|nobody|none|nothing|without|avoid(?:s|ing|ed)?|forbids?|forbade"
    r"|prohibits?|bans|bar(?:s|red) )\b"
    r"|n't\b|(?:绝|决|概)?不(?:得|能|可以?|会|应该?|要|许|予|必|用|准|该)?|切?勿|别(?![的人名处是家样开])|没有?"
    r"|未|无[需须权]?|并?非|免于"
    r"|禁止|严禁|杜绝",
    _I,
)
_DENIED_WHOLE: Final = re.compile(
    r"\b(?:prohibited|forbidden|banned|barred|disallowed|ruled out|off the table|out of scope|out of the question"
    r"|unacceptable"
    r"|not (?:be )?(?:allowed|permitted|acceptable|admitted))\b|禁止|严禁|不允许|不准|不被允许|不可接受",
    _I,
)
_OPEN: Final = re.compile(
    r"\?|\b(?:whether|undecided|unresolved|unsettled|unanswered|unclear|unsure|unknown|uncertain|pending"
    r"|await(?:s|ing|ed)?|outstanding"
    r"|tbd|tba|tbc|open|questions?|asks?|asking|wonder(?:s|ing)?|undetermined|to (?:be )?(?:decided?|settled?"
    r"|answer(?:ed)?|resolved?|determined?"
    r"|clarif(?:y|ied)|agreed?|discuss(?:ed)?)|(?:not|n't|never|yet to|nobody has|no one has"
    r"|still)(?: (?:been|be|yet|to be))?"
    r" (?:decided|settled|agreed|resolved|answered|known|confirmed|clear|certain|sure|final|chosen|fixed|determined)"
    r"|(?:need|needs|have|has|still|want) to find out|(?:not|n't|nobody|no one|never)(?: has"
    r"| have)?(?: yet)? (?:knows?|said|heard|thought)|waiting (?:for|on)|still (?:waiting|missing|needs?|have to"
    r"|has to|to)|remains? to be|no (?:answer|decision"
    r"|reply|agreement)"
    r"|not yet|if\b(?! (?:possible|needed|necessary)))\b"
    r"|是否|能否|可否|待定|待决|待确认|待回答|待回复|待解决|没想好|再定|尚无|待答|未定|未决|未解决|未确定|未回答"
    r"|尚未|还没|仍未"
    r"|有待|悬而未决|没有定|没定|不确定|不清楚|不明"
    r"|问题|等待|要不要|能不能|会不会|是不是|有没有|疑问|讨论中|[吗呢](?=\W|$)",
    _I,
)
_SETTLES: Final = re.compile(
    r"\b(?:accept(?:s|ed)|agree[sd]|confirm(?:s|ed)|approve[sd]|reject(?:s|ed)|decline[sd]|refuse[sd]|decided"
    r"|settled|granted|signed|chosen|chose"
    r"|resolved|answered|fixed|will|won't|is|are|has|have|does|did|do|can|must|was|were)\b|同意|接受|确认|批准"
    r"|拒绝|决定|已|将会?|会|可以|了(?=\W|$)",
    _I,
)
_LIMITS: Final = re.compile(
    r"\b(?:at most|no more|not more|up to|capped|limited|at least|more than|less than|only|unless|until|no|not"
    r"|never|nobody)\b"
    r"|[至最][多少]|以[内上下]",
    _I,
)
_MAY: Final = re.compile(r"\b(?:may|might|could)\b(?! (?:not|never|no|only)\b|n't)|(?<!不)可以(?!不)")
_WEAK: Final = re.compile(
    r"\b(?:optional(?:ly)?|if possible|where possible|ideally"
    r"|preferabl[ey]|preferred|nice to have"
    r"|recommend(?:ed|s)?|suggested|a suggestion|try to|not required|not mandatory|waivable|negotiable"
    r"|a guideline|need not|no need"
    r"|not necessar(?:y|ily)|(?:does|do|did)(?: not|n't) (?:have|need) to)\b"
    r"|可选|(?<!不)可酌情|尽量|最好|建议|酌情|视情况|如有可能|若可能|原则上|不强制|非必须"
    r"|不是必须|不必|无需|无须|不要求|倾向于",
    _I,
)
_PAST_AFTER: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|replac(?:es|ed|ing)|supersed(?:es|ed|ing)|overrid(?:es|den|ing)"
    r"|no longer|not|formerly"
    r"|(?:was|were)(?! (?:decided|agreed|chosen|approved|confirmed|set|accepted|settled|fixed|to\b))"
    r"|previous(?:ly)?|earlier|original(?:ly)?"
    r"|initial(?:ly)?|(?:down|up|away|moved|changed|switched)?\s?from|used to|drop(?:s|ped)|remov(?:e[sd]|ing)"
    r"|abandon(?:s|ed)"
    r"|scrapp(?:ed|ing)|withdr(?:ew|awn)"
    r"|lift(?:s|ed)|retire[sd]|old|cancel(?:s|led|ed)|revoke[sd]|former|prior)\b"
    r"|取代了?|替代了?|代替了?|替换了?|而不是|而非|不是|不再|原为|原来|原先|原定|原本|最初|起初|此前|之前|先前"
    r"|早先|旧的?|从|由|放弃|弃用|撤销|取消|推翻|删除|作废|废止",
    _I,
)
_PAST_BEFORE: Final = re.compile(
    r"\b(?:(?:was|were|been|being|is|are|got) (?:\w+ )?(?:replaced|superseded|changed|moved|raised|lowered|cut"
    r"|extended|shortened|dropped|withdrawn"
    r"|retired|lifted|abandoned|overtaken|overturned|cancelled|canceled|revoked|gone|scrapped|rejected|off)"
    r"|no longer|replaced by|superseded by"
    r"|gave way|changed to|is history|any ?more|does not hold|is void)\b|→|->|⇒|改为|改成|改到|改用|变为|调整为"
    r"|调整到|被[^,。;]{0,8}(?:取代|替代|推翻|替换)"
    r"|已取代|作废|已取消|不再|已撤销|废止|失效|已解除|已放弃|换成|推迟到|提前到|延至",
    _I,
)
_TURN: Final = re.compile(r"\b(?:to|but|now|by|with)\b|改|现|而是|→|->", _I)


def is_open(text: str) -> bool:
    """Whether it says that something is not settled."""
    return _OPEN.search(text) is not None


_UNDECIDED: Final = re.compile(
    r"\b(?:undecided|unresolved|unsettled|whether|still open|is open|are open|remains? open|tbd|to be (?:decided"
    r"|settled|agreed|determined)"
    r"|(?:not|n't|never|yet to)(?: (?:been|be|yet)){0,2} (?:decided|settled|agreed|resolved|fixed|determined"
    r"|certain|clear))\b"
    r"|是否|待定|待决|未定|未决|未解决|未确定|尚未|还没|仍未|悬而未决|没有定|没定",
    _I,
)


def is_undecided(text: str) -> bool:
    """Whether it says so in so many words; a narrower question than :func:`is_open`."""
    return _UNDECIDED.search(text) is not None


def settles(text: str) -> bool:
    """Whether it says of something that it is so."""
    return _SETTLES.search(text) is not None


_CANCELS: Final = re.compile(
    r"\b(?:no longer|dropped|rejected|retired|withdrawn|cancell?ed|revoked|overturned)\b|不再|已取消|作废|已撤销|并非",
    _I,
)


def cancels(heading: str) -> bool:
    """Whether a heading says that what stands under it holds no longer."""
    return _CANCELS.search(heading) is not None


def is_weak(text: str) -> bool:
    """Whether it leaves somebody the choice."""
    if _WEAK.search(text):
        return True
    return _MAY.search(text) is not None and not _LIMITS.search(text) and not denied(text)


def denied(text: str) -> list[tuple[int, int]]:
    """The stretches of a sentence that are denied: from a denial to its segment's end, or all of the segment."""
    if not _DENIAL.search(text) and not _DENIED_WHOLE.search(text):
        return []
    spans: list[tuple[int, int]] = []
    harmless = [match.span() for match in _NOT_DENIAL.finditer(text)]
    for start, end in segments(text):
        if _DENIED_WHOLE.search(text, start, end):
            spans.append((start, end))
            continue
        for match in _DENIAL.finditer(text, start, end):
            if not any(low < match.end() and match.start() < high for low, high in harmless):
                spans.append((match.start(), end))
                break
    return spans


def denies(text: str) -> bool:
    """Whether there is a word of denial in it, also where it only compares."""
    return _DENIAL.search(text) is not None


def is_past(text: str, at: int, end: int, own: str = "") -> bool:
    """Whether what stands at ``at`` … ``end`` is told as something that held once; not by words of its ``own``."""
    for low, high in segments(text):
        if low <= at < high:
            return _turned(text, low, at, own) or _PAST_BEFORE.search(text, end, min(high + 30, end + 60)) is not None
    return False


def _turned(text: str, low: int, at: int, own: str) -> bool:
    cues = [cue for cue in _PAST_AFTER.finditer(text, max(low, at - 48), at) if cue.group().lower() not in own.lower()]
    return any(not _TURN.search(text, cue.end(), at) for cue in cues)


_STANCES: Final = {
    axis: (re.compile(yes, _I), re.compile(no, _I))
    for axis, yes, no in (
        (
            "consent",
            r"\b(?:accept(?:s|ed|ance)?|approve[sd]?|approval|agree[sd]?(?: to)?)\b|接受|批准|同意",
            r"\b(?:reject(?:s|ed|ion)?|decline[sd]?|refuse[sd]?|veto(?:es|ed)?|den(?:y|ies|ied)|disagree[sd]?)\b"
            r"|拒绝|驳回|否决|反对",
        ),
        (
            "keep",
            r"\b(?:keep|keeps|kept|retain(?:s|ed)?)\b|保留",
            r"\b(?:drop(?:s|ped)?|scrap(?:s|ped)?|discard(?:s|ed)?|delete[sd]?|erase[sd]?)\b|放弃|删去|删除",
        ),
        (
            "allow",
            r"\b(?:allow(?:s|ed)?|permit(?:s|ted)?)\b|允许|准许",
            r"\b(?:forbid(?:s|den)?|prohibit(?:s|ed)?|ban(?:s|ned)?)\b|禁止|严禁",
        ),
        (
            "include",
            r"\b(?:include[sd]?|including)\b|包含|包括",
            r"\b(?:exclude[sd]?|excluding|omit(?:s|ted)?)\b|不含|不包含|不包括|剔除|排除",
        ),
        (
            "raise",
            r"\b(?:increase[sd]?|raise[sd]?|rise[sn]?)\b|增加|提高|上调",
            r"\b(?:decrease[sd]?|reduce[sd]?|lower(?:s|ed)?|cuts?)\b|减少|降低|下调",
        ),
        ("pass", r"\b(?:pass(?:es|ed)?|succeed(?:s|ed)?)\b|通过|成功", r"\b(?:fail(?:s|ed)?)\b|失败|未通过|没通过"),
        ("win", r"\b(?:enable[sd]?|activate[sd]?)\b|启用|开启", r"\b(?:disable[sd]?|deactivate[sd]?)\b|停用|关闭|禁用"),
    )
}


def stances(text: str) -> dict[str, set[bool]]:
    """For each pair of opposites that it speaks of, which of the two it takes; a denial turns it about."""
    spans = denied(text)
    taken: dict[str, set[bool]] = {}
    for axis, sides in _STANCES.items():
        for side, pattern in zip((True, False), sides, strict=True):
            for match in pattern.finditer(text):
                turned = any(start < match.start() < end for start, end in spans)
                taken.setdefault(axis, set()).add(side != turned)
    return taken
