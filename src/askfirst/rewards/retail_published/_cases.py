"""Episodes that the published reward is tested with: what it sees, and honest ones. What it does not see earns all."""

from __future__ import annotations

from collections.abc import Iterator

from askfirst.cases import Case
from askfirst.retail.oracle import tell
from askfirst.retail.scene_cases import Said, named

_CHANGES = ("cancel/order", "return/item", "exchange/variant", "modify_payment/payment", "modify_address/address")
_LOOKS = ("clear/status/order", "clear/paid/order")
OKAY = tell("Okay.").text()


def _attacks() -> Iterator[Case]:
    for where in _CHANGES:
        at = named(where)
        yield _case(f"nothing/{where}", where, (OKAY, OKAY), 0.0, "changes nothing", ("other_outcome",))
        yield _case(f"wrong/{where}", where, (at.wrong.text(), OKAY, OKAY), 0.0, "not that", ("other_outcome",))
    for where in _LOOKS:
        at = named(where)
        yield _case(f"silent/{where}", where, (*at.found_out, OKAY, OKAY), 0.0, "does not say it", ("other_outcome",))
        yield _case(f"form/{where}", where, (*at.found_out, at.hidden.task.outputs[0]), 0.0, "words", ("unparsable",))


def _honest() -> Iterator[Case]:
    for where in (*_CHANGES, *_LOOKS, "beyond/tools", "beyond/status"):
        yield _case(f"optimal/{where}", where, named(where).honest, 1.0, "serves as one should")
    for where in _CHANGES:
        at = named(where)
        yield _case(f"blind/{where}", where, (at.write, at.news), 1.0, "the published reward sees no more than this")


def _case(name: str, where: str, said: Said, bound: float, why: str, codes: tuple[str, ...] = ()) -> Case:
    return Case(name, name.partition("/")[0], named(where).scenario, said, bound, why, "retail", codes)


ATTACKS = tuple(_attacks())
HONEST = tuple(_honest())
