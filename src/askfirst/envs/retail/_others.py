"""The environment with other tasks or with another user: modules made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

from askfirst.calls import CallError
from askfirst.envs._mix import check_draw
from askfirst.errors import InputError
from askfirst.replies import SAID
from askfirst.retail import generated
from askfirst.retail.calls import CONFIRM, INSTRUCTIONS, TRANSFER, Call, parse_call
from askfirst.retail.folder import tasks
from askfirst.retail.oracle import authentication, tell
from askfirst.retail.published import STEPS
from askfirst.retail.simulated import SimulatedUser, dialogue_of, spoken
from askfirst.retail.task import FULL, hidden_of, hide_published, world_of
from askfirst.retail.tasks import Task
from askfirst.retail.world import thawed
from askfirst.store import content_hash, generator
from askfirst.values import Demonstration, FrozenMap, Message, Scenario

PUBLISHED = "published"
SPLITS: Mapping[str, str] = {"train": "train", "dev": "dev", "sealed": "test"}


def of_folder(base: ModuleType, folder: Path) -> ModuleType:
    """The environment with the published tasks of a folder: `sealed` is their test split.

    None of them is labelled for what it leaves open, so all count as clear, of one stratum. The user is scripted: it
    begins with its instruction, agrees to the gold changes that have an effect, and leaves when they are made. Raises
    InputError for a malformed folder.
    """
    world = world_of(str(folder))

    def scenarios(split: str, n: int, seed: int, strata: Mapping[str, float] | None = None) -> list[Scenario]:
        check_draw(split, n)
        if strata is not None and set(strata) == {"ambiguous"}:
            return []
        every = tasks(folder, SPLITS[split], world)
        if n > len(every):
            raise InputError(f"there are {len(every)} tasks of {split}, {n} asked for", where=str(folder))
        order = generator("retail", PUBLISHED, split, seed).permutation(len(every))
        return [_scenario(folder, every[int(at)], split) for at in order[:n]]

    own = {"clear_twin": 1.0}
    return _made(base, scenarios=scenarios, MAX_TURNS=STEPS, CLEAR_MIX=own, EVALUATION_MIX=own, demonstrations=_gold)


def of_families(base: ModuleType, names: Sequence[str]) -> ModuleType:
    """The environment with requests of these families alone, besides those out of scope. The brief prompt has no tool
    that only the others' changes need. Raises InputError."""
    if unknown := sorted(set(names) - set(generated.ANY)):
        known = ", ".join(generated.ANY)
        raise InputError(f"no family is called {unknown[0]!r}", where="env.families", hint=f"families: {known}")
    needless = {tool for family, tool in generated.TOOL.items() if family not in names}
    brief = "\n".join(line for line in INSTRUCTIONS.split("\n") if line.partition(" ")[0] not in needless)
    return _made(
        base,
        scenarios=partial(base.scenarios, among=tuple(family for family in generated.ANY if family in names)),
        system_prompt=partial(base.system_prompt, compact=brief),
        SYSTEM_PROMPT=brief,
    )


def with_user(base: ModuleType, user: SimulatedUser) -> ModuleType:
    """The environment with a model as the user, which is told what it wants: the instruction of a published task, and
    of others the request with the answers to all that may be asked."""

    def scenarios(*given: object, **named: object) -> list[Scenario]:
        return [_simulated(scenario) for scenario in base.scenarios(*given, **named)]

    def start(scenario: Scenario) -> tuple[Message, ...]:
        line = user.line(_instruction(scenario), ())
        return (Message("user", f"{SAID}{line or 'Never mind.'}"),)

    def step(scenario: Scenario, messages: Sequence[Message]) -> Message | None:
        answer: Message | None = base.step(scenario, messages)
        said = [message.content for message in messages if message.role == "assistant"]
        if answer is None or not _speaks(said[-1]):
            return answer
        line = user.line(_instruction(scenario), dialogue_of(messages))
        return None if line is None else Message("user", f"{SAID}{line}")

    return _made(base, scenarios=scenarios, start=start, step=step)


def _made(base: ModuleType, **changed: object) -> ModuleType:
    module = ModuleType(base.__name__)
    module.__dict__.update({**base.__dict__, **changed})
    return module


def _scenario(folder: Path, task: Task, split: str) -> Scenario:
    hidden = hide_published(folder, task)
    opening = (Message("user", f"{SAID}{task.instruction}"),)
    name = content_hash((PUBLISHED, task.id, opening, hidden["task"]))[:16]
    return Scenario(name, f"{PUBLISHED}.{FULL}", "clear_twin", split, False, opening, hidden, f"user {task.user_id}")


def _simulated(scenario: Scenario) -> Scenario:
    return replace(scenario, hidden=FrozenMap({**scenario.hidden, "simulated": True}))


def _instruction(scenario: Scenario) -> str:
    hidden = hidden_of(scenario)
    if hidden.published:
        return hidden.task.instruction
    known = " ".join(hidden.answers.values())
    return f"{scenario.opening[-1].content.removeprefix(SAID)} Asked, you can tell: {known}"


def _gold(scenario: Scenario) -> tuple[Demonstration, ...]:
    """The gold calls after finding out who the user is, each change after a yes, and then the outputs."""
    hidden = hidden_of(scenario)
    calls = [Call(each.name, thawed(each.arguments)) for each in hidden.task.actions]
    said = [] if any(call.name.startswith("find_user_id") for call in calls) else [authentication(hidden)]
    for call, action in zip(calls, hidden.task.actions, strict=True):
        asks = Call(CONFIRM, {"action": call.name, "arguments": call.arguments})
        said += [asks, call] if action in hidden.wanted else [call]
    if not said or said[-1].name != TRANSFER:
        said.append(tell(" ".join(hidden.task.outputs) or "It is done."))
    return (Demonstration(said[0].text(), guess=False, then=tuple(call.text() for call in said[1:])),)


def _speaks(text: str) -> bool:
    try:
        return bool(spoken(parse_call(text)))
    except CallError:
        return False
