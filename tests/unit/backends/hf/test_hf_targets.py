"""Passes over any targets, steps apart from passes, twins of a model, and completions made in another manner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.unit.backends.hf.conftest import SHAPE, SPEC, grouped_rows, perturb, random_ids, weighted

from askfirst.backends.hf import nano
from askfirst.backends.hf.models import Loaded, end_ids, twin
from askfirst.backends.hf.policy import HfPolicy
from askfirst.backends.hf.sampler import Manner
from askfirst.backends.hf.targets import Asked
from askfirst.errors import BackendFault
from askfirst.policy import SampleRequest, Sampling, StepSettings

Make = Callable[..., HfPolicy]


def asked_of(rows):
    """The rows as sequences in which every token is asked for where it stands."""
    return [Asked(row.token_ids[:-1], row.token_ids[1:, None]) for row in rows]


def test_scores_are_those_of_rows_and_of_the_whole_softmax(trained: HfPolicy) -> None:
    rows = grouped_rows()
    for row, found, lp in zip(rows, trained.score(asked_of(rows)), trained.logprobs(rows), strict=True):
        np.testing.assert_allclose(found[:, 0][row.mask[1:]], lp[row.mask], atol=1e-5)
    ids, other = np.array(random_ids(9, 4)), np.array([random_ids(3, 50 + i) for i in range(9)])
    (found,) = trained.score([Asked(ids, other)])
    best, values = trained.likeliest(ids, 5)
    with torch.no_grad():
        logits = trained.network.model(input_ids=torch.from_numpy(ids)[None]).logits[0]
    whole = logits.log_softmax(dim=-1).numpy()
    np.testing.assert_allclose(found, np.take_along_axis(whole, other, 1), atol=1e-4)
    np.testing.assert_allclose(values, np.sort(whole, axis=1)[:, ::-1][:, :5], atol=1e-4)
    assert (best[:, 0] == whole.argmax(axis=1)).all()


def test_a_gathered_gradient_and_a_step_are_an_update(make: Make) -> None:
    rows, settings = grouped_rows(), StepSettings(0.01, 0.5, 0.1)
    ours, theirs = make(), make()
    perturb(ours), perturb(theirs)
    result = theirs.update(rows, weighted(rows), settings)
    for part in (rows[:2], rows[2:]):  # in two passes
        values, found = ours.gather(asked_of(part), lambda i, lp, part=part: (1.0, -part[i].advantages[1:, None]))
        assert values == [1.0] * len(part)
        assert [f.shape for f in found] == [(len(row.token_ids) - 1, 1) for row in part]
    assert ours.step(settings) == pytest.approx(result.grad_norm, rel=1e-4)
    for a, b in zip(ours.logprobs(rows), theirs.logprobs(rows), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)
    ours.drop_gradient()
    assert ours.step(StepSettings(0.0)) == 0.0


def test_slopes_that_are_not_finite_are_refused(policy: HfPolicy) -> None:
    with pytest.raises(BackendFault, match="sequence 0"):
        policy.gather(asked_of(grouped_rows()[:1]), lambda i, lp: (0.0, np.full(lp.shape, np.nan)))


def test_twins_share_weights_and_nothing_else(make: Make, tokenizer: object) -> None:
    model = nano.make_model(tokenizer, SHAPE, seed=3)
    base, rows = Loaded(model, tokenizer, end_ids(model)), grouped_rows()
    first = HfPolicy(twin(base), SPEC, 0)
    before = first.logprobs(rows)
    second = HfPolicy(twin(base), replace(SPEC, lora_rank=2), 1)
    stacked = [{each._weight.data_ptr() for each in x._adapter._together} for x in (first, second)]
    assert stacked[0] == stacked[1]
    assert len(stacked[0]) < len(first._adapter.layers)  # some layers are computed together
    second.update(rows, weighted(rows), StepSettings(0.1))
    assert all(np.array_equal(a, b) for a, b in zip(before, first.logprobs(rows), strict=True))
    assert not np.array_equal(before[0], second.logprobs(rows)[0])


def test_completions_end_and_are_chosen_as_asked(trained: HfPolicy) -> None:
    request, sampling = SampleRequest(random_ids(8, 1), tuple(range(6))), Sampling(20)
    (own,) = trained.sample([request], sampling)
    (same,) = trained.sample_in(Manner(trained.end_ids), [request], sampling)
    assert same == own
    (best,) = trained.sample_in(Manner(trained.end_ids, top_k=1), [request], sampling)
    (greedy,) = trained.sample([request], Sampling(20, 0.0))
    assert {c.token_ids for c in best} == {greedy[0].token_ids}
    assert max(abs(lp) for c in best for lp in c.logprobs) < 1e-6  # drawn from one token
    (endless,) = trained.sample_in(Manner(frozenset()), [request], sampling)
    assert {len(c.token_ids) for c in endless} == {20}
    (short,) = trained.sample_in(Manner(trained.end_ids, stopped=lambda ids: len(ids) == 3), [request], sampling)
    assert [c.token_ids for c in short] == [c.token_ids[:3] for c in own]
    logits = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()
    kept = Manner(frozenset(), top_p=0.75).narrowed(logits, 1.0).isfinite()
    assert kept.tolist() == [[True, True, False, False]]
