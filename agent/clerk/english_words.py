"""Words of English that the clerk's rules are made of.

Owns the alternations that several rules share, as pieces of patterns. Must never hold a rule.
"""

from __future__ import annotations

from typing import Final

_NOT_NAMES: Final = (
    "the|a|an|this|that|these|those|it|its|it's|i|i'm|i'll|we|we're|we'll|you|he|she|they|there|here|what|who|which|when"
    "|where|why|how|if|and|but|or|so|no|not|yes|ok|okay|all|any|every|each|some|both|only|just|then|next|after|before"
    "|once|until|while|with|without|for|from|in|on|at|by|to|of|as|my|our|your|his|her|their|everything|everyone"
    "|everybody|nobody|nothing|something|someone|somebody|anyone|anything|today|tomorrow|tonight|yesterday|now|later"
    "|never|always|maybe|perhaps|please|thanks|thank|let|let's|don't|do|does|did|is|are|was|were|be|has|have|had|can"
    "|could|will|would|should|must|may|might|also|still|already|such|than|other|others|one|two|three|people|things"
)

NUMBER: Final = (
    r"(?:[€$£~]?\d[\w.,%:/€$£]*|an?\b|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty"
    r"|thirty|forty|fifty|sixty|hundred|half|several)"
)

ERRAND: Final = (
    r"(?:re-?)?(?:book|call|e-?mail|mail|ping|phone|ring|text|message|dm|send|get|buy|ask|order|submit|file|draft|write"
    r"|prepare|prep|talk|speak|schedule|set up|pick up|collect|fetch|bring|return|confirm|contact|meet|visit|pay"
    r"|print|sign|update|upload|download|post|publish|share|merge|deploy|test|review|read|proofread|finish|fix|clean"
    r"|sort|tidy|measure|walk|run|build|move|copy|translate|record|film|edit|cut|install|chase|follow up|look into"
    r"|look up|check|drop (?:off|by)|take|register|renew|remind|apply|invite|tell|inform|show|give|hand|forward|reply"
    r"|respond|answer|organi[sz]e|arrange|reserve|scan|migrate|benchmark|compare|compile|count|draw|sketch|design"
    r"|plan|request|research|survey|interview|hire|transfer|wire|finali[sz]e|push|pack|unpack|deliver|demo|present"
    r"|rehearse|water|plant|start|begin|make|put|add|create|open|wrap up|type up|clear|sync|debug|profile|refactor"
    r"|port|patch|tag|release|circulate|find|hunt|go (?:to|through|over|by|and|see|get)|talk|handle|tackle|cover"
    r"|do|work (?:on|through)|look (?:at|over|for|after)|try|sand|paint|solder|glue|bake|cook|wash|swap|switch|replace"
    r"|recalculate|clarify|negotiate|double-?check|enter|export|import|cancel|sign up|reach out|raise|bring up|note"
    r"|set|see|ship|log|close|settle|mount|drive|cycle|fly|head|stop by|swing by|hang|lay|load|unload|fill|rip|tear"
    r"|redo|rework|restart|reboot|trim|crop|render|transcribe|label|annotate|verify|validate|audit|spec|mock up|trace)"
)
"""What somebody does once, and is then done with."""

CHOICE: Final = (
    r"(?:go(?: (?:with|for|ahead with|back to))|use|take|keep|stick (?:with|to)|stay (?:with|at|in|on)|drop|skip|scrap"
    r"|host|hold|serve|rent|buy|hire|cancel|postpone|delay|close|open|launch|switch|change|replace|move|cut|split|serve"
    r"|paint|run|start|adopt|choose|pick|renew|sell|leave|offer|support|deprecate|retire|remove|shut|merge|extend|sign"
    r"|invite|outsource|publish|release|fly|travel|sleep|eat|meet|do|have|order|build|charge|raise|lower|reduce|accept"
    r"|reject|decline|ditch|kill|freeze|pay|ship|make|name|call|rename|reuse|convert|print|drive|share|put|allow|wait"
    r"|limit|add|include|exclude|swap|shift|push|bring|combine|stop|end|let|set|teach|plant|record|film|settle (?:on|for)|opt for|say (?:yes|no) to|turn down|fund|bin|archive|trust|reserve)"
)
"""What people do when they choose."""

CHOOSING: Final = (
    r"(?:going (?:with|for|ahead with|back to)|using|taking|keeping|sticking (?:with|to)|staying (?:with|at|in|on)"
    r"|dropping|skipping|scrapping|hosting|holding|serving|renting|buying|hiring|cancell?ing|postponing|delaying|closing"
    r"|opening|launching|switching|changing|replacing|moving|cutting|splitting|painting|running|starting|adopting"
    r"|choosing|picking(?! up)|renewing|selling|leaving|offering|supporting|deprecating|retiring|removing|shutting|merging"
    r"|extending|inviting|outsourcing|publishing|releasing|flying|travell?ing|doing|having|ordering|building|charging"
    r"|raising|lowering|reducing|accepting|rejecting|declining|ditching|killing|freezing|paying|shipping|making|naming"
    r"|calling it|renaming|reusing|converting|printing|driving|sharing|putting|allowing|limiting|adding|including"
    r"|excluding|swapping|shifting|pushing|combining|stopping|ending|setting|planting|teaching|recording|filming"
    r"|bringing|getting rid of|laying|tiling|installing|bumping|parking|rolling)"
)

DOING: Final = (
    r"(?!(?:work|look|wait|think|try|gett?|hav|feel|hop|wonder|lean|start|kidd|jok|sitt|los|read|runn|be|do|tak|stay"
    r"|struggl|worry|guess|assum|say|talk|ask|tell|enjoy|lov|lik|starv|com|leav|dy|freez|confus|miss|go|mak)ing\b)"
    r"(?:re)?[a-z]{2,}ing\b|(?:going|making|taking|starting|running|reading|getting|having|talking|asking|telling|leaving)"
    r"(?= (?:to (?!miss|love|hate|die|cry|regret|enjoy|lose|be|bed|sleep)|through|over|the|a|an|with|up|back|my|our|it|them)\b)(?! (?:with the|with [A-Z]|to bed|to be\b|a break|a nap|home))"
)
"""What somebody says they are doing soon: "I'm picking up the keys at four"."""

DAY: Final = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|mon|tue|wed|thu|fri|sat|sun|weekend|week|month|january|february"
    r"|march|april|may|june|july|august|september|october|november|december)"
)
SOON: Final = (
    rf"(?:then|next|after (?:that|this|lunch|dinner|work|school|the [\w-]+(?: [\w-]+)?)|afterwards|tomorrow(?: \w+)?|tonight"
    rf"|later(?: today| tonight| this week| on)?|today|now|first(?: thing)?(?: (?:tomorrow|on) ?\w*)?|meanwhile"
    rf"|in the meantime|by (?:tonight|tomorrow|then|noon|the end of [a-z]+(?: [a-z]+)?)|this (?:afternoon|evening|morning|week|weekend)|next (?:week|month)"
    rf"|in (?:a bit|a minute|the morning|the afternoon|the evening)|(?:on |by |next |come )?{DAY}(?: (?:morning|afternoon|evening|night))?"
    rf"|at (?:\d[\w:]*|noon|lunch)|as soon as [\w' -]{{3,40}}|once [\w' -]{{3,40}}|when [\w' -]{{3,40}})"
)

PERSON: Final = rf"(?:(?-i:[A-Z])[\w'-]+(?: (?-i:[A-Z])[\w'-]+)?(?<!ly))"
NAME: Final = rf"(?!(?:{_NOT_NAMES})\b){PERSON}"
SPEECH: Final = (
    r"(?:said|says|say|told|tells|wants?|wanted|insists?|insisted|demands?|demanded|asked|asks|claims?|claimed|thinks?"
    r"|thought|keeps? (?:saying|repeating|insisting|asking)|kept (?:saying|repeating|insisting|asking)|wrote|writes"
    r"|mentioned|mentions|suggests?|suggested|propos(?:es|ed)|would like|would prefer|'d like|believes?|believed|argues?"
    r"|argued|warned|warns|requested|requests|recommends?|recommended|expects?|expected|feels?|reckons?|wonders?|hopes?"
    r"|(?:was|were|is|are) (?:saying|asking|thinking|wondering|talking|pushing|hoping|considering|toying|insisting)"
    r"|prefers?|preferred|states?|stated|announced|announces|declared|pushed for|is pushing for|used to say|reads)"
)
OTHERS: Final = (
    rf"(?:(?:old|little|big|aunt|uncle|mr\.?|mrs\.?|ms\.?|dr\.?) \w+|he|she|they|someone|somebody|some (?:people|of them|guy)|people|you|one of (?:them|the \w+)"
    rf"|(?:my|his|her|their|our|the|a|an|that|this|some) (?:[\w'-]+ ){{0,3}}[\w'-]+|{NAME}|(?!(?:i|we|us|everyone|everybody|that|this|it|let|to|not|never|also|and|but)\b)[a-z]+)"
)
RULED: Final = r"(?:the )?(?:law|gdpr|regulations?|statute|(?:building|fire|labou?r|data|tax|local) (?:code|law|rules|protection)|hipaa|dsgvo)"
GROUP: Final = (
    r"(?:we|i|everyone|everybody|all of us|both of us|(?:the )?(?:whole |entire )?(?:group|team|board|committee|council"
    r"|jury|panel|parents|owners|partners|assembly|family|club|band|steering group|management|leadership)"
    r"|(?:[\w']+ and (?:i|me)))"
)
PAST: Final = (
    r"(?:[a-z]+ed|did|said|had|was|were|went|got|saw|came|knew|made|told|gave|took|heard|found|met|felt|left|kept|lost"
    r"|paid|read|sent|sold|spoke|stood|thought|understood|won|wrote|broke|brought|bought|built|cost|lasted|fell|drove|ate|drank|slept|woke|forgot|began|became|ran|sat|wore|caught|chose|grew|flew|hid|rode|rang|threw|held|been|heard|seen|done)"
)
WH: Final = r"(?:if|whether|who|whose|what|which|when|where|how|why)"
