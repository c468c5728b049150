"""Each gate on a step passes on a sound policy and fails on one with a planted fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from askfirst import gates, planfile, plugins, preflight, starts
from askfirst import plan as plans
from askfirst.backends.tabular import Tabular
from askfirst.errors import GateFailed
from askfirst.policy import Sampling
from askfirst.rollout import Stage
from askfirst.runfolder import RunFolder
from askfirst.stats import clopper_pearson
from askfirst.store import generator, seed_from
from askfirst.values import GateStatus
from askfirst.variants import DEV_SEED

PLAN = plans.load(Path(__file__).parents[2] / "examples" / "e2e.toml")
ENV = plugins.load("envs", "judgment")
STAGE = Stage(ENV, "", Sampling(400))
PROBE = ENV.scenarios("train", 4, seed_from("micro-run"))


def failed(policy: Tabular) -> set[str]:
    results = preflight.preflight(policy, STAGE, PLAN, PROBE)
    assert [r.name for r in results] == [
        "group identity", "first ratio", "masked tokens", "micro-batches", "adapter gradient", "sampler follows",
        "restoration",
    ]  # fmt: skip
    return {r.name for r in results if r.status is not GateStatus.PASSED}


def test_a_sound_policy_passes_and_is_left_as_it_was() -> None:
    policy = Tabular()
    before = policy.fingerprint()
    assert failed(policy) == set()
    assert policy.fingerprint() == before


class StaleSampler(Tabular):
    """Samples with the weights that it was opened with."""

    def sample(self, *given: Any, **named: Any) -> Any:
        now, self._weights = self._weights, np.zeros_like(self._weights)
        found = super().sample(*given, **named)
        self._weights = now
        return found


class NoGradient(Tabular):
    """Its adapter is a constant of the graph."""

    def update(self, rows: Any, objective: Any, settings: Any) -> Any:
        return super().update(rows, lambda i, lp: (objective(i, lp)[0], np.zeros(lp.shape)), settings)


class OwnNormaliser(Tabular):
    """Takes the mean over the rows that it is given."""

    def update(self, rows: Any, objective: Any, settings: Any) -> Any:
        found = super().update(rows, objective, settings)
        return replace(found, value=found.value / len(rows))


class OtherLogprobs(Tabular):
    """Takes its gradient at logprobs of its own."""

    def update(self, rows: Any, objective: Any, settings: Any) -> Any:
        found = super().update(rows, objective, settings)
        return replace(found, logprobs=tuple(lp * 1.001 for lp in found.logprobs))


class SeesEverything(Tabular):
    """Its gradient takes what stands off the mask too."""

    def update(self, rows: Any, objective: Any, settings: Any) -> Any:
        found = super().update(rows, objective, settings)
        return replace(found, grad_norm=found.grad_norm + sum(float(r.advantages[~r.mask].sum()) for r in rows))


class Forgets(Tabular):
    """Its checkpoint lacks the weights."""

    def load(self, folder: Path) -> None:
        now = self._weights
        super().load(folder)
        self._weights = now


class OwnLearningRate(Tabular):
    """Its optimiser is not set as the plan says."""

    def update(self, rows: Any, objective: Any, settings: Any) -> Any:
        return super().update(rows, objective, replace(settings, weight_decay=0.0))


class Decided(Tabular):
    """Says the same nearly always."""

    def __init__(self) -> None:
        super().__init__()
        self._weights[1, -1] = 9.0


def test_a_policy_that_has_made_up_its_mind_is_moved_far_enough_to_tell() -> None:
    found = preflight.bench(Decided(), STAGE, PLAN, PROBE)
    assert {len({r.trajectory.reply for r in group.rollouts}) for group in found.batch.groups} == {1}
    assert failed(Decided()) == set()


@pytest.mark.parametrize(
    ("policy", "gates_that_fail"),
    [
        (StaleSampler, {"sampler follows"}),
        (NoGradient, {"adapter gradient", "sampler follows"}),
        (OwnNormaliser, {"micro-batches"}),
        (OtherLogprobs, {"first ratio"}),
        (SeesEverything, {"masked tokens"}),
        (Forgets, {"restoration", "sampler follows"}),
        (OwnLearningRate, {"restoration"}),
    ],
)
def test_a_planted_fault_is_found(policy: Callable[[], Tabular], gates_that_fail: set[str]) -> None:
    assert failed(policy()) == gates_that_fail


def test_a_group_of_two_prompts_or_of_other_tokens_is_found() -> None:
    found = preflight.bench(Tabular(), STAGE, PLAN, PROBE)
    groups, rows = found.batch.groups, found.rows
    assert preflight.group_identity(groups, rows).status is GateStatus.PASSED
    first = groups[0].rollouts[0]
    head, *rest = first.trajectory.segments
    other = replace(first.trajectory, segments=(replace(head, token_ids=(*head.token_ids, 1)), *rest))
    mixed = replace(groups[0], rollouts=(replace(first, trajectory=other), *groups[0].rollouts[1:]))
    assert preflight.group_identity([mixed, *groups[1:]], rows).status is GateStatus.FAILED
    again = replace(rows[0], token_ids=rows[0].token_ids + 1)  # tokenised a second time
    assert preflight.group_identity(groups, [again, *rows[1:]]).status is GateStatus.FAILED


def test_what_cannot_learn_has_no_step_to_check() -> None:
    assert preflight.preflight(SimpleNamespace(trainable_parameters=0), STAGE, PLAN, PROBE) == []


def test_arms_of_a_seed_start_alike(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    starts.require_start(PLAN, STAGE, run.variant("a", 0), Tabular(), PROBE)
    starts.require_start(PLAN, STAGE, run.variant("a", 0), Tabular(), PROBE)  # resumed
    starts.require_start(PLAN, STAGE, run.variant("b", 0), Tabular(), PROBE)
    moved = Tabular()
    moved._weights += 0.1 * generator("moved").normal(size=moved._weights.shape)
    with pytest.raises(GateFailed, match="not that of a/seed-0"):
        starts.require_start(PLAN, STAGE, run.variant("c", 0), moved, PROBE)
    starts.require_start(PLAN, STAGE, run.variant("c", 1), moved, PROBE)  # another seed
    declared = plans.validate(planfile.edit(PLAN.model_dump(mode="json"), ["model.lora_rank=8"]), "x")
    starts.require_start(declared, STAGE, run.variant("d", 0), moved, PROBE)  # a declared difference


@pytest.mark.parametrize(
    "rule",
    [
        {"noninferior_to": "base", "margin": 0.05, "mode": "regression_rate_upper"},
        {"noninferior_to": "base", "margin": 0.05, "paired": "paired_hoeffding"},
        {"noninferior_to": "base", "margin": 0.05},
    ],
)
def test_every_sense_of_no_regression_errs_at_most_at_alpha(rule: dict) -> None:
    dev = ENV.scenarios("dev", 60, DEV_SEED)
    document = planfile.edit(PLAN.model_dump(mode="json", exclude_none=True), [])
    found = gates.false_positives(plans.validate(document | {"ship": {"strict_pass": rule}}, "x"), dev)
    assert found.status is GateStatus.PASSED
    if rule.get("mode"):  # the chance of so few flips that the bound is below 5 %, when 5 % of all items flip
        most = max(k for k in range(60) if clopper_pearson.interval(k, 400).upper < 0.05)
        assert float(found.measured) == pytest.approx(float(binom.cdf(most, 400, 0.05)), abs=1e-6)


def test_a_run_of_nothing_ships_with_a_chance_of_at_most_alpha(monkeypatch: pytest.MonkeyPatch) -> None:
    dev = ENV.scenarios("dev", 60, DEV_SEED)
    found = gates.false_positives(PLAN, dev)
    assert found.status is GateStatus.PASSED
    assert 0.01 < float(found.measured) <= PLAN.decision.alpha
    draws = generator("test", "A/A").binomial(400, 0.22, 4000)  # the same by simulation, for the absolute rule
    shown = [clopper_pearson.interval(int(d), 400, alpha=0.05).lower > 0.22 for d in draws]
    exact = clopper_pearson.power(400, 0.22, 0.22, alpha=0.05, sided="two")
    assert abs(sum(shown) / 4000 - exact) < 0.01
    # A rule that looks at the point estimate alone errs half of the time.
    monkeypatch.setattr(gates.clopper_pearson, "power", lambda *given, **named: 0.5)
    assert gates.false_positives(PLAN, dev).status is GateStatus.FAILED
