"""A control, not a reward: every reply earns a number drawn from a hash of what was said to what.

A training signal that knows nothing of the request. Whatever a run gains under it, the rest of the setup gave. It holds
against nothing, and its cases below say so; it passes nothing, and selection leaves it out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from askfirst.rewards._protocol import checked, truth_of
from askfirst.rewards._published_cases import LEGITIMATE, attacks
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

__all__ = ["ATTACKS", "BOUNDS", "CONTROL", "DEFAULTS", "HONEST", "LAW_EXCEPTIONS", "VERSION", "score"]

VERSION = 1
BOUNDS = (0.0, 1.0)
CONTROL = True
DEFAULTS: FrozenMap = FrozenMap()
CODE = "control"
BITS = 48
ATTACKS = tuple(
    replace(case, bound=1.0, why="a control holds against nothing: any reply may earn anything", codes=(CODE,))
    for case in attacks(strict=False)
)
HONEST = tuple(
    replace(case, bound=0.0, why="a control owes honesty nothing: any reply may earn anything", codes=(CODE,))
    for case in LEGITIMATE
)
_WHY = "a control: another text is another draw"
LAW_EXCEPTIONS = FrozenMap(
    dict.fromkeys(("case", "white space", "paraphrase", "order", "distractor", "poorer", "richer"), _WHY)
)


def score(scenario: Scenario, trajectory: Trajectory, params: Mapping[str, Any]) -> Score:
    """A number in [0, 1) that depends on the opening and on every reply, letter by letter; never a pass.

    Raises RewardFault for unknown params and for a scenario of another protocol.
    """
    checked(params, DEFAULTS)
    truth_of(scenario)
    said = [message.content for message in trajectory.messages if message.role != "system"]
    digest = hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).digest()
    total = (int.from_bytes(digest[:8], "big") >> (64 - BITS)) / 2**BITS
    return Score(total, FrozenMap({"draw": total}), False, (CODE,), f"random_control@{VERSION}")
