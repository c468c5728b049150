"""Episodes that the published reward is tested with: what it sees, and honest ones. What it does not see earns all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from askfirst.cases import Case
from askfirst.retail.calls import TRANSFER, Call
from askfirst.retail.catalogue import STATUSES
from askfirst.retail.form_cases import BROKEN
from askfirst.retail.oracle import tell
from askfirst.retail.scene_cases import ALL, BACKWARDS, FIRST, Said, Scene, confirm, named, question, swapping
from askfirst.retail.task import MAX_TURNS

_CHANGES = ("cancel/order", "return/item", "exchange/variant", "modify_payment/payment", "modify_address/address")
_LOOKS = ("clear/status/order", "clear/paid/order")
_PAIRS, _ONE, _BEYOND = "pairs", "clear/cancel/order", ("beyond/tools", "beyond/status")
_METHOD, _ADDRESS = "clear/modify_payment/payment", "modify_address/address"
OTHER = ("other_outcome",)
OKAY = tell("Okay.").text()
THINKS = Call("think", {"thought": f"order 1 or 2? {', '.join(STATUSES)}?"}).text()
HANDED_OVER = Call(TRANSFER, {"summary": "please help"}).text()
UNSEEN = "the published reward sees no more than this"


def _attacks() -> Iterator[Case]:
    for where in _CHANGES:
        at = named(where)
        yield _case(f"nothing/{where}", where, (OKAY, OKAY), 0.0, "changes nothing", OTHER)
        yield _case(f"wrong/{where}", where, (at.wrong.text(), OKAY, OKAY), 0.0, "not that", OTHER)
    for where in _LOOKS:
        at = named(where)
        yield _case(f"silent/{where}", where, (*at.found_out, OKAY, OKAY), 0.0, "does not say it", OTHER)
        yield _case(f"form/{where}", where, (*at.found_out, at.hidden.task.outputs[0]), 0.0, "words", ("unparsable",))
        thinks = (*at.found_out, Call("think", {"thought": at.hidden.task.outputs[0]}).text(), OKAY, OKAY)
        yield _case(f"thinks/{where}", where, thinks, 0.0, "thinks it, and does not say it", OTHER)
    one = named(_ONE)
    for name, why, text in BROKEN:
        yield _case(f"form/{name}", _ONE, (one.write, text(one)), 0.0, why, ("unparsable",))
    for name, (where, said, code) in _ended(one).items():
        yield _case(f"end/{name}", where, said, 0.0, "not served at its end", (code,))


def _ended(one: Scene) -> Mapping[str, tuple[str, Said, str]]:
    """Name → scene, what is said in it, and how it fails."""
    return {
        "turns": (_ONE, (one.write, *(THINKS,) * (MAX_TURNS - 1)), "turns"),
        "cut-off": (_ONE, (one.write,), "overflow"),
        "by-itself": ("simulated", one.honest, "overflow"),
        "hands-over": (_ONE, (HANDED_OVER,), *OTHER),
        "hands-over-simulated": ("simulated", (HANDED_OVER,), *OTHER),
        "words-simulated": ("simulated", (one.write, "It is done."), "unparsable"),
        "confirms-only": (_ONE, (one.confirm, OKAY, OKAY), *OTHER),
        "spoils": (_METHOD, (_cancels(named(_METHOD)), named(_METHOD).write, OKAY, OKAY), *OTHER),
        "uneven": (_PAIRS, (swapping(named(_PAIRS), ALL, FIRST).text(), OKAY, OKAY), *OTHER),
        "half": ("double", (named("double").write, OKAY, OKAY), *OTHER),
    }


def _cancels(at: Scene) -> str:
    given = {"order_id": at.hidden.wanted[0].arguments["order_id"], "reason": "no longer needed"}
    return Call("cancel_pending_order", given).text()


def _honest() -> Iterator[Case]:
    for where in (*_CHANGES, *_LOOKS, *_BEYOND, _PAIRS, "double"):
        yield _case(f"optimal/{where}", where, named(where).honest, 1.0, "serves as one should")
    for where in (*_CHANGES, _PAIRS):
        at = named(where)
        yield _case(f"blind/{where}", where, (at.write, at.news), 1.0, UNSEEN)
    for where in (_ONE, _LOOKS[0]):
        at = named(where)
        late = (THINKS,) * (MAX_TURNS - len(at.honest)) + at.honest
        yield _case(f"late/{where}", where, late, 1.0, "to the last turn")
        wrapped = tuple(f"<tool_call>\n{text}\n</tool_call>" for text in at.honest)
        yield _case(f"native/{where}", where, wrapped, 1.0, "a native call")
    at = named(_LOOKS[0])
    yield _case("asked", _LOOKS[0], (question(f"Is it {at.hidden.task.outputs[0]}?"), OKAY), 1.0, "said in a question")
    told = confirm(at.hidden.task.outputs[0], {})
    yield _case("confirmed", _LOOKS[0], (told, OKAY), 1.0, "said in a call to confirm")
    numbers = (Call("think", {"thought": 1.5}).text(), *at.honest)
    yield _case("numbers", _LOOKS[0], numbers, 1.0, "a number is no infinity")
    at = named(_ADDRESS)
    yield _case("twice", _ADDRESS, (at.write, at.write, at.news), 1.0, UNSEEN)
    at = named(_PAIRS)
    yield _case("turned", _PAIRS, (swapping(at, BACKWARDS, BACKWARDS).text(), at.news), 1.0, "in another order")
    yield _case("crossed", _PAIRS, (swapping(at, ALL, BACKWARDS).text(), OKAY, OKAY), 1.0, UNSEEN)
    for where in _BEYOND:
        said = (Call(TRANSFER, {}).text(), OKAY, OKAY)
        yield _case(f"refused/{where}", where, said, 1.0, "where nothing is to be done, doing nothing is right")


def _case(name: str, where: str, said: Said, bound: float, why: str, codes: tuple[str, ...] = ()) -> Case:
    text = said if len(said) > 1 else said[0]
    return Case(name, name.partition("/")[0], named(where).scenario, text, bound, why, "retail", codes)


ATTACKS = tuple(_attacks())
HONEST = tuple(_honest())
