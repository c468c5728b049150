"""Gates on a teacher before a run: that it acts where it is shown something and nowhere else, and that what is learnt
from it is what the formula says.

Each has a known failure behind it: trainers that dropped the distillation term, teachers that never saw the feedback.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType, ModuleType

import numpy as np

from askfirst.batches import make_row, moves, own, scales
from askfirst.metrics import MOVED
from askfirst.notes import Notes
from askfirst.plan import Plan, resolved
from askfirst.policy import Policy, Sampling, StepSettings
from askfirst.preflight import CLEAR, DRAW, GROUPS, TOKENS
from askfirst.rollout import Scorer, Stage, rollouts
from askfirst.sections import KlSection, TeacherSection, TrainSection
from askfirst.steps import Method, Objective
from askfirst.store import content_hash
from askfirst.teaching import Lesson, teach, teacher_logprobs
from askfirst.values import GateResult, GateStatus, Group, Row, Scenario

CRITIQUE = "That was not what the request calls for. Ask which one is meant before you act."
# The tolerances of the published experiment (data of `registered/`): for the stock loss, and for a float64 reference.
STOCK_RTOL = 1e-3
REFERENCE_RTOL, REFERENCE_COSINE = 5e-3, 0.995
LEAST_REST = 1e-7  # probability of what is no alternative, below which single precision has nothing to say


@dataclass(frozen=True, slots=True)
class Desk:
    """A rule with a teacher on a small batch: the lesson of notes that were made up, its rows, and the plan's loss."""

    policy: Policy
    section: TeacherSection
    groups: tuple[Group, ...]
    lesson: Lesson
    rows: tuple[Row, ...]
    objective: Objective

    @property
    def name(self) -> str:
        return self.objective.method.train.advantage

    def setting(self, name: str) -> float:
        """A parameter of the rule, the plan's or its default."""
        method = self.objective.method
        return float({**method.credit.DEFAULTS, **method.train.advantage_params}[name])


def teacher_gates(policy: Policy, stage: Stage, plan: Plan, scenarios: Sequence[Scenario]) -> list[GateResult]:
    """The gates of every different teacher and rule among a plan's arms; none where no arm has a teacher."""
    distinct = {content_hash([p.train.model_dump(), p.model_dump()["teacher"]]): p for p in resolved(plan).values()}
    methods = [Method.of(_bare(p.train), p.teacher) for p in distinct.values()]
    sections = [(method, method.teacher) for method in methods if method.teacher is not None]
    if not sections or not policy.trainable_parameters:
        return []
    stage = replace(stage, sampling=Sampling(min(TOKENS, stage.sampling.max_tokens)))
    batch = rollouts(stage, policy, Scorer.named(plan.reward.name, plan.reward.params), scenarios[:GROUPS], DRAW)
    if not batch.groups:
        raise batch.faults[0]
    results = []
    for method, section in sections:
        found = desk(policy, stage.env, (method, section), batch.groups)
        results += [teacher_acts(found), lesson_correct(found)]
    return results


def _bare(train: TrainSection) -> TrainSection:
    """Without a KL term, and with the trainer's logprobs for the sampler's: a first step's ratio is then 1."""
    return train.model_copy(
        update={"kl": KlSection(), "sampling": train.sampling.model_copy(update={"correction": "recompute"})}
    )


def desk(policy: Policy, env: ModuleType, taught: tuple[Method, TeacherSection], groups: tuple[Group, ...]) -> Desk:
    """Show the teacher what the plan's context would hold: a demonstration, a critique, or both."""
    method, section = taught
    notes = []
    for group in groups:
        solution = "" if section.context == "feedback" else _solution(env, group.scenario)
        said = CRITIQUE if section.context in ("feedback", "both") else ""
        notes += [Notes(solution, said)] * len(group.rollouts)
    lesson = teach(policy, groups, section, notes, method.alternatives)
    rows = tuple(method.rows(groups, lesson))
    weights = scales(rows, method.train.optimiser, method.train.sampling.max_tokens).rows
    return Desk(policy, section, groups, lesson, rows, Objective(method, rows, weights, True))


def _solution(env: ModuleType, scenario: Scenario) -> str:
    shown = env.demonstrations(scenario)
    reply: str = next((d for d in shown if not d.guess), shown[0]).reply
    return reply


def teacher_acts(found: Desk) -> GateResult:
    """Shown something, the teacher differs from the policy by more than rounding, and the advantage moves; behind the
    same opening, before any step, it is the policy to the bit, so that nothing is learnt from nothing."""
    plain = [make_row(r, 0.0) for group in found.groups for r in group.rollouts]
    same = zip(found.policy.logprobs(plain), teacher_logprobs(found.policy, plain, found.section.teacher), strict=True)
    idle = max(float(np.abs(own - other).max()) for own, other in same)
    pairs = [pair for seen in found.lesson.evidence for pair in zip(seen.policy, seen.teacher, strict=True)]
    gaps = np.abs(np.concatenate([(teacher - policy)[:, 0] for policy, teacher in pairs]))
    acts, moved = float(gaps.max()), any(map(moves, found.rows))
    wanted = CLEAR * found.policy.logprob_tolerance
    problems = [
        f"shown nothing, the teacher differs by {idle:.1e} nats" if idle > 0.0 else "",
        f"{found.lesson.too_long} openings with notes are longer than teacher.max_tokens"
        if found.lesson.too_long
        else "",
        f"shown what is right, the teacher differs by {acts:.1e} nats at most" if not acts > wanted else "",
        "the advantage does not move" if not moved else "",
    ]
    broken = "; ".join(problem for problem in problems if problem)
    share = float((gaps > MOVED).mean())
    words = f"{found.name}: {share:.0%} of tokens by more than {MOVED} nats where notes are shown, none where not"
    return _result("teacher acts", not broken, acts, wanted, broken or words)


def lesson_correct(found: Desk) -> GateResult:
    """Value and derivative of a step against the formula in float64; and with the group's advantages in the place of
    the teacher's the step is the stock one."""
    stock = _off_stock(found)
    reference = REFERENCES.get(found.name)
    if reference is None:
        words = f"no formula of {found.name} is known here, stock step within {stock:.1e}"
        status = GateStatus.NOT_APPLICABLE if stock <= STOCK_RTOL else GateStatus.FAILED
        return GateResult("lesson", status, stock, STOCK_RTOL, words)
    objective = replace(found.objective, rows=found.rows)
    step = found.policy.update(found.rows, objective, StepSettings(0.0))
    wanted, slopes = [], []
    for i, each in enumerate(reference(found)):
        row, lp = found.rows[i], step.logprobs[i]
        wanted.append(-found.objective.scales[i] * np.array(each).ravel())
        slopes.append(objective(i, lp)[1][row.mask].ravel())
    one, other = np.concatenate(wanted), np.concatenate(slopes)
    value = math.fsum(one)
    gap = abs(step.value - value) / max(abs(value), float(np.abs(one).max()), 1e-300)
    cosine = float(one @ other / max(math.sqrt(float(one @ one) * float(other @ other)), 1e-300))
    words = f"{found.name}: value within {gap:.1e}, cosine {cosine:.6f}, stock step within {stock:.1e}"
    holds = gap <= REFERENCE_RTOL and cosine >= REFERENCE_COSINE and stock <= STOCK_RTOL
    return _result("lesson", holds, gap, REFERENCE_RTOL, words)


def _off_stock(found: Desk) -> float:
    """How far a step is from the stock one, relative to it, where the teacher's rows carry advantages ±1 of groups.

    The gradient of the one less the other is that of all rows together, those of the one with the sign turned.
    """
    rollouts_ = [r for group in found.groups for r in group.rollouts]
    signs = [1.0 - 2.0 * (i % 2) for i in range(len(rollouts_))]
    stock = [make_row(r, sign) for r, sign in zip(rollouts_, signs, strict=True)]
    ours = [_worth(row, sign) for row, sign in zip(found.rows, signs, strict=True)]
    against = [_worth(row, -sign) for row, sign in zip(found.rows, signs, strict=True)]
    once, twice = found.objective.scales, (*found.objective.scales, *found.objective.scales)
    steps = [
        found.policy.update(rows, replace(found.objective, rows=rows, scales=weights), StepSettings(0.0))
        for rows, weights in ((stock, once), (ours, once), ([*stock, *against], twice))
    ]
    size = max(steps[0].grad_norm, 1e-300)
    return max(steps[2].grad_norm / size, abs(steps[0].value - steps[1].value) / max(abs(steps[0].value), 1e-12))


def _worth(row: Row, advantage: float) -> Row:
    """A row whose sampled tokens have one advantage and whose alternatives have none."""
    worth = np.zeros(row.advantages.shape)
    own(worth)[row.mask] = advantage
    return replace(row, advantages=worth)


Weights = list[list[list[float]]]  # by rollout and sampled token: of the token, and of each alternative


def _clip(value: float, bound: float) -> float:
    return max(-bound, min(bound, value)) if bound else value


def _by_token(found: Desk) -> Weights:
    """log q − log π of every sampled token."""
    clip = found.setting("clip")
    return [
        [[_clip(q[0] - p[0], clip)] for p, q in zip(policy.tolist(), teacher.tolist(), strict=True)]
        for seen in found.lesson.evidence
        for policy, teacher in zip(seen.policy, seen.teacher, strict=True)
    ]


def _by_alternative(found: Desk) -> Weights:
    """π_k times what each alternative gains over the rest, and nothing for the sampled token."""
    clip = found.setting("clip")
    weights = []
    for seen in found.lesson.evidence:
        for policy, teacher in zip(seen.policy, seen.teacher, strict=True):
            tokens = []
            for p, q in zip(policy.tolist(), teacher.tolist(), strict=True):
                left, right = (max(1.0 - math.fsum(map(math.exp, each[1:])), LEAST_REST) for each in (p, q))
                rest = _clip(math.log(right) - math.log(left), clip)
                tokens.append(
                    [0.0, *(math.exp(a) * (_clip(b - a, clip) - rest) for a, b in zip(p[1:], q[1:], strict=True))]
                )
            weights.append(tokens)
    return weights


def _hybrid(found: Desk) -> Weights:
    """The standardised reward and the teacher's word, by their shares."""
    share, eps = found.setting("weight"), found.setting("eps")
    rewards = []
    for group in found.groups:
        totals = [r.score.total for r in group.rollouts]
        rewards += [(total - statistics.fmean(totals)) / (statistics.stdev(totals) + eps) for total in totals]
    words = _by_token(found)
    return [
        [[share * reward + (1.0 - share) * token[0]] for token in tokens]
        for reward, tokens in zip(rewards, words, strict=True)
    ]


REFERENCES: Mapping[str, Callable[[Desk], Weights]] = MappingProxyType(
    {"sdpo_token": _by_token, "sdpo_topk": _by_alternative, "hybrid": _hybrid}
)


def _result(name: str, holds: bool, measured: float | str, bound: float | str, reason: str) -> GateResult:
    return GateResult(name, GateStatus.PASSED if holds else GateStatus.FAILED, measured, bound, reason)
