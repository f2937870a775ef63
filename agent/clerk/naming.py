"""A name for a task, from the first thing said in it.

Owns the way from a message to a name: what is to be done, without the wish to do it. Must never invent a word that is
not in the message, but for the noun of a verb ("revise" gives "revision").
"""

from __future__ import annotations

import re
from typing import Final

from agent.clerk.sentences import BLANK, blank, is_chinese

LONGEST: Final = 40
"""Characters of a name at most."""

_READ: Final = 2_000
_SENTENCE: Final = re.compile(r"[.!?。！？；;\n]+(?:\s|$)|[。！？；\n]")
_GREETING: Final = re.compile(
    r"^(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|morning|dear|hola|yo|ok|okay|so|well|right|alright|thanks|thank you"
    r"|please|pls|quick question|new task|task|fyi)\b(?: (?:all|there|team|everyone|folks|clew|again|guys))?[\s,:!–-]*)+"
    r"|^(?:(?:大家好|你好|您好|早上好|下午好|晚上好|早|嗨|哈喽|在吗|在么|嗯|好的?|那个?|请问|麻烦|请|新任务|各位)[\s,，:：!！、]*)+",
    re.I,
)
_WISH: Final = re.compile(
    r"^(?:(?:i|we)(?:'m|'re| am| are|'d|'ve|'ll| would| have| will)? ?(?:also |still |really |just |currently |finally |now |urgently )*"
    r"(?:need(?:ed)?(?: help)?|want(?:ed)?|like|love|have|got|going|gonna|trying|planning|plan|thinking|working|hoping|looking|starting"
    r"|about|supposed|should|must|has|preparing for|been asked|start|struggling|busy)?(?: (?:some )?help)?(?: (?:to|on|with|of|about|for|into))?\b"
    r"|(?:can|could|would|will) (?:you|we|someone|u)(?: please| pls)?(?: help (?:me|us))?(?: (?:to|with|out with))?\b"
    r"|help (?:me|us)(?: (?:to|with|out with))?\b|let's\b|lets\b|(?:it's )?time to\b|working on\b|trying to\b|need(?:ing)?(?: help)?(?: (?:to|with))?\b"
    r"|looking (?:for|to|into)\b|how (?:do|can|should) (?:i|we)(?: best)?\b|what(?:'s| is) the best way to\b|(?:start|begin|get|getting) (?:started )?(?:on|with|working on)\b"
    r"|here(?:'s| is| are)\b|this is(?: about)?\b|it's about\b|about\b|regarding\b|re:?\b|please\b|to\b|some\b|and\b|then\b|i(?:'d)? (?:guess|think|suppose)\b|my (?:boss|manager) wants (?:me|us) to\b|gotta\b|wanna\b|have to\b)\s*",
    re.I,
)
_PLAIN_VERB: Final = re.compile(
    r"^(?:write(?: up)?|draft|prepare|plan(?: out)?|organi[sz]e|create|make|set up|put together|work(?: on| out)?|figure out|come up with|do|finish|produce|develop"
    r"|design|build|get|find|sort out|think about|talk about|discuss|tackle|handle|manage|start|do up|compile|arrange|pull together|compose|run|look (?:at|into|for)|deal with|complete|give|collect|draw up|brainstorm)\b"
    r"(?: (?:me|us|you))?\s+(?:up )?",
    re.I,
)
_NOUNS: Final = {
    "revise": "revision", "revising": "revision", "rework": "rework", "review": "review", "reviewing": "review", "translate": "translation",
    "translating": "translation", "migrate": "migration", "migrating": "migration", "renovate": "renovation", "renovating": "renovation",
    "redesign": "redesign", "update": "update", "updating": "update", "upgrade": "upgrade", "upgrading": "upgrade", "audit": "audit",
    "rewrite": "rewrite", "rewriting": "rewrite", "refactor": "refactoring", "refactoring": "refactoring", "launch": "launch", "launching": "launch",
    "negotiate": "negotiation", "negotiating": "negotiation", "renegotiate": "renegotiation", "compare": "comparison", "comparing": "comparison",
    "evaluate": "evaluation", "analyse": "analysis", "analyze": "analysis", "edit": "edit", "proofread": "proofreading", "test": "test", "repair": "repair",
    "summarise": "summary", "summarize": "summary", "relocate": "relocation", "submit": "submission", "investigate": "investigation",
    "reschedule": "rescheduling", "publish": "publication", "price": "pricing", "insulate": "insulation", "restructure": "restructuring",
    "refinance": "refinancing", "cancel": "cancellation", "book": "booking", "booking": "booking", "hire": "hire",
}  # fmt: skip
_ARTICLE: Final = re.compile(
    r"^(?:(?:the|an?|our|my|this|these|that|some|your|his|her|their|new(?= version)|another|us|me|all|a few|two|three)\s+)+",
    re.I,
)
_CUT: Final = re.compile(
    r"[,;:?!()\n]|\s[-–—]+\s|\.(?=\s|$)|\s(?:because|so that|so (?=we|i|it)|which|that (?=\w+ )|who|by (?=\d|mon|tue|wed|thu|fri|sat|sun|the end|end|next|tomorrow|tonight|june|july|may|march|april|august)|before|until"
    r"|but|since|asap|please|and (?=(?:i|we|then|the|it|he|she|they|don't|want|need|send|make|keep)\b)|as soon|if|when|while|where|in order|today|tomorrow|tonight|right now|this (?:week|month|afternoon|morning)|next (?:week|month)"
    r"|it (?=is|has|must|should|needs)|is|are|was|has|have|must|should|needs|will|can|to (?=be|make|see|get|have)|thanks|thx|in (?=\d+ (?:words|pages|slides))|together|again|instead|somehow|properly|soon)\b",
    re.I,
)
_LOOSE: Final = re.compile(
    r"(?:\s+(?:the|a|an|of|for|to|in|on|at|with|and|or|by|from|our|my|about|into|as|up|out|over))+$", re.I
)

_WISH_CHINESE: Final = re.compile(
    r"^(?:我们?|咱们?|你|您|大家|能不能|可不可以|可以|能|请|麻烦|帮忙|帮|给|替|想要?|需要|要|得|打算|准备|计划|正在|在|开始|着手|来|去|一起|现在|今天|明天|这周|本周|下周|最近|接下来|先|再|赶紧|尽快|继续|老板让|领导让|有个任务|关于|任务|一下|把|将|对|忙)+(?:[:：,，]\s*)?"
)
_VERB_CHINESE: Final = re.compile(
    r"^(?:写|起草|草拟|拟|做|弄|搞|准备|规划|策划|筹备|安排|组织|制定|制作|设计|整理|办|出|画|编|想|定|讨论|列|建|搭|找|处理|完成|拟定|撰写|编写|策划|筹划|张罗)(?:好|完|出)?"
    r"(?:一下|一下子|下|个|一个|一份|一篇|一封|份|篇|封|一套|套|一版|版|一场|场|一次|次|一张|张|些|一些|几个)?(?!备|划|计|理|排|织|法|事|公|化|案)(?=.{2,})"
)
_NOUNS_CHINESE: Final = {"修改": "修改", "修订": "修订", "改": "修改", "翻译": "翻译", "翻": "翻译", "审": "审阅", "审核": "审核", "审阅": "审阅", "迁移": "迁移", "升级": "升级", "装修": "装修", "翻新": "翻新", "重构": "重构", "更新": "更新", "优化": "优化", "对比": "对比", "比较": "对比", "评估": "评估", "续签": "续签", "谈": "谈判", "分析": "分析", "总结": "总结", "润色": "润色", "复习": "复习", "招": "招聘", "招聘": "招聘", "预订": "预订", "订": "预订", "校对": "校对"}  # fmt: skip
_CUT_CHINESE: Final = re.compile(
    r"[，,。；;：:！!？?（(\n、]|\s{2,}|(?:的时候|因为|所以|但是|不过|然后|之前|以便|必须|不能|要求|最好|希望|并且|顺便|还有|，)|(?<=[\u4e00-\u9fff]{4})(?:要|得|用来)(?=[\u4e00-\u9fff])"
)
_TAIL_CHINESE: Final = re.compile(
    r"(?:一下|下|吧|了|吗|呢|啊|哈|的事情?|这件事|这个事|的工作|工作|的问题|的|谢谢|好吗|行吗|可以吗)+$"
)


def name_from(text: str) -> str | None:
    """A name of at most 40 characters for the task that a message begins, or None if it says nothing to name it by."""
    text = text[:_READ]
    plain = blank(text)
    at = 0
    for found in [*_SENTENCE.finditer(plain), None]:
        end = found.start() if found else len(plain)
        sentence = text[at:end].strip().lstrip("-*#>•· ")
        blanked = plain[at:end].count(BLANK) > (end - at) / 2
        at = found.end() if found else end
        if sentence and not blanked and (name := _name(sentence)):
            return name
    return None


def _name(sentence: str) -> str | None:
    sentence = _GREETING.sub("", sentence).strip()
    if not sentence:
        return None
    name = _chinese_name(sentence) if is_chinese(sentence) else _english_name(sentence)
    return name if len(re.findall(r"\w", name)) >= 3 - is_chinese(name) else None


def _english_name(sentence: str) -> str:
    rest = sentence.replace("’", "'")
    for _ in range(6):
        found = _WISH.match(rest)
        if not found or not found[0]:
            break
        rest = rest[found.end() :].lstrip(" ,:")
    while found := _PLAIN_VERB.match(rest):
        rest = rest[found.end() :]
    first, _, object_ = rest.partition(" ")
    noun = _NOUNS.get(first.lower()) if object_ else None
    if noun:
        rest = object_
    rest = _ARTICLE.sub("", rest)
    if (cut := _CUT.search(rest)) and cut.start() > 0:
        rest = rest[: cut.start()]
    if noun and not rest.lower().endswith(noun):
        head, middle, tail = _before_preposition(rest)
        rest = f"{head} {noun}{middle}{tail}"
    return _capital(_short(rest.strip(" -–—.'\"")))


def _before_preposition(phrase: str) -> tuple[str, str, str]:
    found = re.search(r" (?:for|with|from|to|in|at|into|between|on) ", phrase)
    if not found:
        return phrase, "", ""
    return phrase[: found.start()], found[0], phrase[found.end() :]


def _chinese_name(sentence: str) -> str:
    rest = sentence
    if found := _WISH_CHINESE.match(rest):
        rest = rest[found.end() :] or rest
    noun = ""
    for verb in sorted(_NOUNS_CHINESE, key=len, reverse=True):
        if found := re.match(rf"{verb}(?:一下|下|一遍|好|个|一份)?(?=[\w\u4e00-\u9fff《“ ]{{2}})", rest):
            noun, rest = _NOUNS_CHINESE[verb], rest[found.end() :]
            break
    else:
        if found := _VERB_CHINESE.match(rest):
            rest = rest[found.end() :]
    if (cut := _CUT_CHINESE.search(rest)) and cut.start() > 1:
        rest = rest[: cut.start()]
    rest = _TAIL_CHINESE.sub("", rest.strip())
    rest = re.sub(r"^(?:这个?|那个?|一份|一个|我们的|我的|咱们的)", "", rest).strip(" 。，,")
    return _short(rest + noun if noun and not rest.endswith(noun) else rest)


def _short(name: str) -> str:
    name = " ".join(name.split())
    if len(name) > LONGEST:
        head = name[: LONGEST + 1]
        name = head.rsplit(" ", 1)[0] if " " in head[10:] else head[:LONGEST]
    return _LOOSE.sub("", name)


def _capital(name: str) -> str:
    first = name.split(" ", 1)[0]
    return name[:1].upper() + name[1:] if first.islower() else name
