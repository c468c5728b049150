"""The model `nano-retail`: `nano` that has learnt the calls of the generated shop and how its customers are served.

Family names of customers belong to a split, and so do wordings. In most dialogues the name is a made-up one, wherever
it stands, and words that carry nothing are others: to find the name, the number and the verb in them helps, to know
sentences by heart does not.
"""

from __future__ import annotations

import re

import numpy as np

from askfirst.nano_build import made_up, odd
from askfirst.replies import SAID
from askfirst.retail.catalogue import FIRST_NAMES, LAST_NAMES, PRODUCTS
from askfirst.retail.generated import METHODS, TOOL
from askfirst.retail.wordings import BY_EMAIL, BY_NAME
from askfirst.specialists.core import Pair, Recipe, Specialist, Told
from askfirst.values import Message, Scenario

RENAMED, REWORDED = 0.9, 0.6  # shares of the dialogues
# Words of requests that tell nothing of what is wanted.
EMPTY = re.compile(r"(?<![\w{])(?:please|want|would|like|can|you|could|tell|look|for me)(?!\w)", re.IGNORECASE)
_ORDER = '", "arguments": {"order_id": "#W'
_WORDS = sorted(
    {word for product in PRODUCTS.values() for word in product["name"].split()}
    | {
        word
        for product in PRODUCTS.values()
        for variant in product["variants"].values()
        for value in variant["options"].values()
        for word in value.split()
        if word.isalpha() and len(word) > 3
    }
    | set("delivered pending processed cancelled exchange return modify address payment credit paypal refund".split())
)
# Fixed parts of calls and answers, and words that the shop shares between splits, a token each.
PARTS = (
    *(f'{{"name": "{tool}{_ORDER}' for tool in TOOL.values()),
    *TOOL.values(),
    '{"name": "find_user_id_by_name_zip", "arguments": {"first_name": "',
    '", "last_name": "',
    '", "zip": "',
    '{"name": "find_user_id_by_email", "arguments": {"email": "',
    '{"name": "get_user_details", "arguments": {"user_id": "',
    f'{{"name": "get_order_details{_ORDER}',
    '{"name": "get_product_details", "arguments": {"product_id": "',
    '{"name": "ask_question", "arguments": {"question": "',
    '{"name": "ask_confirmation", "arguments": {"action": "',
    _ORDER,
    '{"name": "tell_user", "arguments": {"text": "It is ',
    '{"name": "tell_user", "arguments": {"text": "',
    '{"name": "transfer_to_human_agents", "arguments": {"summary": "beyond my tools"}}',
    '{"payment_methods": ["',
    '"], "orders": ["#W',
    '", "#W',
    '{"status": "',
    '", "items": [["',
    '"], ["',
    '"]], "paid": [[',
    '"]]}',
    '": ["',
    '", true], "',
    '", false]}',
    '", "item_ids": ["',
    '"], "new_item_ids": ["',
    '"], "payment_method_id": "',
    '", "payment_method_id": "',
    '", "reason": "',
    '"}}}',
    '"]}',
    *(f', "{method}_' for method in METHODS),
    *(f"{method}_" for method in METHODS),
    "user said: Yes.",
    *_WORDS,
    *FIRST_NAMES,
)


def retold(scenario: Scenario, told: Told, random: np.random.Generator) -> Pair:
    """The dialogue with another family name, and with other words around what matters in the request."""
    messages, last, _ = told
    if random.random() < RENAMED:
        messages, last = _renamed(messages, last, random)
    if random.random() < REWORDED:
        opening = Message("user", SAID + _reworded(messages[0].content.removeprefix(SAID), random))
        messages = (opening, *messages[1:])
    return messages, last


def _renamed(messages: tuple[Message, ...], last: str, random: np.random.Generator) -> Pair:
    """The dialogue with made-up names for the family names in it, wherever they stand."""
    names = sorted({name for name in LAST_NAMES["train"] for m in messages if name.lower() in m.content.lower()})
    for name in names:
        new = odd(random) if random.random() < 0.7 else made_up(random)
        swaps = ((name, new.capitalize()), (name.lower(), new))
        for old, other in swaps:
            messages = tuple(Message(m.role, m.content.replace(old, other)) for m in messages)
            last = last.replace(old, other)
    return messages, last


def _reworded(request: str, random: np.random.Generator) -> str:
    """The request with a greeting of words that mean nothing, and such words for those that tell nothing."""
    for greeting in (*BY_NAME["train"], *BY_EMAIL["train"]):
        form = re.escape(greeting).replace(r"\{name\}", r"(\w+ \w+)").replace(r"\{zip\}", r"(\d+)")
        if match := re.match(form.replace(r"\{email\}", r"(\S+)"), request):
            who = " ".join(part for one in match.groups() for part in (_words(random), one)).strip()
            request = f"{who[:1].upper()}{who[1:]}.{request[match.end() :]}"
            break
    return EMPTY.sub(lambda found: made_up(random) if random.random() < 0.3 else found[0], request)


def _words(random: np.random.Generator) -> str:
    return " ".join(made_up(random) for _ in range(int(random.integers(0, 3))))


RETAIL = Specialist("nano-retail", "retail", PARTS, Recipe(steps=800), retold=retold)
