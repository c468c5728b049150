"""What every reward of the reply protocol needs: the truth, what the user said, checked params, the score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askfirst.errors import RewardFault
from askfirst.replies import SAID, Truth, truth
from askfirst.values import FrozenMap, Scenario, Score


def truth_of(scenario: Scenario) -> Truth:
    """The truth of a scenario. Raises RewardFault where the scenario holds none of this protocol."""
    try:
        return truth(scenario)
    except TypeError as error:
        raise RewardFault(
            f"expected the truth of a reply, found hidden fields {sorted(scenario.hidden)}",
            where=f"scenario {scenario.id}",
            hint="use a reward that belongs to the environment",
        ) from error


def utterance(scenario: Scenario) -> str:
    """What the user said: the text after the last line that starts with SAID, else the whole message."""
    content = next((m.content for m in reversed(scenario.opening) if m.role == "user"), "")
    start = content.rfind("\n" + SAID)
    if start >= 0:
        return content[start + 1 + len(SAID) :]
    return content.removeprefix(SAID)


def checked(params: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Defaults with `params` over them. Raises RewardFault for a name that the reward does not have."""
    unknown = sorted(set(params) - set(defaults))
    if unknown:
        raise RewardFault(f"unknown reward params {unknown}", hint=f"choose among {sorted(defaults)}")
    return {**defaults, **params}


def pass_or_fail(failures: tuple[str, ...], reward: str) -> Score:
    """A score of 1 without failures, else 0."""
    total = 0.0 if failures else 1.0
    return Score(total, FrozenMap({"pass": total}), not failures, failures, reward)
