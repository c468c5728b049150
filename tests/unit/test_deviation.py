"""What may be changed in a frozen run, and what may not."""

from __future__ import annotations

from typing import Any

import pytest

from askfirst.deviation import Change, changes, require_allowed
from askfirst.errors import GateFailed

LOCK: dict[str, Any] = {
    "plan": {"train": {"lr": 0.1, "steps": 4, "kl": {"beta": 0.0}}, "gate": [{"min": 0.2}],
             "budget": {"wall_minutes": 5}},
    "sources": {"losses/ppo_clip": "a", "rewards/slots": "b"},
}  # fmt: skip


def changed(path: str, value: Any) -> tuple[Change, ...]:
    after = {"plan": {k: dict(v) if isinstance(v, dict) else v for k, v in LOCK["plan"].items()}}
    after["sources"] = dict(LOCK["sources"])
    *way, last = path.split(".")
    place: Any = after
    for part in way:
        place[part] = dict(place[part])
        place = place[part]
    place[last] = value
    return changes(LOCK, after)


def test_every_difference_is_named_with_what_was_before() -> None:
    assert changes(LOCK, LOCK) == ()
    assert changed("plan.train.kl.beta", 0.1) == (Change("plan.train.kl.beta", 0.0, 0.1),)
    assert changed("sources.losses/ppo_clip", "c") == (Change("sources.losses/ppo_clip", "a", "c"),)
    assert changed("plan.train.new", 1) == (Change("plan.train.new", None, 1),)


@pytest.mark.parametrize("path", ["plan.train.lr", "plan.budget.wall_minutes", "sources.losses/ppo_clip"])
def test_how_it_is_computed_may_change(path: str) -> None:
    require_allowed(changed(path, 9), "here")


@pytest.mark.parametrize("path", ["plan.gate", "plan.train.steps", "sources.rewards/slots", "plan.ship"])
def test_how_it_is_judged_may_not(path: str) -> None:
    with pytest.raises(GateFailed, match="promised"):
        require_allowed(changed(path, [{"min": 0.0}]), "here")
