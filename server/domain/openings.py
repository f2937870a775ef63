"""How messages begin that begin something. Owns a few patterns for English and Chinese; must never decide alone.

What is new is asked for with an indefinite article, or in general ("write a", "how do I", "帮我写一份"); what is under
way is spoken of as known ("the cap", "Dana's mail"). It is a cue that raises what a task must have for it, and no more.
"""

from __future__ import annotations

import re
from typing import Final

_READ: Final = 120
"""Characters of the beginning, which bounds what matching may cost."""
_POLITE: Final = (
    r"(?:(?:hi|hello|hey|please|pls|can|could|would|you|kindly|i|we|want|need|d|like|have|to|help|me|us|let['’]s)"
    r"[\s,!.'’]+)*"
)
_MAKE: Final = (
    r"(?:write|draft|create|make|plan|design|prepare|compose|build|generate|organi[sz]e|find|suggest|recommend|give|buy"
    r"|book|set\s+up|come\s+up\s+with)"
)
_EXPLAIN: Final = r"(?:explain|translate|summari[sz]e|teach|proofread|recommend)\b"
_GENERAL: Final = (
    r"(?:what\s+(?:is|are|does|do)\s+(?:an?|the\s+(?:best|difference))\b|how\s+(?:do|can|should|would)\s+(?:i|you|we|one)\b"
    r"|how\s+(?:to|does)\b|(?:does|is|can|should)\s+an?\b|is\s+there\b|an?\b)"
)
_ENGLISH: Final = re.compile(
    rf"{_POLITE}(?:{_MAKE}\s+(?:(?:me|us)\s+)?(?:an?|some|two|three)\b|{_EXPLAIN}|{_GENERAL})", re.IGNORECASE
)
_CHINESE: Final = re.compile(
    "(?:你好|请问|请|麻烦|能不能|可以)*[，,！!\\s]*(?:你)?(?:帮我|给我|替我|我)?(?:想|要|想要|需要)?(?:"
    "(?:再)?(?:写|起草|拟|草拟|做|设计|策划|生成|找|买|订|准备)(?:一|几|两|个|些)|翻译|推荐|学|介绍|解释"
    "|如何|怎样|怎么(?:用|做|写|学|选|办理)|什么是|给\\w{1,4}(?:买|订|写|做|选))"
)


def begins_anew(message: str) -> bool:
    """Whether the message begins as one does that begins something."""
    beginning = message.lstrip()[:_READ]
    return bool(_ENGLISH.match(beginning) or _CHINESE.match(beginning))
