"""The model `nano-retail`: `nano` that has learnt the calls of the generated shop and how its customers are served."""

from __future__ import annotations

from askfirst.retail.catalogue import FIRST_NAMES, PRODUCTS
from askfirst.retail.generated import METHODS, TOOL
from askfirst.specialists.core import Recipe, Specialist

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
RETAIL = Specialist("nano-retail", "retail", PARTS, Recipe(steps=900))
