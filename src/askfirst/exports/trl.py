"""TRL 1.16: an `environment_factory`, the data set that goes with it, and reward functions.

    from askfirst.exports import trl

    GRPOTrainer(
        model=...,
        train_dataset=trl.dataset("train", 1000),
        environment_factory=trl.ClarifyEnv,
        reward_funcs=trl.reward_function("utility"),
        ...
    )

A row names its task by split, seed and scenario id, and TRL gives the same row to all generations of a group, so that a
group shares one scenario. The environment has no `get_reward`: TRL would add it to the reward functions, and the score
would count twice. A reward function grades what stands in the completion, call by call, and works the answers out
anew; it therefore needs no environment, and what a tool said on the way cannot change a score.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askfirst.calls import ASK, call_text
from askfirst.clarify.calls import INFO, PLAN
from askfirst.desk import Desk, Session
from askfirst.errors import InputError
from askfirst.values import Scenario

COLUMNS = ("split", "seed", "scenario_id")
RewardFunction = Callable[..., list[float]]


def rows(split: str, n: int, first_seed: int = 0, *, native: bool = True) -> list[dict[str, Any]]:
    """n rows: a chat prompt and the name of its task. `native`: for a chat template with tool calls, else JSON text.

    Raises SplitError for a split that is not served.
    """
    desk = Desk.named()
    instructions = desk.env.NATIVE_INSTRUCTIONS if native else desk.env.SYSTEM_PROMPT
    found = []
    for seed in range(first_seed, first_seed + n):
        scenario = desk.task(split, seed)
        prompt = [{"role": "system", "content": instructions}]
        prompt += [{"role": m.role, "content": m.content} for m in desk.env.start(scenario)]
        found.append({"prompt": prompt, "split": split, "seed": seed, "scenario_id": scenario.id})
    return found


def dataset(split: str, n: int, first_seed: int = 0, *, native: bool = True) -> Any:
    """`rows` as a `datasets.Dataset`. Needs the package `datasets`."""
    from datasets import Dataset

    return Dataset.from_list(rows(split, n, first_seed, native=native))


class ClarifyEnv:
    """The tools of `clarify` for `environment_factory`. TRL makes instances without arguments and uses them again."""

    def __init__(self) -> None:
        self._desk = Desk.named()
        self._session: Session | None = None

    def reset(self, **row: Any) -> None:
        """Start the task of a row of `dataset`. Raises InputError for a row that names none, or another one."""
        self._session = self._desk.open(_task(self._desk, row))

    def ask_question(self, question: str) -> str:
        """
        Ask the user a question. Each thing asked about costs the price of a question.

        Args:
            question: What to ask, in plain words.

        Returns:
            What the user says.
        """
        return self._say(ASK, {"question": question})

    def propose_plan(self, plan: dict[str, Any]) -> str:
        """
        End the task with a plan.

        Args:
            plan: A value for each key. Under assumptions a list of the keys that were guessed. For what is no task of
                yours only decline, with a reason.

        Returns:
            A note that the task is over.
        """
        return self._say(PLAN, {"plan": plan})

    def get_task_info(self) -> str:
        """
        Show the task, the rules and the number of questions left.

        Returns:
            The task.
        """
        return self._say(INFO, {})

    def _say(self, name: str, arguments: Mapping[str, Any]) -> str:
        """TRL reads no end of an episode, and tells the policy what a tool raises."""
        if self._session is None:
            raise InputError("no task: reset comes first")
        return self._session.say(call_text(name, arguments)) or "The task is over."


def reward_function(reward: str = "utility") -> RewardFunction:
    """A reward function for TRL, logged under the name of the reward.

    It takes completions and the columns of `dataset`, as TRL gives them by keyword, and returns a number for each
    completion; the share of passed episodes is logged where TRL gives `log_metric`. Raises InputError for rows without
    the columns, RewardFault where the reward fails: a score is computed or training stops.
    """
    desk = Desk.named(reward=reward)

    def score(completions: Sequence[Any], **columns: Any) -> list[float]:
        missing = [name for name in COLUMNS if len(columns.get(name) or ()) != len(completions)]
        if missing:
            raise InputError(f"the data set has no column {', '.join(missing)}", hint="make it with trl.dataset")
        found = []
        for index, completion in enumerate(completions):
            scenario = _task(desk, {name: columns[name][index] for name in COLUMNS})
            found.append(desk.score(scenario, replies(completion) or ("",)))
        if columns.get("log_metric"):
            columns["log_metric"](f"{desk.reward}/passed", sum(each.passed for each in found) / len(found))
        return [each.total for each in found]

    score.__name__ = desk.reward
    return score


def replies(completion: Any) -> tuple[str, ...]:
    """What the policy said in a completion, one text a turn: a text, or messages with their tool calls.

    Of a message with tool calls each call is a turn, in their order, and its words beside them are none.
    """
    if isinstance(completion, str):
        return (completion,)
    said: list[str] = []
    for message in completion:
        if message["role"] != "assistant":
            continue
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        said += [call_text(call.get("name"), call.get("arguments")) for call in calls] or [message.get("content") or ""]
    return tuple(said)


def _task(desk: Desk, row: Mapping[str, Any]) -> Scenario:
    missing = [name for name in COLUMNS if name not in row]
    if missing:
        raise InputError(f"a row without {', '.join(missing)}", hint="make the data set with trl.dataset")
    scenario = desk.task(row["split"], int(row["seed"]))
    if scenario.id != row["scenario_id"]:
        raise InputError(
            f"task {row['split']}/{row['seed']} is scenario {scenario.id} here, and {row['scenario_id']} in the data",
            hint="the data set is of another version of the environment: make it again",
        )
    return scenario
