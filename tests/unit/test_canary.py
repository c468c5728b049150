"""A canary that comes into training stops the run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import plugins
from askfirst.backends.tabular import Tabular
from askfirst.canary import canary, require_none
from askfirst.errors import GateFailed
from askfirst.policy import Sampling
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.train import Job, train
from askfirst.values import FrozenMap, Message

PLAN = plans.load(Path(__file__).parents[2] / "examples" / "e2e.toml")


def test_a_canary_is_one_for_each_commitment() -> None:
    assert canary("sha256:a") == canary("sha256:a") != canary("sha256:b")
    assert len(canary("sha256:a")) == len("askfirst-canary-") + 36


def test_a_text_with_a_canary_is_found_whoever_made_it() -> None:
    require_none(["move the meeting", "askfirst"], "x")
    for mark in (canary("sha256:a"), canary("sha256:a").upper(), "BIG-bench 26b5c67b-86f4-4a2c"):
        with pytest.raises(GateFailed, match="canary"):
            require_none(["fine", f"text {mark} text"], "x")


def test_training_stops_at_the_step_that_shows_one(tmp_path: Path) -> None:
    class Leaky:
        """The environment, with an item of a sealed split among its training scenarios."""

        def __getattr__(self, name: str) -> object:
            return getattr(plugins.load("envs", "judgment"), name)

        def scenarios(self, *given: object) -> list[object]:
            first, *rest = plugins.load("envs", "judgment").scenarios(*given)
            said = Message("user", first.opening[-1].content + f" {canary(PLAN.env.sealed)}")
            return [replace(first, opening=(said,)), *rest]

    dev = tuple(plugins.load("envs", "judgment").scenarios("dev", 8, 1))
    stage = Stage(Leaky(), "", Sampling(400))  # type: ignore[arg-type]
    job = Job(PLAN, "anchored", 0, VariantFolder(tmp_path / "anchored" / "seed-0"), stage, dev, FrozenMap())
    with pytest.raises(GateFailed, match="a canary of a sealed split"):
        train(job, Tabular(), lambda event: None, lambda: False)
