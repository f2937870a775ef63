"""How people who write English state something, and what only looks like it.

Owns the rules for English clauses, in the order in which they count. Must never hold code: a rule is a pattern and a
reason.
"""

from __future__ import annotations

from typing import Final

from agent.clerk import english_words as words
from agent.clerk.rules import Scope, Table, compiled, table

_HOLES: Final = {
    "num": words.NUMBER,
    "errand": words.ERRAND,
    "choice": words.CHOICE,
    "choosing": words.CHOOSING,
    "doing": words.DOING,
    "soon": words.SOON,
    "name": words.NAME,
    "person": words.PERSON,
    "speech": words.SPEECH,
    "others": words.OTHERS,
    "group": words.GROUP,
    "past": words.PAST,
    "wh": words.WH,
    "day": words.DAY,
    "ruled": words.RULED,
}
_Rows = list[tuple[str, str] | tuple[str, str, Scope]]

_NOT_OURS: Final[_Rows] = [
    (
        r"^(?:(?:can|could|would|will) (?:you|u)|please|pls|plz)?,? ?(?:please |pls |just |quickly |now )*"
        r"(?:write|draft|summari[sz]e|sum up|translate|rewrite|rephrase|reword|shorten|proofread|polish|explain|list|show"
        r"|compare|calculate|compute|generate|create|format|convert|undo|redo|revert|tell me|tell us|remind me|remind us"
        r"|help|search|look up|look at|read|expand|paste|copy|highlight|insert|add|remove|delete|put|fix|give me|give us"
        r"|give (?:the|it)|make (?!it\b|sure)|turn|suggest|describe|check|find|sort|merge|continue|go on|try again|open the"
        r"|start over|send me|update|rename|note|recap|outline|brainstorm|analy[sz]e|review|quote|cite|count|scan|test"
        r"|split|group|clean up|tidy up|simplify|tighten|replace|type|print|save|export|import|refactor|implement|bold)\b"
        r"(?! (?:is|was|are|were|has|have|had|will|must|should|needs?|can|can't|stays?|goes|looks|works?|done|only|access)\b)",
        "a command to the assistant",
        "sentence",
    ),
    (r"^(?:can|could|would|will|can't|couldn't|won't) (?:you|u)\b", "a request in the form of a question", "sentence"),
    (r"^(?:(?:do|would) you mind|mind) \w+ing\b", "a request in the form of a question", "sentence"),
    (
        r"^(?:and |but |so |or )?(?:only )?(?:if(?! (?:nobody minds|no ?one (?:minds|objects)|everyone's ok|that's ok(?:ay)?|it's ok|you don't mind|you're ok|we can(?!')|you can(?!')|possible|at all|nothing else|necessary|needed)\b)|unless|suppose"
        r"|supposing|imagine|assuming|assume|provided|say we|in case|what if|had (?:we|i|they)|were (?:we|i|they)"
        r"|even if|as long as|hypothetically|let's (?:say|pretend|imagine)|in (?:an ideal|a perfect) world)\b",
        "a condition or a supposition",
        "sentence",
    ),
    (
        r"\b(?:wish|wished) (?:we|i|it|they|you|the|there)\b|\b(?:should|could|would|might|must|can't|couldn't)(?:n't)?(?:'ve| have|a)\b"
        r"(?! to\b)|\bshould(?:n't)? (?:never|not|really|probably) have\b|\bhindsight\b|\bif only\b|\bwould(?:n't)? (?:never )?(?:be|have been) (?:a |so |too )?(?:terrible|awful|funny|weird|fun|mad)",
        "a wish, or what was not done",
        "until_but",
    ),
    (
        r"\b(?:last (?:year|time|month|summer|winter|spring|autumn|fall|week|company|job)|years ago|back (?:in|then|when)|once upon"
        r"|used to|in those days|at my (?:old|last|previous|former)|(?:my|our) (?:old|last|previous|former|ex)[- ](?:job|company|boss|firm|team"
        r"|employer|landlord|place|school|office)|in my (?:old|last|previous|former)|when (?:i|we) (?:was|were)"
        r"|(?:do you |i )?remember (?:when|how|that time)|the old (?:contract|agreement|version|plan|site)|the day we|in (?:19|20)[01]\d\b|in the (?:novel|film|movie|book|story|game|play|show|series|episode)|once dreamt"
        r"|previously|formerly|originally|the (?:previous|former) \w+)\b(?!.*\b(?:but|now|from now on)\b)",
        "another time, firm or life",
        "until_but",
    ),
    (r"\b(?:never|didn't|did not|wasn't|not|isn't|am not|'m not) (?:said|say|saying|meant|mean|asking|suggesting|proposing|claiming)\b",
     "what was not said", "sentence"),
    (r"\b(?:ha){2,}h?\b|\blo+l\b|\blmao\b|\brofl\b|\bjust kidding\b|\bjk\b", "a joke", "sentence"),
    (r"(?:^|\s)[:;]-?[dp](?:\s|$)|[😂🤣😜😆]|(?:^|\s)/s$", "a joke", "message"),
    (r"^should (?:the|we|they|it|he|she|any|some|this|that)\b(?!.*\?$)", "a condition", "sentence"),
    (r"\b(?:no longer|not) (?:need|needs|have|has|must|apply|applies|limited|required|a (?:limit|requirement))\b.*\b(?:any ?more|longer|to|apply|applies|required)\b|\b(?:doesn't|don't) apply\b|\b(?:cap|limit|rule|restriction|ban|embargo|constraint|requirement|deadline)s? (?:is|are|was|has been|have been) (?:gone|lifted|dropped|off|history|cancelled|removed|over|void)\b|\b(?:can|may|could) (?:now |safely )?(?:ignore|forget|drop|disregard)\b|^(?:forget|ignore|drop|lift) (?:about )?(?:the|that) .*\b(?:rule|limit|cap|embargo|deadline|restriction|constraint|requirement|\d+)\b", "the lifting of a constraint", "sentence"),
    (r"\b(?:your|the) (?:reply|answer|response)\b|\b(?:give|tell|show|explain|send) me\b|^(?:answer|reply|respond)\b|^(?:no|not) more than \d+ (?:words|sentences|bullets?|lines|paragraphs?)\b|^(?:in |max |about |under |at most |just |only )?(?:\d+|one|two|three|four|five) (?:words|sentences?|bullets?|bullet points|lines|paragraphs?)(?: please| max| only| at most| tops)?$", "about the next reply", "sentence"),
    (r"^[\"'“]▪+[\"'”] (?:is what|is such|is a|is the|would|was|sounds|means|as|could)\b", "about words that are quoted", "sentence"),
    (r"^my (?:flight|train|bus|appointment|car|phone|laptop|parcel|cat|dog|kids?)\b", "about the writer's day", "sentence"),
]  # fmt: skip

_REPORTED: Final[_Rows] = [
    (rf"^(?:as )?(?!{words.WH}\b)(?!{words.NAME} (?:said|says) (?:he|she|they)(?:'ll| will) ){words.OTHERS} (?:(?:always|also|just|still|really|even|literally|now|only|apparently) )?<speech>\b(?! (?:yes|no problem)$)(?<!i say)(?<!we say)",
     "what others say or want"),
    (r"\b(?:according to|as per) (?!<ruled>|our|my)|^per (?:the|their|his|her)\b|\bas (?:my|the|our|his|her|their|<name>)(?: [\w'-]+){0,4} (?:<speech>|puts? it|liked? to say)\b", "what others say", "sentence"),
    (r"^(?:i|we) (?:asked|was asked|were asked|wondered) \b", "what was asked before"),
    (r"^(?!(?:i|we|nobody|no one|has anyone|did)\b)[\w' -]{2,40} (?:wants?|wanted|told|asked|asks|expects?|begged) (?:us|me|everyone)\b", "what others want"),
    (r"^(?:apparently|rumou?r has it|i (?:heard|read|saw|was told|'m told)|legend has it|word is|reportedly)\b", "hearsay"),
]  # fmt: skip

_IDIOMS: Final[_Rows] = [
    (r"\b(?:he|she|that|this|you|they) ha(?:s|ve) to be (?:kidding|joking|mad)|\b(?:he|she|that|this|it|you|they|who|which)(?:'s)? must(?:n't| not)? (?:have|be(?! (?:in by|done|ready|back|signed|sent|paid|under|at least|\w+ed by)))\b", "a guess"),
    (r"\b(?:i|we) must (?:say|admit|confess|have)\b|\bneedless to say\b|\bhave to (?:say|admit|laugh|agree)\b|\bmust be (?:joking|kidding|nice|mad)", "a turn of speech"),
    (r"\byou(?:'ve| really| just| simply| all)* (?:must|have to|got to|gotta|need to|should|can't|cannot|never)\b", "advice, or people in general"),
    (r"\b(?:he|she|that|this|it|things|they) can(?:'t|not) be\b", "a guess"),
    (r"\b(?:i|he|she|they|you|who|my \w+) (?:really |just |still |also )?(?:can(?:'t|not)|cannot) (?!accept|allow|agree|have\b)", "what somebody is unable to do"),
    (r"\b(?:we|nobody|no one) (?:really |just |still )?can(?:'t|not)? (?:find|believe|see|remember|tell|open|log|reach|hear|seem|help|say|wait|complain|figure)\b", "what somebody is unable to do"),
    (r"\b(?:don't|doesn't|didn't|won't|wouldn't|do not|does not|not) (?:really )?(?:have|has|need|want|necessarily)(?: \w+)? to\b", "no obligation"),
    (r"\bhad to\b|\b(?:'d|would) have to\b|\b(?:was|were) (?:\w+ )?(?:limited|capped|restricted|only|at most|never|not allowed|required|forbidden|obliged)\b|\bneeded to\b|\bwas(?:n't)? allowed\b|\bdidn't need\b", "the past"),
    (r"\b(?:he|she|it|they|i|we|you|my [\w ]+?|who) never <past>\b|\b(?:he|she|it|my [\w']+(?: \w+)?|there's|i|i've|i'd|we've|you) never\b|^never <past>\b", "a story"),
    (r"\b(?:gotta|have to|need to|got to|must) (?:run|leave|dash|sleep|eat|rest|jump|think|talk|go(?! (?:to|through|over|and|by|see|get)\b)|head (?:out|off|home))\b|^i (?:really |just |also )?need(?! to\b)(?! (?:this|it|them|everything|the [\w' -]+) to\b)|^i (?:need|have) to (?:be|get) (?:home|up|off|going)\b", "about the writer's day"),
    (r"\b(?<!must )not (?:strictly |really |exactly )?(?:a |an )?(?:hard |strict )?(?:requirement|must|necessary|mandatory|essential|crucial)\b|\bmust (?:look|feel|taste|smell|sound) (?:amazing|great|awful|terrible|lovely|good|horrible|weird|funny)\b|\bneeds no (?:introduction|explanation|comment)\b|\bideally (?:you|one|they)\b", "no obligation, or a guess"),
    (r"\bthere must be (?:a|an|some|something) (?:mistake|error|problem|bug|reason|way|misunderstanding|better|explanation|issue|trick|catch|typo)\b|\bcan't decide\b|\b(?:it|that|this) (?:always |just )?has to be (?:me|you|him|her|said)\b|\bprefer not to\b|\bshould be (?:a|an) (?:fun|good|nice|easy|quick|great)\b|\bideally i(?:'d| would)\b|^who am i\b", "a guess, or small talk"),
    (r"^(?:absolutely |definitely |a |an |really |totally )*must(?:[- ]have)?[!.]*$|^do (?:i|we) (?:really )?have to\b|^(?:absolutely|definitely) a must|^can't (?:wait|believe|complain|find|remember|open|see|sleep|stop|say|help|tell|hurt|argue)\b|\bnothing (?:got|was|is|has been) (?:decided|agreed|settled)\b", "small talk, or a missing subject"),
    (r"^don't (?:you|i|they|we|get me|be (?:late|sad|mad|scared|ridiculous|daft|mean))\b|^always (?:a|the|fun|nice|good|something|happy)\b|^only (?:kidding|joking|<num> (?:\w+ )?<past>)\b|^never again\b|\bi only (?:have|had|got)\b", "small talk"),
    (r"\b(?:pick(?:ing)?|get(?:ting)?) (?:up )?(?:the |my )?kids\b|\b(?:to|at) the (?:dentist|doctor|gym|hairdresser)\b|\ba friends?\b|\bfor (?:dinner|lunch|drinks)\b|\b(?:from home|on holiday|on vacation|day off)\b", "about the writer's day"),
    (r"\bshould(?: really| just| all)? (?:do(?: it| the trick)?$|arrive|come|land|hear|help|work$|get (?:here|there)|be (?:with|there|in))\b|\bwe need to talk\b", "an expectation"),
    (r"^(?:don't|do not|no need to|never) (?:worry|mind|mention|panic|ask\b|get me wrong|quote me|hold me|make me|remind me|look at me|bother|be (?:sorry|shy|silly|afraid)|tell me|sweat|even|know|care|think|want|like|need|have|see|understand|get it|remember|believe|apologi[sz]e|thank|stress|let (?:it|that|them) (?:get|bother)|fret|rush)\b", "small talk, or a missing subject"),
    (r"^(?:still )?no(?:pe|t)?[ ,]*(?:$|signal|time\b|internet|wifi|sun|rain|money|sleep|change|progress|trace|surprise|electricity|power|hot water|space|sound|results?|milk|bread|coffee|problem|worries|idea|way|clue|thanks|thank|offen[cs]e|doubt|kidding|comment|rush|luck|wonder|answer|reply|response|news|i|we|you|it|he|she|they|that|this|need|one knows|matter|stress|hurry|pressure|biggie|objections?|harm|sign|sweat|sure|really)\b", "small talk"),
    (r"^(?:nothing|no ?body|no one) (?:<past>|works|knows|is|was|wants|cares|likes|ever|else|has|to|much|new|really)\b(?! (?:allowed|permitted|supposed|to)\b)(?!.*\b(?:without|until|before|except) )", "a story"),
    (r"^keep (?:it up|me|us|going|in mind|up the|the change|calm|on|you|fingers|trying|at it|smiling|up\b)", "small talk"),
    (r"\b(?:took|lasted|spent|waited|(?<!not )cost|costs us|went|was|were|had|got) (?:\w+ )?(?:at least|under|below|within|less than|more than|at most|up to|no more than)\b", "what something took"),
    (r"\bat least (?!<num>)(?:it|we|i|you|he|she|they|that|this|the|there|nobody|no)\b|\bup to (?:you|him|her|them|us|me|date|now|something|speed)\b", "not a limit"),
    (r"\bshould(?:n't)? be (?:fine|ok|okay|good|here|ready|done|easy|enough|there|possible|able|around|back|home|fun|interesting|great|arriving|landing|coming)\b", "an expectation"),
    (r"\b(?:nice|great|good|lovely) to (?:see|meet|hear|catch|have you|be|know)\b|\btry to (?:relax|sleep|get some|enjoy|rest)\b|\brather not (?:say|talk|think)\b", "small talk"),
    (r"^i(?:'ve)? decided to (?:have|get|grab|take|make|go)\b.*\b(?:coffee|tea|lunch|nap|break|walk|beer|bed|home|snack|shower|run)\b|\bagree(?:d)? to disagree\b|\bdecided nothing\b", "about the writer's day"),
    (r"^(?:it's |how )?(?:funny|interesting|amazing|strange|weird|odd|crazy|incredible)\b", "a remark"),
    (r"^(?:my|his|her|their) (?:\w+ )?(?:brother|sister|mother|mum|mom|dad|father|wife|husband|son|daughter|cousin|uncle|aunt|friend|neighbou?r|boss|flatmate|roommate|partner|kids?)(?: \w+)? (?:has |have |just )?(?:decided|agreed|chose|picked|opted|settled|went|goes|is|will|moved|moves)\b", "somebody else's life"),
    (r"^(?:he|she|they|you|someone|somebody|people)(?:'ve|'s| have| has)? (?:just |all |finally |also )?(?:decided|agreed|chose|picked|opted|settled|went with|go with|moved|cancelled|dropped|switched)\b", "what others chose"),
]  # fmt: skip

_HEDGES: Final[_Rows] = [
    (r"\b(?:might|may want to|could (?:also |always |just |maybe )?(?:go|be|use|do|try|take|have|work|still)|i'd (?:say|go|vote|probably|pick|choose|lean|suggest|recommend|argue|keep|use)|leaning|lean toward|tempted|dunno|either way|don't care|doesn't matter|not convinced|in my opinion|imh?o|personally|feels?|looks? (?:like|better|nicer|good)|seems?|i like|i love|thinking (?:about|of|it)|considering|mulling|don't (?:really )?think|do not think|i could be wrong|would love|fingers crossed)\b", "an opinion, a leaning or a possibility"),
    (r"^(?:maybe|perhaps|possibly|could|might|would be fun|what about|how about|why not|why don't we)\b", "a suggestion"),
    (r"\b(?:i (?:think|guess|suppose|believe|feel|hope|bet|assume|doubt|figure)|we (?:hope|think)|hopefully|pretty sure|probably|supposedly|not sure but|tbh)\b(?!.* (?:whether|if|who|which)\b)", "an opinion"),
    (r"\b(?:was|were) (?:going|about|planning|supposed|meant|thinking|hoping) (?:to|of)\b|\b(?:forgot|meant|tried|failed|wanted) to\b", "what did not happen"),
    (r"\bi'm (?:not )?(?:really )?(?:sure|certain|afraid|glad|happy|sorry|tired|sick|hungry|excited|curious)\b(?! (?:if|whether|who|what|which|how|when|where))", "a feeling"),
]  # fmt: skip

_NOT_ASKED: Final[_Rows] = [
    (r"^(?:and |so |but )?(?:what|when|where|why|who|which|how) (?:did|have|had|was|were|has) (?:we|i|you|they|he|she|it|the|that|dana|been)\b.*\b(?:decid|agre|sa(?:y|id)|settle|wr(?:i|o)t|promis|chose|choose|mention|discuss|conclu|pick|left|leave|plan|do|done|been)|\bwho (?:said|decided|wrote|added|agreed|suggested|asked)\b", "a query of what was said"),
    (r"^(?:and |so )?(?:did|have|had|has) (?:we|i|anyone|anybody|dana|they|you|he|she) (?:ever |already |actually |really )?(?:decid|agre|sa(?:y|id)|settle|wr(?:i|o)t|mention|discuss|talk|chos|choose|see|seen|hear|try|tried|pick|finish|file|remember)", "a query of what was said"),
    (r"\bwhere (?:were|are|did) we\b|\bwhat(?:'s| is| was| are| were) (?:(?:still )?(?:left|next|open|the status|missing|pending|outstanding|undecided|unresolved|new|up|wrong|going on|happening|your|the (?:plan|latest|summary|decision|next|current|state|status|gist))|all the)\b|\bwhat else\b|\bagain\??$|\bwhat(?:'s| is| was) (?:written|said|stated|noted)\b|^what did [\w' ]{1,25} (?:say|decide|want|write|mean|think)\b", "a query of where things stand"),
    (r"\bopen questions\b|\b(?:is there|any|a|have) (?:a |any )?(?:decisions?|constraints?|requirements?)\b|\bwhat (?:should|do|can|must) (?:i|we) (?:do|work on|start)\b|\b(?:which|what) (?:decisions?|constraints?|questions?|rules?|steps?)\b(?=.*(?:have|are|did|do|open|so far|we|there))", "a query of the ledger"),
    (r"\b(?:in|does|do|is|did) (?:the|this|that|our|my|their) (?:doc|draft|document|text|contract|memo|deck|thread|chat|notes|summary|page|plan|file|section|clause|letter|report)\b(?=.*\b(?:say|mention|contain|about|cover|include|state|read|anything|something|in)\b|.*\banywhere\b)|\bis there (?:anything|something) (?:in|about|on)\b|\b(?:section|clause|page|paragraph|chapter) \d+(?:\.\d+)? (?:say|mention|mean|contradict)", "a query of what is written"),
    (r"\bmeans?\b(?! that)|\bstands? for\b|\bwhat(?:'s| is| are) (?:the )?(?:difference|capital|definition|formula|point|weather|big deal|deal)\b|\bdifference between\b|^what(?:'s| is) an? \w+|^what(?:'s| is| are) [\w-]+\??$|^how does (?:a|an|\w+) work\b|\bwhat (?:day|time) is it\b|\bin (?:kg|km|cm|miles|inches|feet|pounds|dollars|usd|eur|celsius|fahrenheit)\b|\bhow (?:much|many) is\b.*\bin\b", "general knowledge"),
    (r"^(?:how|where) (?:do|can|could|should|would|to) (?:i|you|one)\b|^how to\b|^(?:can|may|could|do|should|must|am|will|did) i\b|^is there (?:a|any) (?:way|shortcut|button|setting|option)\b|\b(?:log|sign) ?(?:in|out)\b|\b(?:button|menu|dark mode|settings?|account|export)\b|\b(?:button|menu|dark mode|settings?|account|export)\b.*\?$|\bin general\b|\bshortcut\b|\bnotifications?\b|\b(?:saved?|synced|stored|encrypted|backed up)\b|\b(?:offline|this app|the app|clew)\b", "help with the product"),
    (r"\bwhy\b", "a complaint, or a request to explain"),
    (r"^(?:and |so |but )?how (?:was|were|is|are) (?:the|your|his|her|my) |^(?:and |so |but )?how(?:'s| are| is| was| were| have) (?:you|it|things|everyone|everybody|your|that|life|the weather|we (?:doing|looking))\b|\bhow (?:come|about)\b|\bwhat's up\b|\byou (?:there|ok|okay|alright|around|awake|ready|up|free|online)\b|\byou guys\b|^(?:are|is) (?:you|u|everyone|everybody|anyone|anybody) (?:there|ok|ready|still|here|up|in|free|around|hungry|joining)\b|\bup for\b|\bwho's (?:in|up|there|hungry|around|next|idea)\b|^any(?:one|body) (?:up|in|here|around|there|hungry|free|want|fancy|for|else)\b|\bsound(?:s)? (?:good|ok)\b|\bmakes? sense\b|^any (?:news|thoughts|questions|ideas(?! <wh>)|feedback|updates?|comments|objections|luck|volunteers)\b", "social"),
    (r"^(?:(?:and|or|so|but|oh|well|right|really|seriously|ok|okay|isn't it|aren't (?:we|they|you)|doesn't it|don't you|won't it|no|yes|huh|eh|what|who|why|when|where|how|which(?: one)?|correct|true|agreed|deal|wow)[ ,]*)+\?*$|\bam i right\b|\bcan you believe\b|\bisn't (?:it|that|this)\b|\b(?:who|what) (?:knew|cares|could go wrong|would(?:n't)?(?: have)?|doesn't|on earth|the (?:hell|heck))\b|^would (?:it|that|they|he|she|anyone|anybody)\b|^(?:is|was) it (?:just )?(?:me|possible that|too much)\b|\bdo (?:i|we) really\b|\bhow (?:hard|difficult) can\b|^what an?\b|\bwhich reminds\b|\bwhat a \w+", "rhetorical"),
    (r"^(?:and |so |but )?(?:what if|what about|shall we(?!.* or )|could (?:we|i|someone|somebody|they)|can (?:someone|somebody|anyone|we (?:talk|meet|discuss|move|get|have|go over|look|see|start|do|chat|stop|please|just|maybe|also|quickly))|could it|can it|might it|may (?:we|i)|wouldn't|would you|should we (?:maybe|just|perhaps)|do (?:we|you) (?:want|feel|fancy)|maybe|perhaps|want to|wanna|fancy)\b", "a suggestion or a request"),
    (r"\b(?:you|ya|u) (?:mean|think|say|said|want|talk(?:ing)?|refer(?:ring)?|saying|sure|reckon|feel|like|suggest|recommend|prefer|remember|see|get|got|finish|done|need|still|happen|use|do\b)|\b(?:are|do|did|have|don't|didn't|were|haven't|aren't) (?:you|u)\b(?! (?:guys )?know (?:if|whether|who|when|where|how|which|what))|\byour (?:opinion|take|view|thoughts?|favou?rite|weekend|day|name|advice)\b", "asked of the one who answers"),
    (r"^(?:and |so |but )?(?:is|are|was|were|does|do|did|will|can|should) (?:that|this|those|these) ?(?:\w+ )?(?:clause|one|standard|right|correct|ok|okay|true|normal|still|it|what|a|an|the|good|fair|legal|enough|sentence|wording|paragraph|version|draft|number|figure|real|too|how|better|fine|possible)\b|^(?:is|are|was|were|does|do|did|will) (?:that|this|those|these)\b|^wh\w+(?:'s| is| was| are) (?:that|this|those|these|it)\b", "clarifying what was just said"),
    (r"^(?:and |so |but )?(?:is|was|does|did|will|has|would) (?:it|he|she|they)\b|^wh\w+(?:'s| is| does| did| will) (?:it|he|she|they)\b", "whom or what it is about is not said"),
]  # fmt: skip

_ASKED: Final[_Rows] = [
    (r"^(?:and |so |but )?(?:who|how (?:much|many|long)|by when|until when) (?!knows|cares|knew|am|is (?:it|that|this))[\w' ]+\?$|^(?:and |so |but |or |also |then |ok |now )*(?:(?:until|since|by|for|at|in|on|to|with|from|under|of) )?(?:who(?:'s|'re|'ll|se|m)?|what(?:'s|'re|'ll)?|which|when(?:'s)?|where(?:'s)?|how(?:'s)?)\b.*\w+ .*\?$", "a question with a question word"),
    (r"^(?:and |so |but |or |also |then |ok |now )*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|should|must|may|isn't|aren't|don't|doesn't|hasn't|haven't|won't|can't|shouldn't|any \w+|(?:does |has )?any(?:one|body))\b.*\w+ .*\?$", "a question to be answered with yes or no"),
    (r"^(?:who(?:'s|se)?|which|how (?:many|much|long|often|far|big|early|late)|what (?:time|date|size|colou?r|price)) (?!am\b|would|knew|knows|reminds|cares|i\b|a\b)(?=\w+ \w+)(?!.*[!.]$)(?!.*\b(?:again|haha|lol)\b)", "a question with the mark left out"),
    (r"^(?!(?:so|then|but|and) )(?:[\w'-]+ ){1,8}or (?:[\w'-]+ ?){1,8}\?$", "a choice put as a question"),
    (r"^(?:does (?:anyone|anybody|the|our|it|any|this|[A-Z])|do we|is (?:the|there|our|a|every|any)|are (?:the|there|our|we)|can (?:the|we|our)|will (?:the|we|there)|has (?:the|any)|have (?:the|we)|did (?:the|we)) \w+ \w+(?!.*!$)", "a question with the mark left out"),
]  # fmt: skip

_STILL_OPEN: Final[_Rows] = [
    (r"\b(?:no idea|no clue|don't know|not sure|unclear|dunno)\b.*\b(?:you|to say|to do|to thank|i'm doing|talking about|how to)\b", "not about the task"),
    (r"\b(?:haven't|have not|hasn't|has not|not|never|isn't|aren't|still not|didn't|nobody(?: has|'s)?|no one(?: has|'s)?)(?: yet| been| really| actually| fully| officially| finally)* (?:decided|settled|agreed|chosen|picked|fixed|figured out|figured|sorted out|confirmed|clear|determined|finali[sz]ed|(?:told us|said|replied|answered|got back)(?=(?: to us| yet| us)* (?:<wh>|on|about)\b)|specified|nailed down|resolved|known|made up)\b(?!.*\b(?:nothing|anything)\b)(?! (?:anything|me|my)\b)", "said to be undecided"),
    (r"\b(?:undecided|unclear|unresolved|unsettled|up in the air|still (?:an )?open|an open question|open (?:question|point|issue)|unknown(?!s? (?:number|caller))|tb[dca]\b|to be (?:decided|determined|confirmed|clarified|agreed|settled|announced)|remains? (?:to be seen|open|unclear)|anyone's guess|wide open|needs? (?:deciding|clarifying|a decision|clarification)|up for (?:debate|discussion|grabs)|pending (?:confirmation|a decision|approval)|in limbo|not (?:yet )?clear)\b", "said to be open"),
    (r"\b(?:don't|dont|do not|doesn't|didn't|still don't) (?:yet |actually |really |even )?know (?:yet )?<wh>\b|\b(?:no|any|haven't (?:a|the foggiest)) (?:idea|clue|word|news|info|information|confirmation)(?: yet)?(?: on| about| as to)? <wh>\b|\b(?:not|aren't|isn't|never) (?:really |quite |entirely |100% |fully |at all )?(?:sure|certain|clear|known)(?: yet)?(?: about| on| as to)? <wh>\b|\bunsure <wh>\b|\bnot sure (?:the|our|<name>) |\bcan't tell (?:if|whether|which)\b|\b(?:i )?dunno (?:if|whether|who|which|when|where)\b|\bnobody (?:seems to )?knows? (?:yet )?<wh>\b", "said not to be known"),
    (r"\b(?:need|needs|have|has|got|want|wants|ought|must|should|still) (?:to |also )*(?:find out|figure out|clarify|work out|decide|determine|know|understand|establish|learn|settle|agree|resolve|see|hear|check|ask \w+|confirm)(?: with (?:the |our |their )?\w+)? (?:<wh>|on (?:a|an|the)|between|about)\b|\bneed(?:s)? to (?:find out|figure out|clarify|work out|decide|settle|resolve)\b", "has to be found out or decided"),
    (r"^what (?:i|we) (?:still )?(?:don't|dont|do not) (?:yet |really )?know (?:yet )?is\b", "said not to be known"),
    (r"\b(?:waiting|wait) (?:to hear|to see|to know|to find out|for [\w ]{2,25} to (?:say|tell|confirm|decide))(?: back)?(?: from \w+)? ?(?:<wh>|on|about)?\b|\bhaven't heard(?: back)?(?: yet)?(?: from [\w ]{2,20})?(?: yet)?(?: <wh>| about| on)\b|\bhas(?:n't| not) (?:been )?(?:confirmed|said|told us|decided|replied) <wh>\b", "waiting for an answer"),
    (r"\bneeds? (?:an answer|a decision|clarity|clarification|an opinion)\b|^(?:still )?no (?:final |definite |clear )?(?:word|decision|answer|confirmation|agreement|consensus)(?: from [\w ]+)? (?:yet|so far)\b|^(?:still )?no (?:word|decision|answer|reply|confirmation) (?:on|about)\b|\b(?:'d like|would like|want|need|love) to know <wh>\b|\blet (?:me|us) know (?:who|which|when|where|how (?:many|much))\b|\bup for discussion\b", "has to be found out or decided"),
    (r"^(?:the )?(?:big |main |only |real |one )?(?:question|issue|unknown) (?:is|remains|now is|still is)\b", "named as a question"),
    (r"\b(?:i'm |we're |been |keep |still )?wondering (?:if|whether|who|which|how much|how many|where|when)\b(?! you)", "wondered about"),
]  # fmt: skip

_ONCE: Final[_Rows] = [
    (r"^(?:(?:we|i|someone|somebody|<name>)(?:'ve)? )?(?:also |still |really |just |soon )*(?:need|needs|have|has|got|gotta|must|ought)(?: got)?(?: also| still)?(?: to)? (?!not\b|never\b|be\b|have\b|always\b)(?:remember to |make time to |go and )?(?:<errand>)\b(?!.*\b(?:always|every|each|all (?:the )?time|any|whenever|at all times|without|only)\b)(?<!need a)(?<!need)", "an act that somebody is to do once"),
    (r"^(?:must |gotta |need to |have to )?remember to \w+|^don't forget to \w+|^(?:i|we)(?:'d| had)? better (?!not)(?:<errand>)\b|^(?:i|we) should (?:really |still |also )?(?:<errand>) .*\b(?:today|tomorrow|tonight|this week|by <day>|on <day>|next week)\b", "a reminder of an act"),
]  # fmt: skip

_LIMITS: Final[_Rows] = [
    (r"^<ruled>(?: \w+)? (?:says|requires?|demands|obliges|forbids|prohibits|doesn't allow)\b|\b(?:required|forbidden|prohibited|mandated) by (?:law|regulation|gdpr)|\blegally (?:required|obliged)|\bby law\b", "what the law requires"),
    (r"\b(?:i|we)(?:'d| would)? (?:(?:much|also|really|strongly|still) )*(?:prefer|rather|favour)\b(?!.*\?)", "a preference"),
    (r"\b(?:i|we)(?:'d like| would like| want| need|'d love)(?: for)? (?:it|this|them|everything|all|the [\w' -]{2,30}) to (?:be|have|look|feel|sound|stay|fit|work)\b|\b(?:i|we)(?:'d| would) appreciate(?: it)? if\b|\b(?:i|we) don't want (?:the|any|anyone|anything|anybody|it|them|people|our|a|an)\b", "what is wanted of the result"),
    (r"\b(?:ideally|preferably|if (?:at all )?possible|where possible|if we can(?: (?:help|avoid|manage) it)?|wherever we can|nice[- ]to[- ]have|as (?:\w+) as possible)\b|(?:^|let's |please |should |we )try (?:and |to |not to )(?!(?:again|it|this)\b)\w+|\b(?:would|it'd|'d) be (?:really )?(?:nice|great|good|lovely|ideal|cool|helpful|best|preferable|better)\b(?: if| to| for|$)", "a wish for the result"),
    (r"\bmust(?:n't| not| never)?\b(?![- ](?:see|have|read|watch|do))(?! (?:see|read|try|watch)\b)|\b(?:ha(?:s|ve)|'ve|'s) (?:got )?to\b|\bgotta\b|\bcan(?:'t|not| not| never)\b|\bcant\b|\bmay (?:not|never|only)\b|\bnot (?:allowed|permitted|acceptable|negotiable|an option|up for (?:debate|negotiation)|to be)\b|\b(?:isn't|aren't) (?:allowed|permitted|negotiable|an option|acceptable)\b|\b(?:forbidden|prohibited|mandatory|compulsory|obligatory|non-?negotiable|off[- ]limits|dealbreaker|deal[- ]breaker|taboo|a must(?![- ]see)|no[- ]go)\b|\bunder no circumstances\b|\bno exceptions\b|\b(?:is|are) (?:essential|crucial|vital|indispensable)\b|\bwe (?:require|insist on)\b|\b(?:illegal|unlawful|against the law)\b|\bcan only\b|\brequired(?:$| (?:for|at|before|on|in)\b)|\bhard (?:limit|cap|deadline|requirement|stop|rule)\b|(?<!i )(?<!we )\bshall\b|\b(?:is|are) (?:strictly |only )?(?:required|allowed)\b", "an obligation or a prohibition"),
    (r"^(?:\w+ ){0,6}?(?:nobody|no one|nothing|no [\w-]+|none)(?: [\w' -]+?)? (?:may|can|should|shall|touch(?:es)?|leaves?|goes|gets|enters?|is to|are to|ships?|heavier|bigger|longer|before|until|without|outside|after(?! all)|above|over|below|anywhere|under|in|on|with|except)\b", "a prohibition"),
    (r"^(?:and |but |please |so |also )*(?:don't|do not|dont|never|always|avoid|make sure|ensure|be sure|be careful|beware|follow (?:the|our)|observe|comply with|adhere to|stick to|stay (?:under|below|within|away|off|out|clear|inside)|steer clear|limit|cap|restrict|respect|refrain|mind the|only use|use only|only ever|leave (?:out|off|at least|room|enough|(?:the|all|my|our|both|one|every)\b(?!.*\b(?:as (?:it|they)|where (?:it|they)|alone|in\b|out\b|for next)))|hands off|no more than|not more than)\b", "an imperative that goes on holding"),
    (r"^(?:and |but |please |also |let's )*keep .*\b(?:under|below|within|between|above|over|out of|away from|to (?:a|<num>|one)|at (?:most|least|<num>)|max|short|simple|brief|small|warm|light|formal|informal|friendly|neutral|confidential|secret|private|internal|quiet|clean|clear|free|legal|separate|readable|accessible|compatible|polite|professional|off|inside|anonymous|consistent|in (?:sync|english|german|french|line|mind))\b", "a quality to be kept"),
    (r"^(?:and |please |but |absolutely |strictly |definitely )?no (?!(?:word|decision|answer|news|reply|confirmation|agreement|consensus|one|thing)\b)(?!(?:longer|more (?:debate|discussion|questions))\b|.*\b(?:after all|yet|left|today|for now|this (?:time|year|month|week)|anymore|any more)$)[\w'-]+(?! (?:is|are|was|were|has|have|needed|came|left|yet|found|on my|works?|will be)\b)(?!.*\b(?:after all|anymore|is needed|are needed|needed|required|is|was|found|yet)\b)", "a prohibition"),
    (r"\b(?:is|are)(?:n't| not) (?:for (?:public|external|sale|social|internal|use|the press|kids|children|publication)|to be)\b|^(?:as a rule,? )?we (?:don't|do not|never) (?:accept|take|allow|share|publish|ship|sell|store|send|reply|discuss|mention|release|deploy|sign|pay|start|print|contact|hire|invite|charge|touch)\b(?! (?:it|that|this) )(?!.*\b(?:after all|yet|today|this time)\b)|\bi want (?:every|all|each) |^(?:all|every|each|any) [\w' -]{2,40} (?:to be|must|should|has to|have to|needs?)\b|\b(?:goes|go|appears?|belongs?) (?:on|in|at|with) (?:every|each|all)\b|^(?:every|each) [\w' -]{2,30} (?:carries|gets|needs|has|shows|contains|includes|ends|starts|comes)\b|^it(?:'s| is) (?:important|essential|imperative|crucial|vital|mandatory) (?:that|to)\b", "a rule"),
    (r"^(?:please )?(?:use|write|spell|cite|format|name|number|address|sign|stick|label|quote)\b(?!.*\b(?:instead|rather than)\b).*\b(?:spelling|units?|font|fonts|tone|template|format|style|english|german|french|british|american|metric|tense|voice|first person|first names?|capitals?|lowercase|uppercase|citations?|apa|iso|numerals|consistently|everywhere|throughout|every|all|each|in full|by (?:first )?name)\b", "a requirement of style"),
    (r"^nothing (?!new|special|much|else|serious|happened|yet|to\b|really|happens|like|works|wrong|important)\w+$|^(?:all|every|each|any) [\w' -]{2,30} (?:goes|go) (?:through|via|past)\b", "a restriction"),
    (r"^only (?!<num> (?:left|more|of us)|.*\b(?:came|left|kidding)\b|(?:i|you|he|she|just|yesterday|now|then|because|a few|the two)\b)\w+|\b(?:\w+) only$|\bonly (?:with|after|by|during|via|through|in writing|between|until|before|outside|inside|within)\b|\bwithout (?:my|our|a|written|prior|his|her) (?:\w+ )?(?:ok|okay|consent|approval|permission|sign-?off|signature|ticket|go-ahead|say-so)\b|\b(?:is|are|stays?|goes) only (?:for|to|in|on|after|before|allowed)\b", "a restriction"),
    (r"\bshould(?:n't| not| never| always| only)?\b(?! (?:we|i|you)\b)(?<!we should)(?<!i should)(?<!they should)(?<!he should)(?<!someone should)(?<!somebody should)(?<!you should)|\b(?:we|i|they) (?:should(?:n't| not| never| always| only)|should (?:be|stay|keep|avoid|not|stick))\b|\bought to be\b|\b(?:is|are) supposed to (?:be|have|stay|fit)\b", "what should be"),
    (r"\bneeds? (?:to (?:be|have|stay|fit|work|run|support|include|contain|match|cover|look|last|keep|comply|remain|allow|handle|pass|show|reach|end|start|finish|follow|meet|respect|sound|read|say|survive|hold|cost)|(?!to\b|\w+ing\b|(?:help|a break|coffee|more time|work|love|fixing|some (?:sleep|rest|time|help))\b)\w+)(?<!i need)(?<!you need)(?<!i needs)", "what the result needs"),
    (r"\b(?:max(?:imum)?\.?(?: of)? <num>|maximum (?:of |is )?(?=.*\d)|\d.* maximum\b|<num>(?: ?[\w%€$-]+){0,3} max\b|max$|minimum|<num>(?: [\w-]+){0,3} at (?:the )?(?:most|least)|at (?:the )?(?:most|least) (?:[a-z]+ )?<num>|not (?:a|one) (?:\w+ )?(?:over|above|more)\b|no (?:more|less|fewer|later|earlier|longer|bigger|smaller|higher|lower|heavier) than|not (?:more|less|fewer|later|earlier|longer|smaller|larger|bigger|shorter|higher|lower|heavier|wider|over|above|below|under|before|after|until) (?:than )?(?=.*\w)|limited to|capped at|restricted to|(?:a |the )?(?:cap|limit|ceiling|maximum|minimum|upper limit|quota)(?: of| is) (?=.*\d)|\d.* (?:limit|cap|ceiling)$|is the (?:cap|limit|ceiling|maximum|minimum|max|min)|not (?:to )?exceed|tops$|or (?:less|fewer|under|below|more|above)$|at the latest|up to <num>|at all times|throughout the)\b|\b(?:only|just) (?:have|got|has) (?:[€$£]?\d)|\b(?:have|got) (?:only |just )?(?:[€$£]?\d[\w.,]*) (?:\w+ )?(?:to spend|for (?:this|the|all))|\b\d[\w€$£% ]* (?:max|tops)\b|\bmin\.? \d", "a limit"),
    (r"\b(?:budget|spend|spending|deadline|due date|cut-?off|limit|cap|cost|costs|price|length|word count|size|weight)\b(?: \w+){0,4}? (?:is|are|stays?|remains?|=|stands at)\b.*\d|\b(?:budget|limit|cap|maximum|minimum|deadline) of .*\d", "a bare limit"),
    (r"\b(?:is|are) due (?:by|on|before|<day>)\b|^due (?:by|on|<day>|\d)|\b(?:due|closes?|ends?) (?:by|on|at) (?:midnight|noon|\d|the \d|<day>)", "a deadline"),
    (r"\b(?:stays?|remains?|stay|sits?|comes in|keep|be|is|are|run|last|fit|fits|goes|go|costs?|takes?) (?:strictly |always |well |just )?(?:under|below|within|inside|above|out of|between|behind|offline|confidential|internal|anonymous|private|secret)\b(?! (?:control|construction|review|pressure|the weather|discussion|way))", "a bound that stays"),
    (r"^(?:(?:under|below|within|less than|between) <num>|(?:\w+ ){1,3}(?:under|below|within|less than|fewer than) <num>)(?: [\w€$£%]+){0,3}(?: please)?$", "a bare limit"),
]  # fmt: skip

_GIVEN: Final[_Rows] = [
    (r"^@[\w.-]+,? (?:please |pls |plz |will |can you |could you |to )*(?:<errand>)\b", "what a named person is given to do"),
]  # fmt: skip

_NEXT_FIRST: Final[_Rows] = [
    (r"^(?:<soon>,? )?(?:i'll|i will) have (?:a|another) (?:word|chat|call|meeting|talk) with\b|^(?:<soon>,? )?(?:i'll|i will) (?:have|get) .*\b(?:ready|done|finished|in place|out|sent)\b", "what the writer is about to do"),
]

_NEXT: Final[_Rows] = [
    (r"\bnext time\b|\b(?:one|some) ?day\b", "some other time"),
    (r"\b(?:i'll|i will|ill|i'm|i am) (?:just |also )?(?:be (?:back|late|away|right|honest|out|there|in|around|off|on|fine|happy|glad|offline|online|here|home)|never|let you know|think about|sleep on|see\b|admit|say|take a look|have a look|look into it|check(?: it| that)?$|pass|bet|miss|love\b|hate|cry|die|regret|enjoy|freak|lose|survive|need|have (?:a|the|to|some)|leave it|get back to you|keep|live|believe|do (?:that|it|so|my best)$|go (?:with|for)|take (?:the|a|that|it)\b|stick|try|wait|shut up|stop)\b", "small talk, or a choice"),
    (r"^(?:i|<name>)(?:'ve| have)? (?:promised?|volunteer(?:ed)?|offered|agreed|signed up) to (?:<errand>)\b|^let me (?!check\b|see\b|think\b|know\b|look\b|sleep\b|guess\b|be\b)(?:<errand>)\b.*\b(?:today|tomorrow|tonight|<day>|first|after)\b|\b(?:is|are) on me$", "what somebody took on"),
    (r"^i (?:take care of|do|handle|bring|write|call|book|order|ask|send|prepare|organi[sz]e|draft|print|buy|pick up|cook|bake|drive|collect)\b (?!(?:it|that|not|n't|so|know|my best)\b)(?!.*\b(?:always|usually|every|often|never|sometimes)\b).{4,}", "what the writer takes on"),
    (r"^(?:calling|emailing|sending|writing|booking|ordering|drafting|printing|packing|picking up|fetching|preparing|meeting|asking|uploading|buying)\b.*\b(?:now|today|tomorrow|tonight|next|later|(?:after|before) \w+|this (?:week|afternoon|evening|morning)|on <day>|in the \w+)$", "what the writer is about to do, with the subject left out"),
    (r"^(?:<soon>,? )?(?:and )?(?:i'll|i will|ill|i'm going to|i am going to|i'm gonna|im gonna|gonna|i'm about to|i'm planning to|i plan to|i intend to|i shall|will|planning to|about to|i'm off to|i can) (?:then |also |now |quickly |first |go and |go |try and |finally |start |have |get )*(?:<errand>)\b", "what the writer is about to do"),
    (r"^(?:<soon>,? )?(?:i'll|i will|i'm going to|i am going to|i'm gonna) (?!miss|love|hate|die|cry|regret|enjoy|lose|bed|be )(?:\w+)(?: \w+){2,}", "what the writer is about to do"),
    (r"^(?:<soon>,? )?(?:i'm|i am|im) (?:then |also |now |just |currently )?(?!(?:choosing|picking(?! up)|keeping|using|sticking|staying|dropping|skipping|scrapping|cancell?ing|accepting|rejecting|declining|switching|renewing|ditching|postponing|voting|allowing|approving)\b)(?:<doing>)(?! (?:fine|well|great|good|it|that|this|you|them|sure)$)(?: [\w'./-]+){2,}", "what the writer is doing next"),
    (r"^(?:<soon>,? )(?:i|we|<name>)(?: and (?:i|<name>))? (?!<past>\b)(?!(?:is|are|am|was|were|had|have|has|can't|need|think|guess|hope|decided|always|never|usually|often|feel|know|skip|drop|go with|stick|agreed|chose|picked)\b)\w+ (?:\w+)", "what somebody does next"),
    (r"^(?:<soon>,? )?(?:and |also )?<name>(?: and (?:i|<name>))?(?:'ll| will(?: be)?| is going to| are going to|'s going to| is gonna| to| needs to| has to| must| should| is to) (?:then |also |now |first )?(?!be\b|have\b|not\b|never\b|rain)(?:<errand>|lead|host|run|chair|moderate|(?:call|contact|send|writ|check|book|print|pick|bring|order|draft|prepar|review|meet)\w*ing)\b", "what a named person is about to do"),
    (r"^<name> (?:said|says) (?:he|she|they)(?:'ll| will) (?:<errand>)\b|^(?:<soon>,? )?<name>(?: and (?:i|<name>))? ?(?:(?:is|'s) going to the\b|takes? (?:over|care)|(?:is|'s) (?:taking|handling|doing|booking|sending|calling|writing|drafting|preparing|checking|bringing|picking|getting|fixing|meeting|asking|ordering|finishing|printing)|(?:books|sends|calls|writes|drafts|prepares|checks|asks|orders|prints|updates|finishes|handles|emails|contacts|does|makes|brings|runs|hosts|chairs|leads|presents|moderates|owns|collects|uploads|reviews|fetches|follows up) )", "what a named person does"),
    (r"^<name> (?!is\b|was\b|has\b|wants\b|says\b|likes\b|thinks\b|needs\b|knows\b|loves\b|hates\b|always\b)[a-z]+s (?:up |over |out |in )?(?:the|a|an|our|with|to|my|all|on)\b.*\b(?:on <day>|tomorrow|tonight|today|this (?:week|afternoon|evening|weekend)|by <day>|next (?:week|month)|at \d|in the (?:morning|afternoon|evening)|over the weekend|later)$", "what a named person does"),
    (r"^(?:[a-z]+) (?:will|is going to|'s going to) (?<!it will )(?<!this will )(?<!that will )(?<!he will )(?<!she will )(?<!they will )(?<!there will )(?<!you will )(?<!we will )(?<!everything will )(?:book|call|e-?mail|ping|send|ask|order|submit|file|draft|write|prepare|check|contact|meet|collect|fetch|bring|upload|review|talk|print|pick up)\b", "what a named person is about to do"),
    (r"^(?:<soon>,? )?(?:we'll|we will|we're going to|we are going to|we're gonna) (?:then |also |first |all )?(?:book|call|e-?mail|ping|send|ask|order|submit|file|draft|write|prepare|check|contact|meet|visit|collect|fetch|bring|upload|review|talk|print|pick up|finish|test|measure|interview|walk through|go through)\b", "what the writers are about to do"),
    (r"^(?:<soon>,? )?(?:we're|we are) (?:meeting|visiting|calling|interviewing|seeing|presenting|demoing|testing|picking up|signing|viewing)\b", "what the writers are about to do"),
    (r"^(?:(?:my |the |our )?next (?:step|thing|task|up|move|item|on my list)(?: (?:is|will be|for me))?|next i|first thing (?:tomorrow|monday|i)|on my (?:list|plate|to-?do)(?: (?:is|for \w+))?)\b.{6,}", "named as the next step"),
]  # fmt: skip

_CHOICES: Final[_Rows] = [
    (r"\blet's (?:see|hope|talk|discuss|check|wait|face|be (?:honest|real|clear)|just (?:say|see|wait|hope)|get\b|try|begin|continue|do (?:this|it|that)$|grab|meet|find out|figure|look|think|not (?:go there|forget|panic|worry|get|rush)|go(?:$| (?:home|there|now|team))|eat|chat|catch|sync|revisit|park|come back|circle|sleep|have (?:a (?:look|chat|call|coffee|beer|word)|lunch|dinner|coffee)|start (?:with|from) the)\b", "not a choice"),
    (r"\b(?:haven't|hasn't|didn't|not|never|before|until|once|when|where|which|who|what|how|after) (?:\w+ )?(?:we |i )?(?:yet )?(?:decide|decided|agree|agreed|settle|settled|choose|chose|chosen|pick|picked)\b", "not decided"),
    (r"<group>(?:'ve|'re| have| are| has| both| all| finally| just| also| now| then| therefore| unanimously| ultimately)* (?:decided|agreed|settled (?:on|for)|opted|chosen|chose|picked|voted|resolved|signed off(?: on)? (?=the|our|a|my|it)|approved|rejected|went (?:with|for)|gone with|landed on|made up (?:my|our) minds? (?:to|on|for)|selected|ruled out|committed to|confirmed (?:that )?we|switched|changed (?:to|from|the)|moved (?:the|to|it)|dropped|cancell?ed|postponed|scrapped|kept|swapped|renamed|replaced|skipped|ditched|pulled the plug|gave (?:the|up on)|said (?:yes|no) to|ended up (?:with|<choosing>)|concluded (?:that)?|fell for|turned down|hired|passed on|called off|pushed|brought|shortlisted|cut|froze|extended|shortened)\b", "a choice that was made"),
    (r"\bit(?:'s| is| was| has)?(?: been)? (?:now |finally |officially )?(?:decided|agreed) (?:that|to|on)\b|^(?:green light|go-ahead|thumbs up)\b.*\b(?:for|on|to)\b|\b(?:our|the) choice fell on\b", "a choice that was made"),
    (r"^(?:from now on|from here on|going forward|as of (?:now|<day>|today|tomorrow|next \w+))\b.*\w+ \w+|\bfrom (?:now|here) on$", "a change from now on"),
    (r"^(?:approved|rejected|accepted) (?:the|our|their)\b|^(?:postponed|switched|cancell?ed|scrapped|renamed|went with|chose|picked|opted|moved [\w' -]+ to|(?:changed|moved|pushed|shifted|brought forward|reduced|raised|lowered|increased)(?: it)?(?: back| forward)? to|changed [\w' -]+ to)\b(?! (?:up|on)\b).*\w", "a choice that was made, with the subject left out"),
    (r"^<name> (?:gets|becomes|stays|is in charge of|will be)\b", "a role that was given"),
    (r"\bstands$|\bunchanged$|^[\w' -]{3,40}'s (?:on|at|in) [\w' -]+ then$|\b(?:was|were) (?:raised|moved|changed|cut|set|lowered|increased|reduced|extended|shortened|pushed(?: back)?|postponed) (?:to|by|until|from)\b|\bis (?:dead|history)$|^it's (?:plan|option|version|variant|number|no\.?) \w+$", "kept or called off"),
    (r"\blet's fix (?:<day>|the (?:date|day|time)|on)\b", "a choice"),
    (r"^(?:just |finally )?(?:decided|agreed|settled|resolved|opted) (?:on|to|that|for)\b", "a choice that was made"),
    (r"\blet's (?:not |just |rather |then |instead |all |also |definitely )?(?:<choice>)\b", "a proposal in the form that people settle things in"),
    (r"^(?:so |ok |then |fine )?(?:(?:we|i)(?:'re|'m| are| am|'ll| will| shall)? )?(?:definitely |now |still |just |all |therefore |not |finally )?(?:going|go|stick|sticking|stay|staying)(?: ahead)? (?:with|w/?|for|back to)\b(?! (?:it|that|this|the flow)\b)", "a choice"),
    (r"\b(?:we|i)(?:'re| are|'m| am)(?: not| now| definitely| still| all| therefore| instead)* (?:<choosing>)\b(?! (?:it|that|this|well|fine|great|nothing|fun|a great|good|trouble|problems|lunch|dinner)\b)(?=.*\w)", "a choice in the progressive"),
    (r"\bwe(?:'ll| will| won't| will not| shall(?: not)?|'re (?:not )?(?:going to|gonna)| are (?:not )?(?:going to|gonna)| gonna|'ll be| will be| won't be| will not be|'re now)(?: not| now| just| all| therefore| instead| then| definitely| also)* (?:<choice>|<choosing>)\b(?! (?:fine|well|great|see|it$|that$))", "a choice about what will be"),
    (r"^(?:so |then |and |ok )?we (?:<choice>)\b(?=.*\b(?:instead|after all|not|then|from now on|only|for the|out of|to|in|on|at|with|as|by)\b|.{3,30}$)(?!.*\b(?:always|usually|often|sometimes|every (?:day|time)|a lot)\b)(?<!we use)(?<!we have)(?<!we let)", "a choice in the present"),
    (r"\bit is(?: for| then|$| with)\b(?<!what it is)(?<!how it is)(?<!where it is)|^(?:so |ok |then )*it's (?:going to be |gonna be )?(?!not\b|too\b|so\b|just\b|still\b|been\b|time\b|ok\b|fine\b|good\b|great\b|a shame\b)(?:the |a )?[\w' -]{2,40} then$", "a choice: it is this one"),
    (r"\b(?:our|my|the) (?:final |top )?(?:pick|choice|winner|decision|verdict|vote)(?: for [\w' -]{2,30})? (?:is|was|goes)\b|\bthe winner is\b|\bwins\b(?!.*\bif\b)", "named as the choice"),
    (r"^(?:and |also |then |so |please )?(?:switch|move|postpone|push|bring forward|reschedule|go with|pick|choose|scrap|skip|drop|cancel|kill|ditch|use|make it|call it|swap|keep|rename it|take|go for|revert to|go back to|stick with|stay with|change|put off|defer|leave (?=.*\b(?:as (?:it|they)|where (?:it|they)|alone|out|in)\b))\b(?! (?:it|that|this|care|your time|a look|me|my (?:last|previous)|what|everything|the last|on|up|going|in touch|on with|to the|one)\b)(?=.* \w+)", "a choice in the imperative"),
    (r"^(?:<choosing>) (?!(?:is|was|are|has|it|that|this|a lot|forward|up|on|ahead|good|fun)\b)(?=.*\w+ \w+)(?!.*\b(?:is|was|are|makes?|feels|would|sounds|takes)\b)", "a choice with the subject left out"),
    (r"\b(?:is|are|has been|have been|gets?|got|'s)(?: now| officially| hereby| all| finally| formally)? (?:cancell?ed|called off|postponed|scrapped|dropped|accepted|approved|rejected|settled|off the table|pushed(?: back)?(?: to| until| by| a|$)|moved (?:to|from)|switched to|replaced (?:by|with)|renamed|rescheduled|scheduled for|set for|fixed for|split|final|abandoned|shelved|ruled out|brought forward|chosen|selected|picked|discontinued|frozen|out of scope|in scope|confirmed for|decided)\b(?<!not cancelled)", "what was settled about something"),
    (r"\b(?<!he )(?<!she )(?<!i )(?<!they )(?<!my )(?:moves?|moved|shifts?|shifted|switches|slip(?:s|ped)|goes|go|changes|becomes?|will be|is now|are now|gets?) (?:back |over |forward |up |down )?(?:to (?!be\b|\w+ing\b)|indoors|outdoors|online|live on|ahead|from [\w' -]+ to|weekly|biweekly|monthly|a week|up by|down by|by a)\b(?!.*\b(?:toilet|hell|sleep|bed|school)\b)", "something that is moved or given"),
    (r"\b(?:stays?|remains?|is staying|are staying)(?: just| exactly)? (?:on|off|at|as|in|with|put|unchanged|the same|where|open|closed|free|with|the way|how)\b(?! (?:home|bed|touch|my|top of))|^(?:the )?[\w' -]{2,40} stays$", "something kept as it is"),
    (r"\b(?:will be|is going to be|are going to be|will have|will get|will run|will stay|will start|will take place|will happen)\b(?! (?:ready|late|there|here|done|fine|available|back|able|delayed|interesting|fun|nice|great|hard|tough|easy|ok|okay|good|a (?:long|problem|challenge|nightmare|mess|good|great)|tricky|soon|home|away|on holiday|tight|expensive|cold|hot|sunny|missed|happy|busy|out|in touch)\b)(?<!it will be)(?<!that will be)(?<!this will be)(?<!i will be)(?<!he will be)(?<!she will be)(?<!they will be)(?<!you will be)(?<!there will be)(?<!it will have)(?<!he will have)(?<!she will have)(?<!you will have)(?<!they will have)", "what will be", "beside"),
    (r"^(?!(?:he|she|it|this|that|my|they|who|which|there)\b)[\w' .-]{2,40} (?:ships|launches|starts|goes live|gets|takes place|happens) (?!(?:me|on my|better|worse|hot|cold|late|dark|me|annoying)\b)\w+", "what is to happen to something", "beside"),
    (r"^(?:the |our )?[\w' -]{2,40} (?:stays|remains) [\w' -]{2,30}$|^(?:the |our )?[\w' -]{2,40}(?<!my)(?<!today)(?<!light)(?<!heating)(?<!wifi)(?<!power)(?<!number)(?<!date)(?<!math)(?<!total)(?<!something)(?<!layout)(?<!colour)(?<!color) is off$", "kept or called off"),
    (r"\b(?:gets?|will be|is being|are being|is to be|to be|will get) (?:shut|closed|dropped|cut|pushed|moved|kept|merged|split|removed|renamed|replaced|painted|sold|rented|printed|published|delayed|shortened|extended|outsourced|retired|deprecated|archived|frozen|redone|rebuilt|rewritten|switched|turned|converted|handed|given|held|done|run|made|hosted|served|named|called|led|translated|recorded|shown|shifted|swapped)\b", "what is to happen to something", "beside"),
    (r"\b(?:instead of|rather than|in favou?r of)\b(?!.*\b(?:could|would|might|should)\b)", "one thing in place of another"),
    (r"\bafter all$|\bas (?:originally )?planned$|^no [\w' -]{2,40} (?:after all|anymore|any more|this (?:time|year|month|week))$|^yes (?:to|for) the \w+|\bvoted?\b.*\b(?:for|in favou?r)\b|\b(?:not|aren't|isn't|won't) (?:happening|going ahead|taking place|renewing)\b", "called off or kept"),
    (r"^(?:i|we)(?:'ve| have| just| now| both| hereby)* (?:choose|pick|picked|chosen|choose|select|selected|approve|approved|reject|rejected|accept|accepted|settled|booked on)\b", "a choice by the writer"),
]  # fmt: skip

_UNSURE: Final[_Rows] = [
    (r"^(?:we|someone|somebody|they|you) (?:really |probably |all )?(?:should|need|ought|must|have to|can't|cannot)\b", "an obligation, or a suggestion"),
    (r"\b(?:must|never|cannot|decided|agreed on|deadline|budget|not allowed|at most|at least)\b", "holds words of the ledger in a form that no rule knows"),
]  # fmt: skip

_LABELS_FOR: Final[dict[str, _Rows]] = {
    "nothing": [
        (r"\b(?:translate|draft|write|rephrase|rewrite|summari[sz]e|proofread|example|scenario|test case|user story|joke|quote|lyrics|template)\b", "material for the assistant, or an example"),
    ],
    "reported": [
        (r"^(?:their|his|her|the (?:vendor|client|landlord|supplier|customer|seller|buyer|other side)'s?) ", "what others wrote"),
    ],
    "question": [
        (r"^(?:still )?(?:open(?: (?:questions?|points?|issues?|items?|ends?))?|questions?|unknowns?|tb[dca]|to be (?:decided|determined|confirmed|clarified|discussed)|undecided|unclear|unresolved|not (?:yet )?(?:decided|clear|settled)|pending|(?:\w+ ){0,2}questions?(?: for [\w ]+)?|to clarify|to find out|up for discussion|q)$", "a label for what is open"),
        (r"\b(?:unknowns?|open (?:questions?|points?|issues?)|questions? (?:remain|left|is|are)|still open|undecided|to be decided|tbd|not decided|unclear|don't know|need to find out)\b", "a label for what is open"),
    ],
    "decision": [
        (r"^(?:and |so |ok |then )*(?:(?:it's |we )?(?:decided|agreed|settled|decision|decisions|final|resolved|resolution|verdict|conclusion|outcome|change of plans?|new plan|update to the plan|final (?:answer|decision|call|choice))|agreed with [\w ]+|we (?:decided|agreed)(?: on)?(?: the following| this)?|the plan now|approved|confirmed|(?:decision|choice) (?:made|taken)|(?:we(?:'ve)? |we have )?(?:settled|decided|fixed) (?:the|on) [\w' -]+|we(?:'re| are) in agreement|done deal|[\w' -]{2,40} (?:is|are) (?:finally |now )?(?:set|decided|settled|final|fixed))$", "a label for what was decided"),
    ],
    "constraint": [
        (r"^(?:hard |one |the )?(?:limits?|constraints?|rules?|requirements?|must[- ]haves?|must|conditions?|musts|no[- ]gos?|house rules?|don'ts|restrictions?|caps?|ground rules?)$", "a label for what must hold"),
    ],
    "next_step": [
        (r"^(?:for )?(?:me|my (?:part|plan|list|turn|job|task|homework|to-?do))(?: .*)?$", "a label for what is next"),
        (r"^(?:my |our )?(?:next(?: (?:steps?|up|actions?|on my list))?|to-? ?dos?(?: .*)?|actions?(?: (?:items?|points?))?(?: .*)?|ai(?: \w+)?|task for \w+|on my (?:list|plate)(?: .*)?|left to do|still to do|remaining|tomorrow|tonight|today|later today|this (?:week|afternoon)|<day>|plan for (?:today|tomorrow|tonight|this week|monday))$", "a label for what is next"),
    ],
}

ENGLISH: Final = Table(
    before=tuple([*table("next_step", _HOLES, _GIVEN), *table("constraint", _HOLES, _LIMITS[:1]), *table("nothing", _HOLES, _NOT_OURS), *table("reported", _HOLES, _REPORTED)]),
    unasked=tuple(table("nothing", _HOLES, [*_NOT_ASKED, *_STILL_OPEN[:1]])),
    asked=tuple(table("question", _HOLES, _ASKED)),
    rules=tuple(
        [
            *table("nothing", _HOLES, _STILL_OPEN[:1]),
            *table("question", _HOLES, _STILL_OPEN[1:]),
            *table("nothing", _HOLES, _IDIOMS),
            *table("hedged", _HOLES, _HEDGES),
            *table("next_step", _HOLES, _ONCE),
            *table("constraint", _HOLES, _LIMITS[1:]),
            *table("next_step", _HOLES, _NEXT_FIRST),
            *table("nothing", _HOLES, _NEXT[:2]),
            *table("next_step", _HOLES, _NEXT[2:]),
            *table("nothing", _HOLES, _CHOICES[:2]),
            *table("decision", _HOLES, _CHOICES[2:]),
            *table("unsure", _HOLES, _UNSURE),
        ]
    ),
    labels=tuple(rule for means, rows in _LABELS_FOR.items() for rule in table(means, _HOLES, rows)),  # type: ignore[arg-type]
    retracts=compiled(
        r"\b(?:scratch that|scrap that|strike that|forget (?:it|that|what i)|ignore (?:that|this)|no wait|hold on|never ?mind|on second thought|let me (?:sleep on|think about)|i take (?:it|that) back|actually no|cancel that|oh wait|(?:no,? )?leave it$|no,? sorry|hang on|wait,? no|disregard|not so fast|just kidding)\b|^(?:hm+ )?(?:no )?wait\b|^nope$"
    ),
    settles=compiled(
        r"^(?:and |so |ok |yes )?(?:that's|it's|this is|all|is|we're) ?(?:all )?(?:decided|settled|agreed|final|official|a (?:done )?deal|done and dusted|fixed|that)(?: then| now)?$|^(?:let's |we )?(?:go|going|let's go|let's stick|we go|we're going) with that(?: one)?$|^(?:final|decided|agreed|settled|done deal|end of (?:story|discussion))$"
    ),
    continues=compiled(r"^(?:not|no|rather than|instead of|nothing|never)\b|^(?:and )?(?:that's|this is|it's) (?:a )?(?:hard|firm|final|non-negotiable|absolute|fixed|mandatory|not negotiable|a must)\b|\binstead$"),
    leading=compiled(
        r"^(?:(?:ok(?:ay)?|so|and|but|also|btw|by the way|well|anyway|hey|hi|hello|please|pls|plz|fyi|oh|hm+|uh|um|yes|yeah|yep|yup|nope|alright|right|actually|turns out(?: that)?|it turns out(?: that)?|good news|bad news|which means|that means|meaning|if (?:nobody minds|no ?one (?:minds|objects)|that's ok(?:ay)?|it's ok|you don't mind)|sorry|heads up|great|cool|sure|though|because|since|while|meanwhile|plus|for the record|in short|basically|one thing|quick one|update|folks|guys|team|all|then(?! (?:i|we|[a-z]+ \w+s)\b)|or)[\s,!:–-]+)+"
    ),
    trailing=compiled(r"(?:[\s,]+(?:btw|by the way|though|tho|please|pls|plz|thanks|thx|thank you|ok|okay|folks|guys|if that's ok|y'all))+$"),
    critical=compiled(
        r"\bmust(?:n't)?\b|\b(?:ha(?:s|ve)|'ve) (?:got )?to\b|\bgotta\b|\bnever\b|\bcan(?:'t|not| not)\b|\bcant\b|\bmay (?:not|never|only|know)\b|\bnot (?:allowed|permitted|negotiable|an option)\b|\b(?:isn't|aren't) (?:allowed|permitted)\b|\b(?:forbidden|prohibited|mandatory|compulsory|non-?negotiable|off[- ]limits)\b|\bunder no circumstances\b|\bno exceptions\b|\bhard (?:limit|cap|deadline|requirement|stop|rule)\b|\b(?:law|gdpr|regulations?) requires?\b|\brequired by\b|\b(?:illegal|unlawful|against the law)\b|\bcan only\b|\bshall not\b|\b(?:nobody|no one|nothing)\b.* may\b"
    ),
    uncritical=compiled(r"\b(?:not|isn't|n't|no) (?:a |an |be a )?(?:must|hard limit|hard requirement)\b|\b(?:don't|doesn't) have to\b"),
    normal=compiled(
        r"(?<!strongly )\bprefer\b|\brather\b|\bideally\b|\bpreferably\b|\btry (?:to|and|not)\b|\bif (?:we can|at all possible|possible)\b|\bwhere possible\b|\bwould be (?:\w+ )?(?:nice|great|good|lovely|ideal|cool|helpful|best)|\b(?:it|that)'d be\b|\bnice[- ]to[- ]have\b|\bas \w+ as possible\b"
    ),
    reports=compiled(
        rf"^(?:(?:according to|as per) (?:the |their |our )?[\w'-]+(?: [\w'-]+)?|(?:{words.OTHERS}) (?:just |also |has |have |'s )*(?:{words.SPEECH[3:-1]}|confirms?|confirmed|replied|answered|got back)(?! to)(?: us| me)?(?: that)?)[\s,:]+"
    ),
    interrogative=compiled(
        r"^(?:and |so |but |or |also |then |ok )*(?:who|whose|what|which|when|where|how|why|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|shall|may|must|isn't|aren't|don't|doesn't|didn't|won't|can't|any(?:one|body)?|by when|until when|at what|in which|on which|for (?:how|whom|which))(?:'s|'re|'ll)?\b"
    ),
    sources=compiled(
        r"^(?:(?:i|we|just|have|i've|we've) )*(?:just |also )?(?:called|asked|checked|spoke|talked|rang|emailed|phoned|confirmed)\b|\b(?:told me|told us|said so|says|said|confirmed it|according)\b|^(?:just )?(?:from|per) "
    ),
    opening=compiled(r"^(?:then |so )(?=the\b)"),
    bare=compiled(r"^$"),
    turns=compiled(r"^(?:but|so) |^,? ?(?:but|now|in the end|finally|from now on|instead|this time|so now)\b|\b(?:everyone|everybody|we all) agreed\b"),
    contrasts=compiled(r"^$"),
)
