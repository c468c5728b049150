"""The function words and slot nouns by which a question is read."""

from __future__ import annotations

WH = frozenset("who whom whose when where why how which what".split())
AUX = frozenset("should shall do does did can could would will is are was were may might have has".split())
# Auxiliaries that ask only before a subject: "may third" is a day.
ALSO_NOUNS = frozenset("can will may might have do".split())
SUBJECTS = frozenset("i you we it that this these those they he she the there your".split())
AND = frozenset("and or but plus also then".split())
PREPOSITIONS = frozenset(
    """
    to for at with from of until till by in on into onto under about after before than as
    """.split()
)
# "i don't know when" asks, "i don't need to know when" does not.
NEGATIONS = frozenset("don't not never no needn't".split())
NEEDS = frozenset("need needn't want have care".split())
# After these an embedded question may stand: "tell me who", "i don't know when".
CUES = frozenset(
    """
    me know say specify share clarify ask sure unsure certain decide choose pick wondering tell see
    """.split()
)
LEADS = frozenset(
    """
    sure okay ok alright right hey hi hmm um oh so well yes yeah please sorry thanks just exactly and
    """.split()
)
FILLERS = frozenset(
    """
    of the these those this that your my our their its a an is are was should would will be kind sort type exact
    specific particular new right other better open current one two three start starting end best
    """.split()
)
WRITES = ("write", "type", "say", "put", "note", "jot")
GIVE = frozenset(
    """
    give tell share provide specify name say know have get need confirm clarify choose pick add mention suggest
    prefer like want there see
    """.split()
)
ARTICLES = frozenset("the a an your any some their its that".split())
# Words around a question that neither act nor ask.
POLITE = frozenset(
    """
    sure okay ok alright right hey hi hello hmm um oh well yes yeah happy to help of course got it quick
    question one thing first please thanks thank you sorry no problem great absolutely certainly glad good
    before i do that just so and let me check with can need know more a bit detail there
    """.split()
)
# Natural ways to name a slot beyond those that the protocol lists.
MORE_NAMES = {
    "content": (
        *(f"what {ask} {verb}" for ask in ("should i", "would you like me to", "do you want me to") for verb in WRITES),
        "what do you want it to say",
        "what would you like it to say",
        "what do you want the",
        "what would you like the",
    ),
    "target": ("what you need", "what you mean", "what do you need", "what do you mean", "what needs"),
}
# What to call one of several things when the request itself has no noun for them.
ITEMS = frozenset((which, noun) for which in ("which", "what") for noun in ("item", "thing"))
# A duration is a quantity of time: either topic is right for it.
DURATIONS = frozenset({"long", "duration", "length", "minutes", "seconds", "hours"})
# A word of the protocol that no listener would understand does not name anything.
JARGON = frozenset({"target"})
NOUNS = {
    **dict.fromkeys(("recipient", "recipients", "person", "people", "contact", "addressee"), "recipient"),
    **dict.fromkeys(("time", "day", "date", "hour", "deadline"), "time"),
    **dict.fromkeys(("target",), "target"),
    **dict.fromkeys(("app", "application", "program"), "app"),
    **dict.fromkeys(("content", "contents", "wording", "words", "text", "message", "body"), "content"),
    **dict.fromkeys(("quantity", "amount", "duration", "length", "number", "percentage", "size"), "quantity"),
    **dict.fromkeys(("place", "location"), "place"),
}
# What may follow the phrase that asks: beside these, words of the request, the candidates and a verb in -s.
AFTER = (
    AUX
    | SUBJECTS
    | PREPOSITIONS
    | AND
    | frozenset("exactly else me my one ones instead please get gets need want work do down up out off".split())
)
# After a phrase that ends in one of these, its own object must follow.
UNFINISHED = frozenset("i the to me you".split())
# After these it may.
COUNTS = frozenset("many much".split())
# A question does not end in one of these.
DANGLING = frozenset("the a an my your our and or should could would will can if".split())
# How a clause opens that leads up to a question: "please tell me who", "any idea when".
OPENERS = AUX | frozenset("please i i'm i'd tell let just any not".split())
# What parts two options.
EITHER = frozenset("or and vs versus".split())
# Words that name none of the things that a question could offer.
PLAIN = (
    LEADS
    | AND
    | AUX
    | SUBJECTS
    | PREPOSITIONS
    | NEGATIONS
    | NEEDS
    | CUES
    | FILLERS
    | GIVE
    | ARTICLES
    | POLITE
    | OPENERS
    | AFTER
    | EITHER
    | frozenset(
        """
        mean meant talking looking thinking referring found both neither none all else another others something
        someone maybe rather perhaps only four five six several few same case if here go avoid mistake mistakes
        clear checking
        """.split()
    )
)
