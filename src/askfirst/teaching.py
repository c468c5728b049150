"""The teacher of self-distillation: what it is shown, what it makes of the rollouts, and what that comes to.

A trajectory is scored behind another opening: the request with notes beside it. All its other segments stay as they
are, token for token, so that what user and tools said is seen and the policy's own tokens are compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from askfirst import kl
from askfirst.batches import Alternatives, make_row
from askfirst.credit import Evidence, gaps
from askfirst.errors import BackendFault, PlanError
from askfirst.metrics import MOVED, Taught
from askfirst.notes import Notes, shown, told
from askfirst.policy import Choosing, Policy, Teacher, Teaching
from askfirst.sections import TeacherSection
from askfirst.values import Floats, Group, Message, Rollout, Row, Segment


def feedback(rollout: Rollout) -> str:
    """What there is to say about a rollout: the judge's words where one read it, else the names of what the reward
    found wrong; empty where that is nothing."""
    if rollout.judgement is not None:
        return rollout.judgement.feedback
    return ", ".join(failure.replace("_", " ") for failure in rollout.score.failures)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a teacher makes of a batch. `evidence` is one a group, `alternatives` and `notes` are one a rollout.

    `too_long` counts rollouts whose notes did not fit; `tokens` went through policy and teacher.
    """

    evidence: tuple[Evidence, ...]
    alternatives: tuple[Alternatives, ...]
    notes: tuple[Notes, ...]
    too_long: int
    tokens: int


def notes_of(groups: Sequence[Group], section: TeacherSection) -> list[Notes]:
    """What the teacher of each rollout is shown, as the plan has it."""
    return [_notes(rollout, group, section) for group in groups for rollout in group.rollouts]


def teach(
    policy: Policy, groups: Sequence[Group], section: TeacherSection, notes: Sequence[Notes], count: int = 0
) -> Lesson:
    """Show the teacher the notes of each rollout and compare it with the policy, token by token.

    `count` is the number of alternatives wanted for each token. A rollout without notes is not scored: its evidence
    has one array for policy and teacher. Raises PlanError for a teacher or alternatives that the policy does not have.
    """
    rollouts = [rollout for group in groups for rollout in group.rollouts]
    openings = [policy.encode(_opening(r, n, section)) if n else () for r, n in zip(rollouts, notes, strict=True)]
    taught = [i for i, ids in enumerate(openings) if 0 < len(ids) <= section.max_tokens]
    rows = [make_row(rollouts[i], 0.0) for i in taught]
    chosen = choices(policy, rows, count) if count and rows else [None] * len(rows)
    asked = [replace(row, alternatives=ids) for row, ids in zip(rows, chosen, strict=True)]
    behind = [_behind(rollouts[i], openings[i], row) for i, row in zip(taught, asked, strict=True)]
    policy_nats = policy.logprobs(asked) if asked else []
    teacher_nats = teacher_logprobs(policy, behind, section.teacher) if behind else []
    pairs = {
        i: (_sampled(own, row), _sampled(other, shown_row))
        for i, own, other, row, shown_row in zip(taught, policy_nats, teacher_nats, asked, behind, strict=True)
    }
    beside = {i: ids[row.mask] for i, row, ids in zip(taught, rows, chosen, strict=True) if ids is not None}
    return Lesson(
        evidence=tuple(_evidence(groups, pairs)),
        alternatives=tuple(beside.get(i) for i in range(len(rollouts))),
        notes=tuple(n if i in pairs else Notes() for i, n in enumerate(notes)),
        too_long=sum(map(bool, notes)) - len(taught),
        tokens=sum(len(row.token_ids) for row in (*asked, *behind)) + sum(len(r.token_ids) for r in rows if count),
    )


def teacher_logprobs(policy: Policy, rows: Sequence[Row], teacher: Teacher) -> list[Floats]:
    """Logprobs of the rows' tokens by a teacher, shaped as in `Policy.logprobs`.

    Raises PlanError for a teacher that the policy's backend does not have.
    """
    if teacher.kind in ("frozen", "live"):
        return policy.logprobs(rows, reference=teacher.kind == "frozen")
    if not isinstance(policy, Teaching):
        raise PlanError(
            f"{policy.name} has no teacher {teacher.kind!r}", where="teacher.kind", hint="use frozen or live"
        )
    return policy.teacher_logprobs(rows, teacher)


def follow(policy: Policy, teacher: Teacher) -> None:
    """Let an average teacher follow the policy after a step; the others have nothing to do."""
    if teacher.kind == "ema" and isinstance(policy, Teaching):
        policy.follow(teacher.rate)


def choices(policy: Policy, rows: Sequence[Row], count: int) -> list[Alternatives]:
    """The tokens (T, count) that the policy finds likeliest. Raises PlanError where its backend cannot say."""
    if not isinstance(policy, Choosing):
        raise PlanError(
            f"{policy.name} samples no tokens that have alternatives",
            where="train.advantage",
            hint="use sdpo_token, or another backend",
        )
    return list(policy.choices(rows, count))


def measured(lesson: Lesson, rows: Sequence[Row], clip: float) -> Taught:
    """What a lesson came to, given the rows with the advantages that the rule made of it and the rule's clip."""
    found = np.concatenate([gap[:, 0] for evidence in lesson.evidence for gap in gaps(evidence)])  # (tokens,)
    size, worth = np.abs(found), [np.abs(r.advantages[r.mask]).reshape(int(r.mask.sum()), -1).sum(axis=1) for r in rows]
    shares = [[bool(n), bool(n.solution), bool(n.feedback)] for n in lesson.notes]
    taught, sibling, said = np.mean(shares, axis=0)
    return Taught(
        taught_fraction=float(taught),
        sibling_fraction=float(sibling),
        feedback_fraction=float(said),
        too_long=lesson.too_long,
        kl_nats=float(kl.term("k3", -found, np.zeros(found.shape))[0].mean()),
        mean_abs_gap_nats=float(size.mean()),
        p99_abs_gap_nats=float(np.quantile(size, 0.99)),
        moved_fraction=float((size > MOVED).mean()),
        clip_fraction=float((size > clip).mean()) if clip else 0.0,
        mean_abs_advantage=float(np.concatenate(worth).mean()),
    )


def _notes(rollout: Rollout, group: Group, section: TeacherSection) -> Notes:
    solution = "" if section.context == "feedback" else _solution(rollout, group, section.threshold)
    said = "" if section.context == "sibling" else feedback(rollout)
    return Notes(solution, "" if solution and section.context == "sibling_else_feedback" else said)


def _solution(rollout: Rollout, group: Group, threshold: float | None) -> str:
    """What the first sibling said that succeeded, in other words than the rollout's own; empty where there is none."""
    own = _said(rollout)
    for sibling in group.rollouts:
        good = sibling.score.passed if threshold is None else sibling.score.total >= threshold
        if good and sibling.index != rollout.index and _said(sibling) != own:
            return _said(sibling)
    return ""


def _said(rollout: Rollout) -> str:
    """A rollout behind its opening: its reply, or, where it has several turns, the whole dialogue."""
    return told(rollout.trajectory.messages[_opening_length(rollout) :])


def _opening_length(rollout: Rollout) -> int:
    """Messages of the opening: every segment behind the first is one message."""
    return len(rollout.trajectory.messages) - (len(rollout.trajectory.segments) - 1)


def _opening(rollout: Rollout, notes: Notes, section: TeacherSection) -> tuple[Message, ...]:
    opening = rollout.trajectory.messages[: _opening_length(rollout)]
    return shown(opening, notes, section.closing, before=section.place == "before")


def _behind(rollout: Rollout, opening: tuple[int, ...], row: Row) -> Row:
    """A rollout's segments behind another opening, asked about the same alternatives as `row`."""
    segments = (Segment(opening, sampled=False), *rollout.trajectory.segments[1:])
    found = make_row(replace(rollout, trajectory=replace(rollout.trajectory, segments=segments)), 0.0)
    if row.alternatives is None:
        return found
    ids = np.zeros((len(found.mask), row.alternatives.shape[1]), dtype=np.int64)
    ids[found.mask] = row.alternatives[row.mask]
    return replace(found, alternatives=ids)


def _sampled(logprobs: Floats, row: Row) -> Floats:
    """Logprobs (n, 1 + K) of the sampled tokens of a row. Raises BackendFault for one that is not finite."""
    found = logprobs[row.mask].reshape(int(row.mask.sum()), -1)
    if not np.isfinite(found).all():
        raise BackendFault("a logprob of policy or teacher is not finite", hint="lower the learning rate")
    return found


def _evidence(groups: Sequence[Group], pairs: dict[int, tuple[Floats, Floats]]) -> Iterator[Evidence]:
    first = 0
    for group in groups:
        policy, teacher = [], []
        for i, rollout in enumerate(group.rollouts, start=first):
            sampled = [lp for part in rollout.trajectory.segments if part.sampled for lp in part.logprobs]
            alone = np.array(sampled, dtype=np.float64).reshape(-1, 1)
            own, other = pairs.get(i, (alone, alone))
            policy.append(own)
            teacher.append(other)
        first += len(group.rollouts)
        yield Evidence(group.rewards, tuple(policy), tuple(teacher))
