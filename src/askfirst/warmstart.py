"""The supervised stage: demonstrations for a model that does not speak the protocol yet.

A share of the demonstrations on ambiguous requests guess instead of asking, so that the model ends
in the state that the policy-gradient stage is for: it can ask, and mostly does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from askfirst.cases import play
from askfirst.contracts.policies import episode, policies
from askfirst.errors import EnvironmentFault
from askfirst.notes import Notes, shown, told
from askfirst.plan import Plan
from askfirst.policy import Policy, StepSettings
from askfirst.rollout import Scorer, Stage, judged
from askfirst.sections import TeacherSection, WarmstartSection
from askfirst.steps import learning_rate
from askfirst.store import generator, seed_from
from askfirst.teaching import feedback
from askfirst.values import Demonstration, Floats, Message, Row, Scenario

AMBIGUOUS_SHARE = 0.5  # of the demonstrations; the rest shows every other kind of reply
# By `teacher.context`: whether a sibling is shown and whether feedback is, in equal shares of the noted demonstrations.
SIBLING, FEEDBACK, BOTH = (True, False), (False, True), (True, True)
SHOWN: Mapping[str, tuple[tuple[bool, bool], ...]] = {
    "sibling": (SIBLING,),
    "feedback": (FEEDBACK,),
    "sibling_else_feedback": (SIBLING, FEEDBACK),
    "both": (SIBLING, FEEDBACK, BOTH),
}


@dataclass(frozen=True, slots=True)
class Noting:
    """How notes are shown, and who says of an episode whether it passed and what went wrong."""

    teacher: TeacherSection
    scorer: Scorer


@dataclass(frozen=True, slots=True)
class CrossEntropy:
    """−mean log π over the demonstrated tokens of the step."""

    rows: Sequence[Row]

    def __call__(self, index: int, logprobs: Floats) -> tuple[float, Floats]:
        """Row index and policy logprobs (T,) → value and d value / d logprob (T,)."""
        scale = 1.0 / sum(int(r.mask.sum()) for r in self.rows)
        mask = self.rows[index].mask
        return -scale * float(logprobs[mask].sum()), np.where(mask, -scale, 0.0)


def warmstart(
    stage: Stage,
    policy: Policy,
    plan: Plan,
    seed: int,
    scorer: Scorer,
    progress: Callable[[int, int, float], None],
) -> None:
    """Run the plan's supervised steps and make the result the reference. `progress(done, total, loss)`.

    `scorer` is the plan's: where notes are shown, it says what went wrong in an episode.
    """
    section, noting = plan.warmstart, Noting(plan.teacher or TeacherSection(), scorer)
    if section is None:
        return
    for step in range(section.steps):
        at = (step, seed_from(seed, "warmstart", step))
        rows = demonstration_rows(stage, policy, section, at, noting)
        lr = learning_rate(section.lr, step, section.steps, "cosine", max(1, section.steps // 20))
        result = policy.update(rows, CrossEntropy(rows), StepSettings(lr))
        progress(step + 1, section.steps, result.value)
    policy.anchor()


def demonstration_rows(
    stage: Stage, policy: Policy, section: WarmstartSection, at: tuple[int, int], noting: Noting | None = None
) -> list[Row]:
    """A supervised batch: one demonstration for each of `batch` train scenarios. `at`: the step, and its seed.

    Without `noting` no notes are shown.
    """
    step, name = at
    guessing = guessing_share(section.guessing_share, section.guesses_after, step / section.steps)
    scenarios = demonstration_scenarios(stage.env, section.batch, name)
    random = generator(name, "choice")
    rows: list[Row] = []
    for scenario in scenarios:
        noted = noting if section.noted_share and random.random() < section.noted_share else None
        chosen = choose_demonstration(stage.env, scenario, 0.0 if noted else guessing, random)
        opening = with_notes(stage, scenario, noted, random) if noted else ()
        rows.append(dialogue_row(stage, policy, scenario, (chosen.reply, *chosen.then), opening))
    return rows


def with_notes(stage: Stage, scenario: Scenario, noting: Noting, random: np.random.Generator) -> tuple[Message, ...]:
    """The prompt as a teacher is shown it: with a demonstration as what a sibling said that passed, with feedback on an
    episode that did not, or with both."""
    ways = SHOWN[noting.teacher.context]
    sibling, criticised = ways[int(random.integers(len(ways)))]
    solution = ""
    if sibling:
        honest = choose_demonstration(stage.env, scenario, 0.0, random)
        behind = play(stage.env, scenario, (honest.reply, *honest.then)).messages[len(stage.env.start(scenario)) :]
        solution = told(behind)
    notes = Notes(solution, criticism(stage.env, scenario, noting.scorer, random) if criticised else "")
    return shown(stage.prompt(scenario), notes, noting.teacher.closing, before=noting.teacher.place == "before")


def criticism(env: ModuleType, scenario: Scenario, scorer: Scorer, random: np.random.Generator) -> str:
    """What there is to say about an episode of a habit that fails the scenario, any of those that do; empty where none
    fails."""
    habits = list(policies(env).values())
    for i in random.permutation(len(habits)):
        rollout = judged(env, scorer, scenario, 0, episode(env, scenario, habits[int(i)](scenario)))
        if not rollout.score.passed:
            [judgement] = scorer.judge([rollout]) if scorer.judge else [None]
            return feedback(replace(rollout, judgement=judgement))
    return ""


def dialogue_row(
    stage: Stage, policy: Policy, scenario: Scenario, replies: Sequence[str], opening: Sequence[Message] = ()
) -> Row:
    """A supervised row of a whole episode, token for token as it would have been sampled: the mask covers `replies`.

    `opening` is shown in the place of the stage's prompt. Raises EnvironmentFault where the episode is over before the
    last reply.
    """
    messages = stage.prompt(scenario)
    parts = [(policy.encode(opening or messages), False)]
    for number, reply in enumerate(replies, start=1):
        messages += (Message("assistant", reply),)
        parts.append((policy.encode_reply(reply), True))
        if number == len(replies):
            break
        answer: Message | None = stage.env.step(scenario, messages)
        if answer is None:
            raise EnvironmentFault(
                f"a demonstration goes on after the end of its episode, reply {number} of {len(replies)}",
                where=f"scenario {scenario.id}",
            )
        messages += (answer,)
        parts.append((policy.encode_next(messages), False))
    ids = np.concatenate([np.array(tokens, dtype=np.int64) for tokens, _ in parts])
    mask = np.repeat([said for _, said in parts], [len(tokens) for tokens, _ in parts])
    return Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.zeros(len(ids)))


def guessing_share(share: float, after: float, done: float) -> float:
    """The share of demonstrations that guess when `done` of the supervised stage is behind: none before `after`."""
    return share if done >= after else 0.0


def demonstration_scenarios(env: ModuleType, count: int, name: int) -> list[Scenario]:
    """Train scenarios, half of them ambiguous, the strata of the rest drawn by the environment's mix."""
    ambiguous = max(1, round(count * AMBIGUOUS_SHARE))
    chosen = list(env.scenarios("train", ambiguous, name, {"ambiguous": 1.0}))
    if count > ambiguous:
        shares = np.array(list(env.CLEAR_MIX.values()), dtype=np.float64)
        counts = generator(name, "strata").multinomial(count - ambiguous, shares / shares.sum())
        wanted = {s: float(n) for s, n in zip(env.CLEAR_MIX, counts, strict=True) if n}
        chosen += env.scenarios("train", count - ambiguous, name, wanted)
    return chosen


def choose_demonstration(
    env: ModuleType, scenario: Scenario, guessing_share: float, random: np.random.Generator
) -> Demonstration:
    """A demonstration: a guess with the given probability where the environment has one, else an honest one."""
    choices = env.demonstrations(scenario, seed=int(random.integers(2**31)))
    guesses = [d for d in choices if d.guess]
    honest = [d for d in choices if not d.guess]
    pool: list[Demonstration] = guesses if guesses and random.random() < guessing_share else honest
    return pool[int(random.integers(len(pool)))]


def demonstration_row(prompt: Sequence[int], reply: Sequence[int]) -> Row:
    """A supervised row of one reply: the mask covers it."""
    ids = np.array([*prompt, *reply], dtype=np.int64)
    mask = np.arange(len(ids)) >= len(prompt)
    return Row(ids, mask, np.zeros(len(ids)), np.zeros(0), np.zeros(len(ids)))
