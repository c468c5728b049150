"""A run opened for a demo: its records, its tasks, and the model before and after training."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from askfirst import plan as plans
from askfirst import plugins
from askfirst.contracts.reported import scorer_of
from askfirst.demo.talk import Talk, answer, begin, speak
from askfirst.desk import Desk
from askfirst.errors import InputError
from askfirst.plan import Plan
from askfirst.policy import Policy, Sampling
from askfirst.reading import require_run
from askfirst.report.browser import browser
from askfirst.report.page import contents
from askfirst.rollout import Stage
from askfirst.runfolder import RunFolder
from askfirst.selection import Selected
from askfirst.store import read_as, read_json
from askfirst.values import Scenario
from askfirst.variants import open_policy

BASE = "before training"
LONGEST = 20_000  # characters of a request
EVERY = 3  # tokens between two looks at replies that are being drawn


@dataclass(frozen=True, slots=True)
class Speaker:
    """A model that can be talked to."""

    name: str
    policy: Policy


@dataclass(frozen=True)
class Exhibit:
    """A run folder. Models are opened when somebody first talks to them."""

    run: RunFolder
    plan: Plan

    @classmethod
    def of(cls, folder: Path) -> Exhibit:
        """Raises InputError for what is no run folder."""
        run = RunFolder(folder)
        return cls(run, plans.validate(require_run(run)["plan"], str(run.lock)))

    @cached_property
    def records(self) -> dict[str, Any]:
        """What the report shows."""
        return contents(self.run)

    @cached_property
    def rollouts(self) -> list[dict[str, Any]]:
        """What the report's browser of rollouts shows."""
        entries: list[dict[str, Any]] = browser(self.run)["entries"]
        return entries

    @cached_property
    def desk(self) -> Desk:
        """The run's environment and reward, for episodes that are played by hand."""
        return Desk(self.plan.env.name, plugins.load("envs", self.plan.env.name), scorer_of(self.plan))

    @cached_property
    def stage(self) -> Stage:
        """Greedy, as evaluations are."""
        env = self.desk.env
        system = env.system_prompt(self.plan.env.system_prompt)
        return Stage(env, system, Sampling(self.plan.train.sampling.max_tokens, temperature=0.0))

    @cached_property
    def checkpoint(self) -> tuple[str, Path] | None:
        """Name and folder of the selected checkpoint, or where none is selected of the last one that was recorded."""
        if self.run.selected.is_file():
            chosen = read_as(Selected, self.run.selected)
            places = self.run.root / chosen.checkpoint, self.run.discarded(chosen.checkpoint.replace("/", "-"))
            found = next((place for place in places if place.is_dir()), None)
            return (f"after, {chosen.checkpoint_name}", found) if found else None
        for variant in reversed(self.run.having("checkpoint_manifest.json")):
            for entry in reversed(read_json(variant.manifest)["entries"]):
                if (variant.root / entry["checkpoint"]).is_dir():
                    return f"last checkpoint, {variant.name}@{entry['step']}", variant.root / entry["checkpoint"]
        return None

    @cached_property
    def speakers(self) -> tuple[Speaker, ...]:
        """The model before training and, where there is a checkpoint, after it. Raises ModelError, InputError."""
        found = [Speaker(BASE, open_policy(self.plan, 0))]
        if self.checkpoint is not None:
            name, folder = self.checkpoint
            policy = open_policy(self.plan, 0)
            policy.load(folder)
            found.append(Speaker(name, policy))
        return tuple(found)

    def task(self, split: str, number: int) -> Scenario:
        """A task of the train or dev split. Raises SplitError for the sealed one, InputError for a strange number."""
        return self.desk.task(split, number)

    def request(self, scenario: Scenario) -> str:
        """What a scenario shows first."""
        return "\n".join(message.content for message in self.stage.prompt(scenario) if message.role != "system")

    def begin(self, request: str, drawn: Scenario | None) -> tuple[Talk, ...]:
        """A talk with each model: about a drawn task while its text stands as it was drawn. Raises InputError."""
        if not request.strip():
            raise InputError("there is no request yet", hint="draw a task, or write one")
        if len(request) > LONGEST:
            raise InputError(f"the request has {len(request)} characters, {LONGEST} at most are taken")
        scenario = drawn if drawn is not None and self.request(drawn) == request else None
        return tuple(begin(self.stage, each.policy, scenario, request) for each in self.speakers)

    def answer(self, talks: Sequence[Talk], words: str) -> tuple[Talk, ...]:
        """The talks after the user's turn in those that wait for one."""
        pairs = zip(self.speakers, talks, strict=True)
        return tuple(answer(self.stage, each.policy, talk, words) if talk.waits else talk for each, talk in pairs)

    def speak(self, talks: Sequence[Talk], temperature: float, seed: int) -> Iterator[tuple[Talk, ...]]:
        """The turn of every model that has one, token by token side by side."""
        stage = replace(self.stage, sampling=Sampling(self.stage.sampling.max_tokens, temperature))
        now = list(talks)
        streams = {
            i: speak(stage, each.policy, talks[i], seed)
            for i, each in enumerate(self.speakers)
            if talks[i].stop is None and not talks[i].waits
        }
        for count in itertools.count(1):
            for i, stream in list(streams.items()):
                found = next(stream, None)
                if found is None:
                    del streams[i]
                else:
                    now[i] = found
            if not streams:
                break
            if count % EVERY == 0:
                yield tuple(now)
        yield tuple(now)
