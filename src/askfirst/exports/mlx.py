"""mlx-lm-lora 5.10: a reward file, the data set that goes with it, and a preflight.

That trainer samples one reply a row. A row of an environment of several turns therefore stands at the last turn of an
optimal episode: what was said and answered before is part of its prompt. What is learned there is the reply that ends
the episode; when to ask is learned where episodes are played (`askfirst run`, TRL, OpenEnv).

The trainer gives a reward nothing but strings, so `answer` holds the scenario and what was said before, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from askfirst import plugins
from askfirst.cases import play, scenario_of
from askfirst.errors import InputError
from askfirst.rollout import Scorer
from askfirst.store import canonical, write_lines, write_text
from askfirst.values import Scenario

REWARDS, TRAIN, VALID = "rewards.py", "train.jsonl", "valid.jsonl"
_FILE = '''"""Reward {reward!r} of askfirst for mlx-lm-lora; askfirst must be installed beside it.

mlx_lm_lora.train --train --train-mode grpo --data . --reward-functions-file rewards.py --reward-functions {name}
"""

from askfirst.exports.mlx import grader
from mlx_lm_lora.trainer.grpo_reward_functions import register_reward_function

_grade = grader({reward!r}, {env!r})


@register_reward_function()
def {name}(prompts, completions, answer, types=None, **others):
    """A number for each completion; what cannot be scored raises, because None would count as 0."""
    return _grade(completions, answer)
'''


def function_name(reward: str) -> str:
    """The name under which the reward file registers: it takes none of the trainer's own."""
    return "askfirst_" + reward.replace(":", "_").replace(".", "_")


def write(folder: Path, reward: str, count: int, seed: int) -> tuple[Path, ...]:
    """Write the reward file, `count` rows of train and a fifth as many of dev; the files.

    Raises PluginError for an unknown reward, InputError for no rows.
    """
    if count < 1:
        raise InputError(f"a data set has at least one row, found {count}")
    module = plugins.load("rewards", reward)
    env = getattr(module, "ENV", "judgment")
    files = tuple(folder / name for name in (REWARDS, TRAIN, VALID))
    write_text(files[0], _FILE.format(reward=reward, env=env, name=function_name(reward)))
    write_lines(files[1], rows(env, "train", count, seed))
    write_lines(files[2], rows(env, "dev", max(1, count // 5), seed))
    return files


def rows(env: str, split: str, n: int, seed: int) -> list[dict[str, str]]:
    """n rows of a split: prompt, system prompt, the scenario as `answer`, its family as `type`."""
    module = plugins.load("envs", env)
    return [row(module, scenario, _before(module, scenario)) for scenario in module.scenarios(split, n, seed)]


def row(env: ModuleType, scenario: Scenario, said: Sequence[str]) -> dict[str, str]:
    """The row at the turn of an episode in which the policy has said `said`.

    The system prompt is always there: without one the trainer puts its own think-and-answer prompt.
    """
    told = [message.content for message in env.start(scenario)]
    if said:
        turns = play(env, scenario, (*said, "")).messages[len(told) : -1]
        told += [m.content if m.role == "assistant" else f"user said: {m.content}" for m in turns]
    return {
        "prompt": "\n".join(told),
        "system": env.system_prompt("compact"),
        "answer": canonical({"scenario": scenario, "said": list(said)}),
        "type": scenario.family,
    }


def grader(reward: str, env: str) -> Callable[[Sequence[str], Sequence[str]], list[float]]:
    """Scores completions by the answers of their rows. Raises InputError for an answer that `row` did not write."""
    module, scorer = plugins.load("envs", env), Scorer.named(reward)

    def grade(completions: Sequence[str], answers: Sequence[str]) -> list[float]:
        if len(completions) != len(answers):
            raise InputError(f"{len(completions)} completions and {len(answers)} answers: they go in pairs")
        return [
            scorer.score(scenario, play(module, scenario, (*said, completion))).total
            for completion, (scenario, said) in zip(completions, map(packed, answers), strict=True)
        ]

    return grade


def packed(answer: str) -> tuple[Scenario, tuple[str, ...]]:
    """The scenario of a row, and what was said before its turn. Raises InputError for anything else."""
    try:
        body = json.loads(answer)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"answer is not the JSON of a row: {error}", where="answer") from error
    if not isinstance(body, Mapping) or set(body) != {"scenario", "said"}:
        raise InputError("answer is not the JSON of a row", where="answer", hint="askfirst export mlx writes rows")
    said = body["said"]
    if not isinstance(said, list) or not all(isinstance(text, str) for text in said):
        raise InputError("said is not a list of texts", where="answer")
    return scenario_of(body["scenario"], "answer"), tuple(said)


def _before(env: ModuleType, scenario: Scenario) -> tuple[str, ...]:
    """What an optimal episode says before its last turn; nothing where episodes have one turn."""
    optimal: Callable[[Scenario], tuple[str, ...]] | None = getattr(env, "optimal", None)
    return tuple(optimal(scenario)[:-1]) if optimal else ()
