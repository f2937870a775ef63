"""What a decision is about, and which earlier decision it takes the place of.

Owns topics and supersession. Must never retire a decision about something else: no match, or two alike, retire none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from agent.clerk.sentences import is_chinese
from agent.clerk.terms import same_words, shared, terms

_LONGEST: Final = 40
_ARTICLE: Final = r"(?:(?:the|our|my|a|an|this|that|their|his|her|all|your) )?"
_NOT_THINGS: Final = frozenset(
    "we i it everyone everybody all they he she you this that there us let's lets let we'll we're".split()
)

_ENGLISH: Final = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b(?:switch|move|postpone|push|change|bring|rename|swap|replace|shift|reschedule|defer|delay|turn|bump)(?:ing|ed|s|ing)? {_ARTICLE}([\w'&./ -]{{2,40}}?) (?:to|with|from|until|by|back|forward|out|over|up|down|into|onto)\b",
        rf"\b(?:postponing|moving|switching|changing|replacing|delaying|shifting) {_ARTICLE}([\w'&./ -]{{2,40}}?) (?:to|with|from|until|by|back|forward)\b",
        rf"\bfor {_ARTICLE}(?!(?:now|everyone|everybody|anything|good|all|sure|it|that|this|them|us|me|free|real|example|instance)\b)([\w'&./ -]{{2,30}}?)(?: (?:is|are|instead|only|on|in|at|next|this|from|until|by|with|will)\b.*)?$",
        rf"\bas {_ARTICLE}(?!(?:planned|is|well|usual|before|soon|agreed|discussed|originally)\b)([\w' -]{{2,30}})$",
        rf"^{_ARTICLE}([\w'’&./ -]{{2,40}}?)(?:'s| (?:is|are|was|were|moves?|moved|goes|go|stays?|will|gets?|has|have|remains?|becomes?|runs?|won't|isn't|aren't|happens|takes?|starts?|shifts?|wins?|slips?|changes?|needs|can|closes|opens|comes?|ends?))\b",
        rf"\b(?:scrap|skip|drop|cancel|kill|ditch|keep|not renew|renew|close|open|buy|rent|hire|use|adopt|retire|deprecate|serve|host|hold|outsource|paint|build|merge|publish|take|include|exclude|extend|split|share|leave|print|remove|support|make it|pick|choose|chose|chosen|picked|approved|rejected|selected|scrapping|skipping|dropping|cancelling|canceling|closing|keeping|renewing|opening|buying|renting|hiring|using|doing|painting|building|hosting|holding|serving|taking|including|leaving|splitting|choosing|picking|adopting|retiring|printing|sharing|having|do|have) (?:only )?{_ARTICLE}([\w'&./#-]+(?: [\w'&./#-]+){{0,2}}?)(?= (?:in|on|at|with|from|to|by|for|until|after|before|instead|as|and|out|through|than|of|this|next|into|then|not|over)\b|,|$| \w+ \w+$)",
        rf"\b(?:on|with|for|to|w/?|of|into|from) {_ARTICLE}([\w'&./#-]+(?: [\w'&./#-]+){{0,2}}?)(?= (?:in|on|at|with|from|by|for|until|after|before|instead|as|and|rather|not|over|this|next|then)\b|,|$)",
    )
)
_TOPIC_OF_CHOICE: Final = len(_ENGLISH) - 1

_LEAD: Final = re.compile(
    r"^(?:那就|就|我们|咱们|大家|我|咱|最终|最后|已经|已|都|全票|一致|商量好了?|经过|决定了?|决定把|确定|同意了?|通过了?|说好了?|评委|把|将|还是|统一|正式|暂时|先|然后|这次|现在|由|从|让|给|只)+"
)
_CHINESE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(.{1,14}?)(?:就|最终|最后|还是|都|统一|暂时|先|全部|正式|确定|决定|一律|我|咱们|我们)*(?:从.{1,10})?(?:定在|定为|定于|定成|定|改成|改为|改到|改在|改用|改由|改|换成|换到|换为|换|挪到|移到|搬到|推迟|延期|延后|提前|顺延|加到|减到|降到|升到|调到|调整|取消|不|保持|维持|照旧|沿用|保留|敲定|选定|选|采用|用|放在|放到|放|安排|设在|铺|找|买|租|走|按|交给|归|给|刷|住|订|飞|请|办|签|砍掉|停掉|作废|暂停|合并|拿|续|在)",
        r"(?:选用|采用|沿用|选了|选|用|飞|去|走|租|买|找|请|关掉|取消|砍掉|停掉|保留|放弃|续约|续|决定|同意|通过|分)(?:的是)?([\w\u4e00-\u9fff《》 .·-]{1,14}?)(?:吧|了|的|$|，|,)",
        r"^([\w\u4e00-\u9fff ]{1,10})",
    )
)
_CHANGES: Final = re.compile(
    r"\b(?:instead|not|rather|switch\w*|mov(?:e|es|ed|ing)|chang\w+|postpon\w+|replac\w+|back to|after all|no longer|drop\w*|scrap\w*|cancel\w*)\b"
    r"|改|换|不|取消|推迟|提前|延|挪|还是|加到|减到|升|降|撤|停|作废|砍",
    re.I,
)


def topic_of(quote: str) -> tuple[str, bool]:
    """A short noun phrase from a decision: what it is about, and whether that is named (else: what was chosen)."""
    return _chinese_topic(quote) if is_chinese(quote) else _english_topic(quote)


def superseded(quote: str, topic: str, decisions: Sequence[dict[str, Any]]) -> str | None:
    """The id of the one decision about the same thing with another outcome, or None."""
    scores = sorted(((_likeness(quote, topic, old), str(old["id"])) for old in decisions), reverse=True)
    if not scores or scores[0][0] < 1 or (len(scores) > 1 and scores[1][0] >= scores[0][0]):
        return None
    return scores[0][1]


def _likeness(quote: str, topic: str, old: dict[str, Any]) -> float:
    if same_words(quote, str(old["text"])):
        return 0
    old_topic = str(old.get("topic") or topic_of(str(old["text"]))[0])
    mine, theirs = terms(topic), terms(old_topic)
    of_both = shared(terms(quote), terms(f"{old_topic} {old['text']}"))
    union = shared(mine | theirs, mine | theirs)
    if union and shared(mine, theirs) / union >= 0.5:
        return 3 + of_both
    if of_both >= 1 and _CHANGES.search(quote):
        return of_both
    return 0


def _english_topic(quote: str) -> tuple[str, bool]:
    for index, pattern in enumerate(_ENGLISH):
        for found in pattern.finditer(quote):
            phrase = found[1].strip(" -'’")
            if phrase and phrase.split()[0].lower() not in _NOT_THINGS and len(phrase.split()) <= 5:
                return phrase[:_LONGEST], index < _TOPIC_OF_CHOICE
    return _cut(quote), False


def _chinese_topic(quote: str) -> tuple[str, bool]:
    rest = quote[found.end() :] if (found := _LEAD.match(quote)) and found.end() < len(quote) else quote
    for index, pattern in enumerate(_CHINESE):
        if (found := pattern.search(rest if index != 1 else quote)) and found[1].strip():
            return found[1].strip()[:_LONGEST], index == 0
    return _cut(quote), False


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    head = text[:_LONGEST]
    return head.rsplit(" ", 1)[0] if " " in head else head
