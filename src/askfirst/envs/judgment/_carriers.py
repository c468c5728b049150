"""How a request is wrapped when spoken: politeness and fillers that change nothing and name no time or person."""

from __future__ import annotations

from askfirst.envs.judgment._draw import Draw

_PLAIN = 0.4  # share of requests said without any wrapping

_BEFORE_ORDER = (
    "please",
    "can you",
    "could you",
    "would you",
    "hey",
    "okay",
    "pace",
    "go ahead and",
    "i need you to",
    "i want you to",
    "could you please",
    "can you quickly",
    "hey pace",
    "um",
    "alright",
    "i'd like you to",
    "so",
    "be so kind and",
)
_BEFORE_ANY = ("hey", "okay", "pace", "hey pace", "um", "so", "alright", "hm", "well", "right, so")
_AFTER = ("please", "for me", "thanks", "if you can", "would you", "thank you", "will you", "okay")
# First words of requests that are questions or statements rather than orders.
_NOT_ORDERS = frozenset(
    """what what's when where who who's why which how is are am do does did any will would can could should
    i i'm i've it it's its the my this that there don't new square every note if same {when} {app} {occasion}""".split()
)
# A request that ends in dictated words, or that already has its politeness, takes nothing behind it.
_OPEN_END = ("{say}", "{errand}", "{entry}", "please", "thanks", " me", "self", "now")


def open_ended(template: str) -> bool:
    """Whether nothing can be put behind a request of this template."""
    return template.rstrip(")").endswith(_OPEN_END)


def carry(text: str, template: str, draw: Draw, bare_end: bool) -> str:
    """The filled request with a wrapping that suits its template; nothing behind it where `bare_end`."""
    plain, before, choice = draw.chance(_PLAIN), draw.chance(0.72), draw.below(1 << 20)
    if plain:
        return text
    order = template.split(maxsplit=1)[0].strip(",") not in _NOT_ORDERS
    if before or bare_end or not order:
        options = _BEFORE_ORDER if order else _BEFORE_ANY
        return f"{options[choice % len(options)]} {text}"
    return f"{text} {_AFTER[choice % len(_AFTER)]}"
