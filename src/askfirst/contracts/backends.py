"""What every backend must satisfy, on a freshly opened policy; each function raises BackendFault.

`prompts` are chats. Functions that train change the policy they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np

from askfirst.errors import BackendFault
from askfirst.policy import (
    Completion,
    Policy,
    SampleRequest,
    Sampling,
    StepSettings,
    Teacher,
    TeacherKind,
    Teaching,
    UpdateResult,
)
from askfirst.values import Floats, Message, Row

Prompts = Sequence[Sequence[Message]]
SEEDS = (11, 12, 13)
SETTINGS = StepSettings(lr=0.01)


def replies_round_trip(policy: Policy, replies: Sequence[str]) -> None:
    """Decoding an encoded reply gives the reply."""
    for reply in replies:
        found = policy.decode(policy.encode_reply(reply))
        if found != reply:
            raise BackendFault(f"reply {reply!r} comes back as {found!r}", where=policy.name)


def completions_depend_on_prompt_and_seed(policy: Policy, prompts: Prompts, sampling: Sampling) -> None:
    """Alone, repeated, or in another order and company, the same prompt and seed give the same completion."""
    requests = [SampleRequest(policy.encode(prompt), SEEDS) for prompt in prompts]
    together = policy.sample(requests, sampling)
    turned = [SampleRequest(request.prompt_ids, request.seeds[::-1]) for request in requests[::-1]]
    backwards = [group[::-1] for group in policy.sample(turned, sampling)[::-1]]
    alone = [[policy.sample([replace(r, seeds=(s,))], sampling)[0][0] for s in r.seeds] for r in requests]
    for name, other in (("in another order", backwards), ("alone", alone)):
        if _tokens(together) != _tokens(other):
            raise BackendFault(f"completions sampled {name} differ", where=policy.name)


def dialogues_go_on(policy: Policy, prompts: Prompts, sampling: Sampling, said: str = "the second one") -> None:
    """The tokens of a further turn say what was said, and holding on to earlier turns changes no completion."""
    requests = [SampleRequest(policy.encode(prompt), SEEDS) for prompt in prompts]
    first = policy.sample(requests, sampling, keep=True)
    later = []
    for prompt, request, group in zip(prompts, requests, first, strict=True):
        for completion in group:
            reply = Message("assistant", policy.decode(completion.token_ids))
            rest = policy.encode_next([*prompt, reply, Message("user", said)])
            if said not in policy.decode(rest) or reply.content in policy.decode(rest):
                raise BackendFault(f"{said!r} is continued as {policy.decode(rest)!r}", where=policy.name)
            later.append(SampleRequest((*request.prompt_ids, *completion.token_ids, *rest), (SEEDS[0],)))
    if _tokens(policy.sample(later, sampling)) != _tokens(policy.sample(later, sampling)):
        raise BackendFault("a dialogue that was kept goes on in another way than one that was not", where=policy.name)


def sampled_logprobs_recomputed(policy: Policy, prompts: Prompts, sampling: Sampling) -> float:
    """The sampler's logprobs are the policy's own; returns the mean gap in nats."""
    rows = sampled_rows(policy, prompts, sampling)
    found = policy.logprobs(rows)
    gaps = [np.abs(lp - row.sampler_logprobs)[row.mask] for lp, row in zip(found, rows, strict=True)]
    gap = float(np.concatenate(gaps).mean())
    if not gap <= policy.logprob_tolerance:
        raise BackendFault(
            f"sampled and recomputed logprobs differ by {gap} nats on average, allowed {policy.logprob_tolerance}",
            where=policy.name,
        )
    if any((lp[~row.mask] != 0.0).any() for lp, row in zip(found, rows, strict=True)):
        raise BackendFault("logprobs off the mask must be exactly 0", where=policy.name)
    return gap


def starts_at_the_reference(policy: Policy, prompts: Prompts, sampling: Sampling) -> None:
    """Before any training the policy is its reference, to the bit."""
    rows = sampled_rows(policy, prompts, sampling)
    if not _same(policy.logprobs(rows), policy.logprobs(rows, reference=True)):
        raise BackendFault("a fresh policy differs from its reference", where=policy.name)


def first_ratio_is_one(policy: Policy, prompts: Prompts, sampling: Sampling) -> None:
    """The logprobs at which a step takes its gradient are those that `logprobs` gave before it, to the bit."""
    rows = sampled_rows(policy, prompts, sampling)
    before = policy.logprobs(rows)
    if not _same(before, _update(policy, rows, SETTINGS).logprobs):
        raise BackendFault("the first ratio of a step is not exactly 1", where=policy.name)


def reward_raises_likelihood(policy: Policy, prompts: Prompts, sampling: Sampling, settings: StepSettings) -> None:
    """One step on a single rewarded completion makes it likelier and leaves the reference where it was."""
    row = max(sampled_rows(policy, prompts, sampling), key=lambda r: -float(r.sampler_logprobs.sum()))
    reference = policy.logprobs([row], reference=True)
    before = float(policy.logprobs([row])[0].sum())
    _update(policy, [replace(row, advantages=row.mask.astype(np.float64))], settings)
    after = float(policy.logprobs([row])[0].sum())
    if not after > before:
        raise BackendFault(f"a rewarded completion went from {before} to {after} nats", where=policy.name)
    if not _same(reference, policy.logprobs([row], reference=True)):
        raise BackendFault("training moved the reference", where=policy.name)


def anchoring_moves_the_reference(policy: Policy, prompts: Prompts, sampling: Sampling) -> None:
    """After a step and an anchor the reference is the policy, to the bit."""
    rows = sampled_rows(policy, prompts, sampling)
    _update(policy, rows, SETTINGS)
    if _same(policy.logprobs(rows), policy.logprobs(rows, reference=True)):
        raise BackendFault("a step left the policy at its reference", where=policy.name)
    policy.anchor()
    if not _same(policy.logprobs(rows), policy.logprobs(rows, reference=True)):
        raise BackendFault("the policy is not its reference after an anchor", where=policy.name)


def teachers_start_at_the_reference(policy: Policy, prompts: Prompts, sampling: Sampling) -> None:
    """Every teacher is the policy before it was trained, to the bit; and an average follows it and is neither then."""
    if not isinstance(policy, Teaching):
        return
    rows = sampled_rows(policy, prompts, sampling)
    before = policy.logprobs(rows)
    for kind in get_args(TeacherKind):
        if not _same(before, policy.teacher_logprobs(rows, Teacher(kind))):
            raise BackendFault(f"the teacher {kind} of a fresh policy is not the policy", where=policy.name)
    _update(policy, rows, SETTINGS)
    if not _same(before, policy.teacher_logprobs(rows, Teacher("ema"))):
        raise BackendFault("the average teacher moved before it followed", where=policy.name)
    policy.follow(0.5)
    found = policy.teacher_logprobs(rows, Teacher("ema"))
    if _same(before, found) or _same(policy.logprobs(rows), found):
        raise BackendFault("the average teacher does not lie between reference and policy", where=policy.name)


def nothing_to_learn_moves_nothing(policy: Policy, prompts: Prompts, sampling: Sampling) -> None:
    """Zero advantages, an empty mask or a learning rate of 0 leave every weight as it was."""
    rows = sampled_rows(policy, prompts, sampling)
    before = policy.fingerprint()
    flat = [replace(row, advantages=np.zeros(row.mask.shape)) for row in rows]
    blind = [_without_mask(row) for row in rows]
    cases = (
        ("zero advantages", flat, SETTINGS),
        ("an empty mask", blind, SETTINGS),
        ("lr 0", rows, StepSettings(lr=0.0)),
    )
    for name, given, settings in cases:
        result = _update(policy, given, settings)
        if policy.fingerprint() != before:
            raise BackendFault(f"a step with {name} moved the weights", where=policy.name)
        if name != "lr 0" and result.grad_norm != 0.0:
            raise BackendFault(f"a step with {name} has a gradient of norm {result.grad_norm}", where=policy.name)


def value_ignores_order(policy: Policy, prompts: Prompts, sampling: Sampling, tolerance: float) -> None:
    """The value and the gradient norm of a step do not depend on how its rows are ordered."""
    rows = sampled_rows(policy, prompts, sampling)
    still = StepSettings(lr=0.0)
    forward, backward = _update(policy, rows, still), _update(policy, rows[::-1], still)
    gap = max(abs(forward.value - backward.value), abs(forward.grad_norm - backward.grad_norm))
    if not gap <= tolerance:
        raise BackendFault(f"the order of the rows moves value or gradient by {gap}", where=policy.name)


def save_and_load(
    policy: Policy, other: Policy, folder: Path, prompts: Prompts, sampling: Sampling, exact: bool = True
) -> None:
    """What `other`, opened like `policy`, loads samples and learns on bitwise as the policy that was saved.

    Unless `exact`, the logprobs of what is sampled may differ by the policy's tolerance: a service computes requests in
    whatever company they come in.
    """
    rows = sampled_rows(policy, prompts, sampling)
    learns = policy.trainable_parameters > 0
    if learns:
        _update(policy, rows, SETTINGS)
        policy.anchor()
        _update(policy, rows, SETTINGS)
        if isinstance(policy, Teaching):
            policy.follow(0.5)
    policy.save(folder)
    other.load(folder)
    if policy.fingerprint() != other.fingerprint():
        raise BackendFault("the fingerprint does not survive save and load", where=policy.name)
    requests = [SampleRequest(policy.encode(prompt), SEEDS) for prompt in prompts]
    ours, theirs = policy.sample(requests, sampling), other.sample(requests, sampling)
    if ours != theirs and (exact or not _close(ours, theirs, policy.logprob_tolerance)):
        raise BackendFault("sampling after load differs", where=policy.name)
    if not _same(policy.logprobs(rows, reference=True), other.logprobs(rows, reference=True)):
        raise BackendFault("the reference does not survive save and load", where=policy.name)
    if isinstance(policy, Teaching) and isinstance(other, Teaching):
        average = Teacher("ema")
        if not _same(policy.teacher_logprobs(rows, average), other.teacher_logprobs(rows, average)):
            raise BackendFault("the average teacher does not survive save and load", where=policy.name)
    if learns:
        _update(policy, rows, SETTINGS)
        _update(other, rows, SETTINGS)
        if policy.fingerprint() != other.fingerprint():
            raise BackendFault("the optimiser state does not survive save and load", where=policy.name)


def sampled_rows(policy: Policy, prompts: Prompts, sampling: Sampling) -> list[Row]:
    """One row for each prompt and seed, with advantages +1 and −1 in turn."""
    requests = [SampleRequest(policy.encode(prompt), SEEDS) for prompt in prompts]
    groups = policy.sample(requests, sampling)
    pairs = [(r.prompt_ids, c) for r, group in zip(requests, groups, strict=True) for c in group]
    return [row(prompt, completion, 1.0 - 2.0 * (i % 2)) for i, (prompt, completion) in enumerate(pairs)]


def row(prompt_ids: Sequence[int], completion: Completion, advantage: float) -> Row:
    """A prompt and its completion as a training row with the same advantage on every sampled token."""
    before = len(prompt_ids)
    mask = np.arange(before + len(completion.token_ids)) >= before
    sampler = np.concatenate([np.zeros(before), np.array(completion.logprobs, dtype=np.float64)])
    ids = np.array([*prompt_ids, *completion.token_ids], dtype=np.int64)
    return Row(ids, mask, sampler, np.zeros(0), np.where(mask, advantage, 0.0))


def _update(policy: Policy, rows: Sequence[Row], settings: StepSettings) -> UpdateResult:
    def objective(index: int, logprobs: Floats) -> tuple[float, Floats]:
        weights = np.where(rows[index].mask, -rows[index].advantages, 0.0)
        return float((weights * logprobs).sum()), weights

    return policy.update(rows, objective, settings)


def _without_mask(row: Row) -> Row:
    return replace(row, mask=np.zeros(row.mask.shape, dtype=np.bool_), sampler_logprobs=np.zeros(row.mask.shape))


def _tokens(groups: Sequence[Sequence[Completion]]) -> list[list[tuple[int, ...]]]:
    return [[completion.token_ids for completion in group] for group in groups]


def _close(left: Sequence[Sequence[Completion]], right: Sequence[Sequence[Completion]], tolerance: float) -> bool:
    pairs = [pair for groups in zip(left, right, strict=True) for pair in zip(*groups, strict=True)]
    return _tokens(left) == _tokens(right) and all(
        np.allclose(a.logprobs, b.logprobs, 0.0, tolerance) for a, b in pairs
    )


def _same(left: Sequence[Floats], right: Sequence[Floats]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))
