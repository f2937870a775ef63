"""What people ask of the ledger: what was decided, what is open, what must hold, what is next, where things stand.

Owns the recognition of such queries in both languages. Must never answer one: that is for ``replies``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from agent.clerk.rules import compiled
from agent.clerk.sentences import READ, blank, is_chinese

About = Literal["decisions", "questions", "constraints", "next_steps", "everything", "who_said"]


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked for, and in which words about what (empty: about all)."""

    of: About
    subject: str = ""
    critical_only: bool = False


_SUBJECT: Final = re.compile(r"\b(?:about|on|regarding|concerning|for|with|re)\s+(.{2,80}?)[?.!\s]*$", re.I)
_SUBJECT_CHINESE: Final = re.compile(r"(?:关于|对于|针对)?(.{1,30}?)(?:的事|方面|这块|上|的)?(?:我们|咱们|当时|之前|上次|都|是|最后|到底|怎么)*(?:决定|定|说|商量|敲定|约定|有(?:什么|哪些)|还有|是)")

_QUERIES: Final[tuple[tuple[About, re.Pattern[str]], ...]] = (
    ("who_said", compiled(r"\bwho (?:said|says|decided|wrote|asked|wants|wanted|suggested|agreed|proposed|added|brought up|mentioned)\b|\bwhat did (?!we\b|i\b|you\b)[\w' ]{2,25} (?:say|write|ask|want|decide|suggest)\b|谁(?:说|决定|定|写|提|问|要求)(?:的|了|过)?|(?!我们|咱们)[\w\u4e00-\u9fff]{2,6}(?:说|提|问)(?:了|过)(?:什么|啥|哪些)")),
    ("everything", compiled(r"\bwhere (?:were|are|did) we\b|\bwhere (?:do|did) (?:we|things|i) (?:stand|leave|stop)|\bcatch me up\b|\bbring me up to\b|\brecap\b|\bwhat(?:'s| is) the (?:status|state|summary|situation|current state)\b|\b(?:give|show|send) (?:me|us) (?:a |the )?(?:quick |short )?(?:summary|recap|overview|status|gist)\b|^(?:please )?summari[sz]e(?: (?:the |this |our )?(?:task|thread|chat|discussion|conversation|so far|everything|it|state))*(?: so far)?(?: please)?[.!?]*$|\bwhat did i miss\b|\bwhat have (?:we|i) (?:got|done) so far\b|\bhow far (?:are|did) we\b|^(?:summary|status|overview|recap)(?: please)?[?.!]*$|上次(?:说|聊|做|进行|讲)到|(?:说|聊|做|进行|进展)到哪|(?:现在|目前)(?:什么|啥|怎么|是什么)?(?:情况|状态|进度|进展)|^(?:请|帮我|给我)?(?:总结|汇总|概括|梳理)(?:一下|下)?(?:上面|目前|现在|这个任务|到现在|进展|情况|讨论|的|我们)*[。?？!！]*$|回顾一下|我错过了什么|进展(?:如何|怎么样)")),
    ("decisions", compiled(r"\bwhat (?:did|have|had|has) (?:we|i|they|the \w+|been) (?:\w+ )?(?:decide|agree|settle|cho|pick|conclu)\w*|\bwhat (?:was|is|were|are|got) (?:\w+ )?(?:decided|agreed|settled)\b|\bwhat(?:'s| is| was| are| were) the (?:decisions?|agreement|outcome|verdict)\b|\b(?:which|what|list|show|all|any|the)(?: me)?(?: all)?(?: of)?(?: the| our)? decisions\b|\bdecisions (?:so far|we)\b|\b(?:did|have) we (?:already |ever )?(?:decide|agree|settle|chosen|pick|choose)\w*|\bdecisions\?$|(?:决定|定|约定|敲定|商量|说好)(?:了|过|下来|的)?(?:什么|啥|哪些|多少|几)|(?:定|决定|敲定)(?:的|了)(?:是)?(?:什么|啥|哪|多少|几|怎么)|怎么(?:定|决定|说)的|(?:有|做|列|显示|看)?(?:了|过)?(?:哪些|什么|所有|全部|一下)(?:的)?决定|(?:定|决定)(?:了|过)?(?:没|吗)")),
    ("questions", compiled(r"\bwhat(?:'s| is| are)? (?:\w+ )?(?:still |left )?(?:open|undecided|unresolved|unanswered|unclear|outstanding|missing)\b|\bopen (?:questions?|points?|issues?|items?)\b|\bstill (?:undecided|unresolved|open|unclear)\b.*\?|\beverything (?:that's |that is )?(?:still )?(?:undecided|open)|\bwhat (?:do|don't) we (?:still )?(?:not )?(?:know|need to (?:decide|find out|clarify))|\bwhat (?:have|haven't) we not|\bwhich questions\b|还有(?:什么|哪些|啥)(?:问题)?(?:没|未|待|悬|不)|(?:哪些|什么|所有|列出|列一下|显示)(?:的)?(?:事|问题|东西)?(?:还)?(?:没定|未定|待定|悬|没解决|未解决|没回答|问题)|(?:没定|未决|待定|未解决|开放)的(?:事|问题)?(?:有|是|列|还)|待定的?(?:有|是)?(?:哪些|什么)")),
    ("constraints", compiled(r"\bwhat must (?:hold|we|be)\b|\b(?:what|which|list|show|all)(?:'s| is| are| me)?(?: all| the| our| critical| hard| of)* (?:constraints?|requirements?|rules?|limits?|restrictions|must[- ]haves)\b|\bconstraints\?$|\bwhat (?:can't|can|may|must|should) (?:we|i) (?:not )?(?:do|forget|respect|watch|observe|keep)|\bwhat do (?:we|i) have to (?:respect|observe|watch|keep|stick)|\bany (?:constraints|rules|limits)\b|(?:哪些|什么|所有|全部|列出|显示|有啥)(?:的|关键|硬性|重要|必须)*(?:约束|限制|要求|规定|条件)|(?:约束|限制|要求|硬性条件)(?:有|是|都有|列)(?:哪些|什么|啥|一下)|必须(?:遵守|满足|注意)(?:什么|哪些|的)|(?:什么|哪些)(?:是)?(?:必须|不能)")),
    ("next_steps", compiled(r"\bwhat(?:'s| is| are| comes)? (?:the |our |my )?next\b|\bnext steps?\b.*\?|^next steps?\b|\bwhat (?:do|should|must) (?:we|i) (?:have to |need to )?do (?:next|now)\b|\bwho(?:'s| is| does) (?:doing )?what\b|\bto-?do list\b|\b(?:list|show)(?: me)?(?: the| all| our)* (?:to-?dos|next steps|tasks|action items)\b|下一步(?:是|做|该|干|要)?(?:什么|啥|怎么|呢)|接下来(?:做|干|该|要|是|怎么)|(?:还|要)(?:有什么|有哪些|需要)?(?:要)?(?:做|办)(?:什么|啥|的事|哪些)|待办(?:有|是|列|清单|事项)|下一步[?？]$")),
)
_CRITICAL: Final = compiled(r"\bcritical\b|\bhard\b|关键|硬性|最重要|严格")


def find_queries(text: str) -> list[Query]:
    """The queries in a message, each kind once, in the order of their kinds."""
    plain = blank(text[:READ])
    found: list[Query] = []
    for line in re.split(r"(?<=[?？。!！\n])\s*|(?<=\.)\s+", plain):
        line = line.strip()
        if not 3 <= len(line) <= 200:
            continue
        query = _query(line)
        if query and query not in found:
            found.append(query)
    return found


def _query(line: str) -> Query | None:
    for of, pattern in _QUERIES:
        if pattern.search(line):
            return Query(of, _subject(line, of), bool(_CRITICAL.search(line)) and of == "constraints")
    return None


def _subject(line: str, of: About) -> str:
    if of == "everything":
        return ""
    if of == "who_said":
        return line
    if is_chinese(line):
        found = _SUBJECT_CHINESE.search(line)
        words = found[1] if found else ""
        return re.sub(r"^(?:我们|咱们|当时|之前|上次|目前|现在|请问|那|对于|关于|帮我|看看|列出|显示|所有|还|都|最后|到底)+", "", words)
    found = _SUBJECT.search(line)
    return found[1].strip() if found and not re.match(r"(?:so far|now|today|the (?:list|plan)|this|it|me)\b", found[1]) else ""
