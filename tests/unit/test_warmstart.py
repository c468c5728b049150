"""The supervised stage: who is shown what, and when."""

from __future__ import annotations

import numpy as np
import pytest

from askfirst import plugins
from askfirst.policy import ModelSpec, Sampling
from askfirst.replies import parse_reply
from askfirst.rollout import Stage
from askfirst.sections import WarmstartSection
from askfirst.warmstart import CrossEntropy, demonstration_rows, demonstration_scenarios

ENV = plugins.load("envs", "judgment")
STAGE = Stage(ENV, ENV.system_prompt("compact"), Sampling(64))
SECTION = WarmstartSection(steps=10, batch=40, guessing_share=1.0, guesses_after=0.5)


def asked(section: WarmstartSection, step: int) -> list[bool]:
    """Whether each ambiguous demonstration of a step asks."""
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    rows = demonstration_rows(STAGE, policy, section, (step, 3))
    replies = [policy.decode(tuple(row.token_ids[row.mask].tolist())) for row in rows]
    scenarios = demonstration_scenarios(ENV, section.batch, 3)
    return [parse_reply(r).intent == "clarify" for r, s in zip(replies, scenarios, strict=True) if s.ambiguous]


def test_guesses_come_after_their_share_of_the_steps() -> None:
    assert all(asked(SECTION, 4))
    assert not any(asked(SECTION, 5))


def test_a_share_of_the_demonstrations_guesses() -> None:
    some = asked(SECTION.model_copy(update={"guesses_after": 0.0, "guessing_share": 0.5, "batch": 200}), 0)
    assert 0.3 < np.mean(some) < 0.7


def test_half_of_the_scenarios_are_ambiguous_and_the_rest_is_of_every_kind() -> None:
    drawn = demonstration_scenarios(ENV, 80, 1)
    assert sum(s.ambiguous for s in drawn) == 40
    assert {s.stratum for s in drawn} >= {"ambiguous", "clear_twin", "out_of_scope", "destructive", "action"}


def test_cross_entropy_is_the_mean_over_the_demonstrated_tokens() -> None:
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    rows = demonstration_rows(STAGE, policy, SECTION, (0, 1))[:3]
    loss = CrossEntropy(rows)
    logprobs = [np.where(row.mask, -0.5 * (i + 1), 0.0) for i, row in enumerate(rows)]
    tokens = [int(row.mask.sum()) for row in rows]
    value = sum(loss(i, lp)[0] for i, lp in enumerate(logprobs))
    assert value == pytest.approx(sum(0.5 * (i + 1) * n for i, n in enumerate(tokens)) / sum(tokens))
    nudge = 1e-6
    for i, lp in enumerate(logprobs):
        where = int(rows[i].mask.argmax())
        moved = lp.copy()
        moved[where] += nudge
        assert loss(i, lp)[1][where] == pytest.approx((loss(i, moved)[0] - loss(i, lp)[0]) / nudge, rel=1e-4)
        assert (loss(i, lp)[1][~rows[i].mask] == 0).all()
