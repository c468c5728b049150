"""What a variant starts from: the same adapter for all arms of a seed, unless an arm declares another model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askfirst.errors import GateFailed
from askfirst.metrics import masked_mean
from askfirst.plan import Plan
from askfirst.policy import Policy
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.sections import TeacherSection
from askfirst.store import content_hash, read_as, write_json
from askfirst.values import Row, Scenario

FIXED = 4  # scenarios whose demonstrations are the fixed batch


@dataclass(frozen=True, slots=True)
class Start:
    """start.json. `made_with` is a hash of the plan's model and warm start; `fixed_batch_nats` the mean logprob that
    the policy gives the tokens of a few demonstrations."""

    version: int
    made_with: str
    fingerprint: str
    fixed_batch_nats: float


def require_start(
    plan: Plan, stage: Stage, folder: VariantFolder, policy: Policy, scenarios: Sequence[Scenario]
) -> None:
    """Write down what a variant starts from, and hold it against its own record and those of the seed's other arms.

    Raises GateFailed where the same model and warm start give another policy.
    """
    nats = fixed_batch_nats(stage, policy, scenarios[:FIXED])
    own = Start(1, made_with(plan), policy.fingerprint(), nats)
    if not folder.start.is_file():
        write_json(folder.start, own)
    for path in folder.starts():
        other = read_as(Start, path)
        if other.made_with != own.made_with:
            continue  # a declared difference
        gap = abs(other.fixed_batch_nats - nats)
        if other.fingerprint != own.fingerprint or gap > policy.logprob_tolerance:
            raise GateFailed(
                f"the starting policy is not that of {VariantFolder(path.parent).name}: "
                f"fingerprint {own.fingerprint[:12]} against {other.fingerprint[:12]}, {gap:.1e} nats apart",
                where=str(folder.root),
                hint="arms are compared with each other only where they start from the same model",
            )


def made_with(plan: Plan) -> str:
    """A hash of what makes a starting policy beside its seed: the model, the warm start and what its notes show."""
    made = [plan.model.model_dump(), plan.model_dump()["warmstart"]]
    if plan.warmstart is not None and plan.warmstart.noted_share:
        teacher = plan.teacher or TeacherSection()
        made.append([teacher.place, teacher.closing, teacher.context])
        if teacher.context != "sibling":
            made.append([section.model_dump() for section in (plan.reward, plan.judge) if section is not None])
    return content_hash(made)


def fixed_batch_nats(stage: Stage, policy: Policy, scenarios: Sequence[Scenario]) -> float:
    """The mean logprob in nats of the tokens of each scenario's first demonstration."""
    rows = []
    for scenario in scenarios:
        prompt = policy.encode(stage.prompt(scenario))
        reply = policy.encode_reply(stage.env.demonstrations(scenario)[0].reply)
        ids = np.array([*prompt, *reply], dtype=np.int64)
        mask = np.arange(len(ids)) >= len(prompt)
        rows.append(Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.zeros(len(ids))))
    return masked_mean(policy.logprobs(rows), [row.mask for row in rows])
