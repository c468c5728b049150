"""Teachers and alternatives of the hf backend, against the same written down densely in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.unit.backends.hf.conftest import grouped_rows, random_ids, row, weighted
from tests.unit.backends.hf.test_hf_trainer import gradients

from askfirst import plugins
from askfirst.backends.hf import trainer
from askfirst.backends.hf.policy import HfPolicy
from askfirst.credit import Evidence
from askfirst.errors import InputError
from askfirst.policy import Choosing, SampleRequest, Sampling, StepSettings, Teacher, Teaching
from askfirst.rollout import Batch
from askfirst.sections import KlSection, TeacherSection, TrainSection
from askfirst.steps import Method, Objective, learn
from askfirst.values import (
    Act,
    FrozenMap,
    Group,
    Message,
    Rollout,
    Row,
    Scenario,
    Score,
    Segment,
    StopReason,
    Trajectory,
)

Make = Callable[..., HfPolicy]


def walk(policy: HfPolicy, steps: int, rate: float | None = None) -> list[dict[str, np.ndarray]]:
    """Train a few steps, the average following; returns ΔW of every layer after each, in float64."""
    seen, rows = [], grouped_rows()
    for _ in range(steps):
        policy.update(rows, weighted(rows), StepSettings(lr=0.05))
        if rate is not None:
            policy.follow(rate)
        seen.append({name: delta(layer) for name, layer in policy._adapter.layers.items()})
    return seen


def pair(layer) -> np.ndarray:
    """B and A, one behind the other."""
    return torch.cat([layer.b.flatten(), layer.a.flatten()]).detach().double().numpy()


def delta(layer) -> np.ndarray:
    return 2.0 * layer.b.detach().double().numpy() @ layer.a.detach().double().numpy()  # α/r = 2


def dense_logprobs(policy: HfPolicy, rows: list[Row], added: dict[str, np.ndarray] | None = None) -> list[torch.Tensor]:
    """Log-softmax (T − 1, vocabulary) in float64 of each row: the model with ΔW merged into its weights, no adapter."""
    model = policy.network.model.double()
    for name, layer in policy._adapter.layers.items():
        with torch.no_grad():
            layer.b.zero_()
            layer.base.weight += torch.from_numpy(added[name]) if added else 0.0
    with torch.no_grad():
        return [torch.log_softmax(model(torch.from_numpy(r.token_ids)[None]).logits[0, :-1], dim=1) for r in rows]


def at_masked(full: list[torch.Tensor], rows: list[Row]) -> np.ndarray:
    ids = [torch.from_numpy(r.token_ids[1:]) for r in rows]
    found = [lp.gather(1, i[:, None])[:, 0].numpy()[r.mask[1:]] for lp, i, r in zip(full, ids, rows, strict=True)]
    return np.concatenate(found)


def masked(found: list[np.ndarray], rows: list[Row]) -> np.ndarray:
    return np.concatenate([lp[r.mask] for lp, r in zip(found, rows, strict=True)])


def test_the_average_teacher_averages_what_the_adapters_do(make: Make) -> None:
    policy, rate, rows = make(), 0.3, grouped_rows()
    assert isinstance(policy, Teaching)
    assert isinstance(policy, Choosing)
    layers = policy._adapter.layers
    expected = {name: delta(layer) for name, layer in layers.items()}
    apart = {name: pair(layer) for name, layer in layers.items()}
    for _ in range(4):
        now = walk(policy, 1, rate)[0]
        expected = {name: (1 - rate) * average + rate * now[name] for name, average in expected.items()}
        apart = {name: (1 - rate) * each + rate * pair(layers[name]) for name, each in apart.items()}
    for name, layer in policy._adapter.layers.items():
        np.testing.assert_allclose(layer.average.numpy(), expected[name], atol=2e-6 * np.abs(expected[name]).max())
        b, a = np.split(apart[name], [layer.b.numel()])
        product = 2.0 * b.reshape(layer.b.shape) @ a.reshape(layer.a.shape)
        assert np.abs(product - expected[name]).max() > 0.01 * np.abs(expected[name]).max()
    found = masked(policy.teacher_logprobs(rows, Teacher("ema", rate)), rows)
    merged = at_masked(dense_logprobs(make(), rows, expected), rows)
    np.testing.assert_allclose(found, merged, atol=2e-5)
    assert np.abs(found - masked(policy.logprobs(rows), rows)).max() > 0.01


def test_an_average_starts_at_the_reference_and_again_after_an_anchor(make: Make) -> None:
    policy, rows, ema = make(), grouped_rows(), Teacher("ema")

    def same(teacher: Teacher) -> bool:
        pairs = zip(policy.teacher_logprobs(rows, teacher), policy.logprobs(rows, reference=True), strict=True)
        return all(np.array_equal(a, b) for a, b in pairs)

    walk(policy, 1)
    assert same(ema)
    policy.follow(0.5)
    assert not same(ema)
    policy.anchor()
    assert same(ema)
    walk(policy, 1)
    (one, two) = policy._adapter.layers.values().__iter__().__next__().reference
    policy.follow(0.25)
    first = next(iter(policy._adapter.layers.values()))
    anchored = 2.0 * two.double().numpy() @ one.double().numpy()
    np.testing.assert_allclose(first.average.numpy(), 0.75 * anchored + 0.25 * delta(first), atol=1e-6)


def test_a_trust_region_is_the_normalised_geometric_mean(make: Make) -> None:
    policy, rows, rate = make(), grouped_rows(), 0.4
    before = policy.teacher_logprobs(rows, Teacher("trust_region", rate))
    assert all(np.array_equal(a, b) for a, b in zip(before, policy.logprobs(rows), strict=True))  # one and the same yet
    moved = walk(policy, 3)[-1]
    reference, own = (dense_logprobs(make(), rows, added) for added in (None, moved))
    mean = [torch.log_softmax((1 - rate) * a + rate * b, dim=1) for a, b in zip(reference, own, strict=True)]
    found = masked(policy.teacher_logprobs(rows, Teacher("trust_region", rate)), rows)
    np.testing.assert_allclose(found, at_masked(mean, rows), atol=2e-5)


def test_frozen_and_live_are_reference_and_policy(make: Make) -> None:
    policy, rows = make(), grouped_rows()
    walk(policy, 2)
    for kind, reference in (("frozen", True), ("live", False)):
        found = policy.teacher_logprobs(rows, Teacher(kind))
        assert all(np.array_equal(a, b) for a, b in zip(found, policy.logprobs(rows, reference), strict=True))


def test_a_checkpoint_keeps_the_average_and_one_without_forgets_it(make: Make, tmp_path: Path) -> None:
    policy, other, rows, ema = make(), make(), grouped_rows(), Teacher("ema")
    for folder in ("bare", "full"):
        (tmp_path / folder).mkdir()
    policy.save(tmp_path / "bare")
    walk(policy, 2, 0.3)
    policy.save(tmp_path / "full")
    other.load(tmp_path / "full")
    for each in (policy, other):
        walk(each, 1, 0.3)
    pairs = zip(policy.teacher_logprobs(rows, ema), other.teacher_logprobs(rows, ema), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    other.load(tmp_path / "bare")
    assert not other._adapter.averages()
    (tmp_path / "full" / "teacher.safetensors").write_bytes(b"no tensors")
    with pytest.raises(InputError, match=r"teacher\.safetensors"):
        other.load(tmp_path / "full")


def episodes(policy: HfPolicy, step: int) -> Batch:
    """Two turns of the policy with a word of the user between them, four times; every other one passes."""
    opening = (Message("user", "user said: send it"),)
    scenario = Scenario("s", "f", "ambiguous", "train", True, opening, FrozenMap())
    prompt, said, played = policy.encode(opening), policy.encode_reply("the second"), []
    for i in range(4):
        (first,), (second,) = policy.sample(
            [SampleRequest(prompt, (4 * step + i,)), SampleRequest(prompt, (100 + 4 * step + i,))], Sampling(6)
        )
        turns = [Segment(c.token_ids, True, c.logprobs) for c in (first, second)]
        words = [Message("assistant", policy.decode(s.token_ids)) for s in turns]
        messages = (*opening, words[0], Message("user", "the second"), words[1])
        segments = (Segment(prompt, False), turns[0], Segment(said, False), turns[1])
        score = Score(float(i % 2), FrozenMap({"pass": float(i % 2)}), bool(i % 2), () if i % 2 else ("echo",), "r@1")
        played.append(Rollout(scenario, i, Trajectory(messages, segments, StopReason.END), Act("a"), score))
    return Batch((Group(scenario, tuple(played)),), ())


@pytest.mark.parametrize("rule", ["sdpo_token", "sdpo_topk", "hybrid"])
def test_a_taught_run_goes_on_from_a_checkpoint_to_the_bit(make: Make, tmp_path: Path, rule: str) -> None:
    train = TrainSection(steps=4, lr=0.02, advantage=rule, loss="ppo_clip", kl=KlSection(beta=0.1))
    method = Method.of(train, TeacherSection(kind="ema", rate=0.3, context="both"))
    policy, other = make(), make(seed=7)
    for step in range(4):
        if step == 2:
            policy.save(tmp_path)
        update = learn(policy, episodes(policy, step), method, 0.02)
        assert update.learning.taught is not None
        assert update.learning.taught.taught_fraction == 1.0
        assert update.learning.grad_norm > 0
        assert update.learning.kl_nats is not None
    other.load(tmp_path)
    again = [learn(other, episodes(other, step), method, 0.02) for step in (2, 3)]
    assert again[-1] == update
    assert other.fingerprint() == policy.fingerprint()
    pairs = zip(policy._adapter.averages().values(), other._adapter.averages().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def taught(policy: HfPolicy, rule: str, params: dict, count: int) -> tuple[list[Row], list[Row], Objective]:
    """Rows, the same behind other openings, and the objective of a rule whose teacher reads the latter."""
    rows = grouped_rows()
    chosen = policy.choices(rows, count) if count else [None] * len(rows)
    rows = [replace(r, alternatives=ids) for r, ids in zip(rows, chosen, strict=True)]
    notes = random_ids(7, 99)
    behind = []
    for r in rows:
        other = row((*notes, *r.token_ids[~r.mask]), r.token_ids[r.mask])
        ids = None if r.alternatives is None else np.concatenate([np.zeros((7, count), dtype=np.int64), r.alternatives])
        behind.append(replace(other, alternatives=ids))
    own, other_nats = policy.logprobs(rows), policy.teacher_logprobs(behind, Teacher("frozen"))
    both = [tuple(lp[r.mask].reshape(int(r.mask.sum()), -1) for lp, r in zip(*pair, strict=True))
            for pair in ((own, rows), (other_nats, behind))]  # fmt: skip
    module = plugins.load("advantages", rule)
    made = []
    for r, lp, worth in zip(rows, own, module.advantages(Evidence(np.zeros(len(rows)), *both), params), strict=True):
        full = np.zeros(lp.shape)
        full[r.mask] = worth
        made.append(replace(r, sampler_logprobs=lp, advantages=full))
    method = Method(TrainSection(steps=1, lr=1e-3), module, plugins.load("losses", "importance_sampling"))
    return made, behind, Objective(method, made, [1.0 / 24] * len(made), True)


@pytest.mark.parametrize(("rule", "count"), [("sdpo_token", 0), ("sdpo_topk", 8)])
def test_the_gradient_is_that_of_the_divergence_in_float64(make: Make, rule: str, count: int) -> None:
    """sdpo_token: Σ (log π − log q) ∇log π at the sampled tokens. sdpo_topk: autograd of the bucketed KL itself."""
    policy = make()
    walk(policy, 2)
    params = {"clip": 0.0, **({"k": count} if count else {})}
    rows, behind, objective = taught(policy, rule, params, count)
    for weight in policy._adapter.parameters.values():
        weight.grad = torch.zeros_like(weight)
    trainer.backward(policy.network, rows, objective, 60)
    found = gradients(policy).double()
    exact = make()
    walk(exact, 2)
    teacher = dense_logprobs(make(), behind)
    model, total = exact.network.model.double(), torch.zeros((), dtype=torch.float64)
    for weight in exact._adapter.parameters.values():
        weight.grad = None
    for r, other, full in zip(rows, behind, teacher, strict=True):
        lp = torch.log_softmax(model(torch.from_numpy(r.token_ids)[None]).logits[0, :-1], dim=1)[r.mask[1:]]
        q = full[other.mask[1:]]
        if count:
            ids = torch.from_numpy(r.alternatives[r.mask])
            p, t = lp.gather(1, ids), q.gather(1, ids)
            rest, other_rest = (torch.log1p(-each.exp().sum(1, keepdim=True)) for each in (p, t))
            p, t = torch.cat([p, rest], 1), torch.cat([t, other_rest], 1)
            total = total + (p.exp() * (p - t)).sum() / 24
        else:
            ids = torch.from_numpy(r.token_ids[r.mask])[:, None]
            p, t = lp.gather(1, ids), q.gather(1, ids)
            total = total + ((p - t).detach() * p).sum() / 24
    total.backward()
    expected = gradients(exact).double()
    assert torch.nn.functional.cosine_similarity(found, expected, dim=0) > 0.99999
    assert (found - expected).norm() < 1e-3 * expected.norm()
    assert expected.norm() > 0.01


def test_choices_are_the_likeliest_and_more_than_there_are_is_refused(policy: HfPolicy) -> None:
    rows = grouped_rows()
    found = policy.choices(rows, 5)
    for ids, full, r in zip(found, dense_logprobs(policy, rows), rows, strict=True):
        np.testing.assert_array_equal(ids[r.mask], full[r.mask[1:]].topk(5).indices.numpy())
        assert not ids[~r.mask].any()
    with pytest.raises(InputError, match="alternatives"):
        policy.choices(rows, 401)


def test_rows_with_and_without_alternatives_go_together(trained: HfPolicy) -> None:
    rows = grouped_rows()
    wide = [replace(r, alternatives=ids) if i % 2 else r for i, (r, ids) in enumerate(
        zip(rows, trained.choices(rows, 3), strict=True))]  # fmt: skip
    plain, mixed = trained.logprobs(rows), trained.logprobs(wide)
    for i, (one, other) in enumerate(zip(plain, mixed, strict=True)):
        assert other.shape == ((len(one), 4) if i % 2 else (len(one),))
        np.testing.assert_array_equal(other[:, 0] if i % 2 else other, one)
