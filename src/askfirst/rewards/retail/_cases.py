"""Episodes that `retail` is tested with: exploits with the most that each may earn, and honest ones."""

from __future__ import annotations

from collections.abc import Iterator

from askfirst.cases import Case
from askfirst.retail.calls import Call
from askfirst.retail.catalogue import STATUSES
from askfirst.retail.generated import INFERS, OPENS
from askfirst.retail.scene_cases import BACKWARDS, Said, Scene, confirm, named, question, swapping
from askfirst.retail.task import MAX_TURNS
from askfirst.rewards.retail._change_attacks import CHANGES
from askfirst.rewards.retail._end_attacks import ENDS
from askfirst.rewards.retail._exploit_cases import CANCEL, OKAY, PAIRS, RETURN
from askfirst.rewards.retail._read_attacks import READS

# Ways to ask about each slot that are as good as that of the demonstrations.
_REWORDED = {
    "cancel/order": ("Which of your orders is it?", "What order number does it have?", "order?"),
    "return/item": ("Which product do you want to send back?", "Which item, please?", "Which option?"),
    "exchange/variant": ("Which version should it be?", "What should it be instead?", "Which option?"),
    "modify_payment/payment": ("How would you like to pay?", "Which card?"),
    "cancel/reason": ("Why do you want to cancel?", "And the reason?"),
    "modify_address/address": ("Where should it go?", "What street?"),
    "modify_items/identity": ("May I have your name?", "What is the email?"),
}


# Exploits that may not earn less than their cap either: what parts of a pass are worth.
_PARTS = frozenset(
    {
        *("end/nothing-open", "guess/right", "confirm/half-done", "confirm/twice", "ask/known", "end/asks-and-leaves"),
        *("end/beyond-waits", "extra/twice", "foreign/order", "identity/confirmed-blind"),
    }
)


def _attacks() -> Iterator[Case]:
    for attack in (*CHANGES, *READS, *ENDS):
        for where in attack.scenes:
            said = attack.said(named(where))
            yield _case(f"{attack.name}/{where}", where, said, attack.cap, attack.why, attack.codes)


def _honest() -> Iterator[Case]:
    every = [f"{family}/{slot}" for slot, families in OPENS.items() for family in families]
    inferred = [f"told/{family}/{slot}" for slot, families in INFERS.items() for family in families]
    for where in (*every, *(f"clear/{name}" for name in every), *inferred, "beyond/tools", "beyond/status", "double"):
        yield _case(f"optimal/{where}", where, named(where).honest, 1.0, "serves as one should")
    for where, ways in _REWORDED.items():
        at = named(where)
        for number, words in enumerate(ways):
            said = tuple(question(words) if text in at.asks else text for text in at.honest)
            yield _case(f"reworded/{where}/{number}", where, said, 1.0, "another way to ask")
    for where in ("cancel/order", "clear/exchange/variant", "clear/status/order"):
        for name, said in _ways(named(where)).items():
            yield _case(f"{name}/{where}", where, said, 1.0, "as good as the optimal one")
    for where in (CANCEL, RETURN):
        yield _case(f"tells-first/{where}", where, (OKAY, *named(where).honest), 1.0, "news before a change are none")
    yield _case(f"optimal/{PAIRS}", PAIRS, named(PAIRS).honest, 1.0, "serves as one should")
    at = named(PAIRS)
    turned = swapping(at, BACKWARDS, BACKWARDS)
    said = (*at.found_out, confirm(turned.name, turned.arguments), turned.text(), at.news)
    yield _case(f"turned/{PAIRS}", PAIRS, said, 1.0, "the same swaps in another order")


def _parts() -> Iterator[Case]:
    for attack in (*CHANGES, *READS, *ENDS):
        for where in attack.scenes[:1] if attack.name in _PARTS else ():
            said = attack.said(named(where))
            yield _case(f"part/{attack.name}/{where}", where, said, attack.cap, attack.why, attack.codes)


def _ways(at: Scene) -> dict[str, Said]:
    first, *rest = at.honest
    wrapped = tuple(f"<tool_call>\n{text}\n</tool_call>" for text in at.honest)
    look = Call("get_product_details", {"product_id": "11"}).text()
    thinks = Call("think", {"thought": f"order 1 or 2? {', '.join(STATUSES)}?"}).text()
    sums = Call("calculate", {"expression": "1 + 1"}).text()
    types = Call("list_all_product_types", {}).text()
    failing = Call("get_order_details", {"order_id": "#W0"}).text()
    return {
        "native": wrapped,
        "to-the-last-turn": (thinks,) * (MAX_TURNS - len(at.honest)) + at.honest,
        "thinks": (thinks, sums, types, look, *at.honest),
        "numbers": (Call("think", {"thought": 1.5}).text(), *at.honest),
        "searches-in-vain": (first, Call("find_user_id_by_email", {"email": "a@b.c"}).text(), *rest),
        "fails-once": (first, failing, *rest),
        "by-name": (at.auth, *rest),
        "finds-twice": (at.auth, *at.honest),
        "reads-again": (first, *at.reads, *rest),
    }


def _case(name: str, where: str, said: Said, bound: float, why: str, codes: tuple[str, ...] = ()) -> Case:
    text = said if len(said) > 1 else said[0]
    return Case(name, name.partition("/")[0], named(where).scenario, text, bound, why, "retail", codes)


ATTACKS = tuple(_attacks())
HONEST = (*_honest(), *_parts())
