"""A gate: the plan's loss against that of another trainer, TRL, on one fixed batch.

Compared are the value and its derivative by the policy's logprobs, in float64, with the same masks, advantages, old
and reference logprobs, behind the first epoch, where ratios are not 1. What lies between logprobs and weights is the
model's own and checked by the gates of `preflight`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from askfirst.batches import scales
from askfirst.criteria import CorrectnessSection
from askfirst.plan import Plan
from askfirst.sections import TrainSection
from askfirst.steps import Method, Objective
from askfirst.store import generator
from askfirst.values import Floats, GateResult, GateStatus, Row

NAME = "same loss as TRL"
PACKAGE = "trl"
LENGTHS = (3, 9, 1, 6, 12, 7)  # sampled tokens of each row
PROMPT = 2
# Normaliser of a plan → TRL's name for the loss that has it.
LOSSES = {"token_mean": "bnpo", "sequence_mean": "grpo", "fixed": "dr_grpo"}


def same_as_trl(plan: Plan, package: str = PACKAGE) -> GateResult:
    """Whether the plan's loss is TRL's, within the tolerances of the plan's section `correctness`.

    Not applicable where the plan does not ask or TRL has no such loss; without the package unverified where the plan
    requires the check.
    """
    wanted, train = plan.correctness, plan.train
    if wanted.trl == "off":
        return _open("not asked for")
    if why := unlike(train):
        return _open(f"TRL has no loss with {why}")
    if importlib.util.find_spec(package) is None:
        required = wanted.trl == "required"
        words = "TRL is not installed" + ("" if required else ", and the plan does not require it")
        return _open(words, GateStatus.UNVERIFIED if required else GateStatus.NOT_APPLICABLE)
    rows, logprobs = batch(train)
    try:
        theirs = trl_loss(train, rows, logprobs)
    except (AttributeError, KeyError, TypeError) as error:
        found = f"TRL {importlib.metadata.version(PACKAGE)} computes its loss in another way: {error}"
        return _open(found, GateStatus.UNVERIFIED)
    return compared(own_loss(train, rows, logprobs), theirs, wanted)


def unlike(train: TrainSection) -> str:
    """What of a plan's loss TRL does not have; empty where it has all."""
    clip = {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 0.0, **train.loss_params}
    if train.loss != "ppo_clip":
        return f"loss {train.loss}"
    if train.optimiser.normaliser not in LOSSES:
        return f"normaliser {train.optimiser.normaliser}"
    if 0 < clip["dual_clip"] <= 1 + clip["clip_high"]:
        return "a dual clip within the clip"
    if train.kl.beta > 0 and (train.kl.estimator, train.kl.place) != ("k3", "loss"):
        return f"{train.kl.estimator} in the {train.kl.place}"
    return ""


def batch(train: TrainSection) -> tuple[tuple[Row, ...], tuple[Floats, ...]]:
    """Fixed rows and the policy's logprobs of them, far enough from old and reference for clips and KL to act."""
    draw = generator("crosscheck")
    rows, logprobs = [], []
    for length in (min(length, train.sampling.max_tokens) for length in LENGTHS):
        mask = np.arange(PROMPT + length) >= PROMPT
        own = np.where(mask, -draw.exponential(1.0, mask.size), 0.0)
        near = [np.where(mask, own + draw.normal(0.0, 0.3, mask.size), 0.0) for _ in range(2)]
        advantage = np.where(mask, draw.normal(), 0.0)
        rows.append(Row(np.arange(mask.size), mask, near[0], near[1], advantage))
        logprobs.append(own)
    return tuple(rows), tuple(logprobs)


def own_loss(train: TrainSection, rows: Sequence[Row], logprobs: Sequence[Floats]) -> tuple[float, Floats]:
    """Value of the plan's loss, and its derivative by the logprobs of all sampled tokens, row by row."""
    weights = scales(rows, train.optimiser, train.sampling.max_tokens).rows
    objective = Objective(Method.of(train), rows, weights, first_epoch=False)
    found = [objective(i, each) for i, each in enumerate(logprobs)]
    slopes = [slope[row.mask] for (_, slope), row in zip(found, rows, strict=True)]
    return sum(value for value, _ in found), np.concatenate(slopes)


def trl_loss(train: TrainSection, rows: Sequence[Row], logprobs: Sequence[Floats]) -> tuple[float, Floats]:
    """The same from `GRPOTrainer._compute_loss`, with a trainer that has what it reads and no model."""
    import torch
    from trl import GRPOTrainer

    width = max(int(row.mask.sum()) for row in rows)

    def padded(values: Sequence[Floats]) -> torch.Tensor:
        held = [each[row.mask] for each, row in zip(values, rows, strict=True)]
        return torch.tensor(np.stack([np.pad(each, (0, width - each.size)) for each in held]), dtype=torch.float64)

    policy = padded(logprobs).requires_grad_()
    mask = padded([row.mask.astype(np.float64) for row in rows])
    ids = torch.zeros(mask.shape, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :PROMPT],
        "prompt_mask": torch.ones_like(ids[:, :PROMPT]),
        "completion_ids": ids,
        "completion_mask": mask,
        "advantages": padded([row.advantages for row in rows])[:, 0],
        "old_per_token_logps": padded([row.sampler_logprobs for row in rows]),
        "ref_per_token_logps": padded([row.reference_logprobs for row in rows]),
    }
    loss = GRPOTrainer._compute_loss(_trainer(train, policy), None, inputs)
    (slope,) = torch.autograd.grad(loss, policy)
    return float(loss.detach()), np.asarray(slope[mask.bool()].numpy(), dtype=np.float64)


def _trainer(train: TrainSection, policy: Any) -> Any:
    """What TRL's loss reads of its trainer: the plan's settings, and the policy's logprobs instead of a model's."""
    clip = {"clip_low": 0.2, "clip_high": 0.2, "dual_clip": 0.0, **train.loss_params}
    alone = SimpleNamespace(
        gather=lambda x: x, gather_for_metrics=lambda x: x, reduce=lambda x, reduction: x, num_processes=1
    )
    return SimpleNamespace(
        _get_per_token_logps_and_entropies=lambda *_, **__: (policy, policy.detach() * 0.0, None),
        _metrics={mode: defaultdict(list) for mode in ("train", "eval")},
        _entropy_bonus_enabled=False,
        accelerator=alone,
        # Its KL term is weighted by the ratio unless told otherwise; ours is not.
        args=SimpleNamespace(use_bias_correction_kl=False, delta=clip["dual_clip"] or None),
        aux_loss_enabled=False,
        beta=train.kl.beta,
        current_gradient_accumulation_steps=1,
        epsilon_low=clip["clip_low"],
        epsilon_high=clip["clip_high"],
        importance_sampling_level="token",
        loss_type=LOSSES[train.optimiser.normaliser],
        max_completion_length=train.sampling.max_tokens,
        model=SimpleNamespace(training=True),
        off_policy_mask_threshold=None,
        top_entropy_quantile=1.0,
        use_vllm=False,
    )


def compared(ours: tuple[float, Floats], theirs: tuple[float, Floats], wanted: CorrectnessSection) -> GateResult:
    """Both within the plan's tolerances: |a − b| ≤ atol + rtol·|b| for the value and every derivative, and the cosine
    of the two gradients."""
    (value, slope), (other, others) = ours, theirs
    gaps = np.abs(np.append(slope, value) - np.append(others, other))
    bound = wanted.atol + wanted.rtol * np.abs(np.append(others, other))
    norms = float(np.linalg.norm(slope) * np.linalg.norm(others))
    cosine = float(slope @ others) / norms if norms > 0 else 0.0
    holds = bool((gaps <= bound).all()) and cosine >= wanted.cosine
    reason = f"value and gradient within {gaps.max():.1e}, cosine 1 − {max(0.0, 1 - cosine):.0e}"
    status = GateStatus.PASSED if holds else GateStatus.FAILED
    return GateResult(NAME, status, float(gaps.max()), wanted.atol, reason)


def _open(reason: str, status: GateStatus = GateStatus.NOT_APPLICABLE) -> GateResult:
    return GateResult(NAME, status, "", "", reason)
