"""Judges at work: a plugin with what it needs, guarded, so that what comes out is a judgement or the run stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from askfirst import plugins
from askfirst.errors import JudgeFault, PluginError
from askfirst.judgement import Judged, Judgement
from askfirst.policy import ModelSpec, Policy, SampleRequest, Sampling
from askfirst.sections import JudgeModel, JudgeSection
from askfirst.store import append_line, as_record, content_hash, read_lines
from askfirst.values import FrozenMap, Message, Rollout, StopReason

TOO_LONG, CUT_OFF = "the episode is too long to be judged", "the reply was cut off"
AT_ONCE = 32  # prompts
KEPT = ("judge.jsonl", "held_out.jsonl")  # what the models of the two judges said
# What a careless judge raises on an episode; anything else is the machine's and goes up.
RAISED = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said to the prompt with a key; `ended` unless it ran out of tokens."""

    version: int
    key: str
    text: str
    ended: bool


class Replies:
    """What a model has said, kept in a file as it comes, so that nothing is asked twice; in memory without a file.

    Raises InputError, naming the line, for a file that holds something else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        lines = enumerate(read_lines(path) if path is not None and path.is_file() else (), start=1)
        found = [as_record(Reply, line, f"{path}:{number}") for number, line in lines]
        self._known = {reply.key: reply for reply in found}

    def __getitem__(self, key: str) -> Reply:
        return self._known[key]

    def __contains__(self, key: str) -> bool:
        return key in self._known

    def keep(self, reply: Reply) -> None:
        """Keep a reply; it is on disk when this returns."""
        self._known[reply.key] = reply
        if self._path is not None:
            append_line(self._path, reply)


@dataclass(frozen=True, slots=True)
class Speaker:
    """The model that speaks for a judge. `identity` is a hash of all that its replies depend on beside the prompt."""

    model: str
    policy: Policy
    sampling: Sampling
    identity: str

    @classmethod
    def opened(cls, section: JudgeModel, module: ModuleType) -> Speaker:
        """Open the model of a section. Raises PluginError where it names none, ModelError for an unknown one."""
        if not section.model:
            raise PluginError(f"judge {section.name!r} needs a model", hint='[judge] model = "smollm2-135m", or rules')
        backend = plugins.load("backends", section.backend)
        spec = ModelSpec(section.model, lora_rank=1)
        files: Mapping[str, str | None] = getattr(backend, "identity", lambda spec: {})(spec)
        policy: Policy = backend.open_policy(spec, 0)
        identity = content_hash([plugins.source_hash(module), section.model_dump(), files, policy.fingerprint()])
        return cls(section.model, policy, Sampling(section.max_tokens, 0.0), identity)

    def replies(self, prompts: Sequence[tuple[Message, ...]], known: Replies) -> list[Reply]:
        """The greedy reply to each prompt; AT_ONCE are asked together, and kept before the next are."""
        keys = [content_hash([self.identity, prompt]) for prompt in prompts]
        asked = [*{key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in known}.items()]
        for start in range(0, len(asked), AT_ONCE):
            some = asked[start : start + AT_ONCE]
            requests = [SampleRequest(self.policy.encode(prompt), (0,)) for _, prompt in some]
            for (key, _), (said,) in zip(some, self.policy.sample(requests, self.sampling), strict=True):
                text = self.policy.decode(said.token_ids).encode("utf-8", "replace").decode()  # no half characters
                known.keep(Reply(1, key, text, said.stop is StopReason.END))
        return [known[key] for key in keys]


@dataclass(frozen=True, slots=True)
class Judge:
    """A judge plugin and, where it puts its question to a model, that model and what it has said."""

    module: ModuleType
    speaker: Speaker | None = None
    known: Replies = field(default_factory=Replies, compare=False)

    @classmethod
    def named(cls, section: JudgeModel, kept: Path | None = None) -> Judge:
        """The judge of a section; what its model says is kept in the file `kept`. Raises PluginError, ModelError."""
        module = plugins.load("judges", section.name)
        if hasattr(module, "judge"):
            return cls(module)
        if not (hasattr(module, "prompt") and hasattr(module, "read")):
            raise PluginError(
                f"judges plugin {section.name!r} must define judge, or prompt and read", where=module.__name__
            )
        spoken_for = JudgeModel(**section.model_dump(include=set(JudgeModel.model_fields)))
        return cls(module, _speaker(spoken_for), Replies(kept))

    @property
    def name(self) -> str:
        name = f"{plugins.name_of(self.module)}@{self.module.VERSION}"
        return f"{name}({self.speaker.model})" if self.speaker else name

    def __call__(self, rollouts: Sequence[Rollout]) -> list[Judgement]:
        """A judgement of each episode, in their order; what was said of the same is judged once.

        Raises JudgeFault where the judge raises or returns what is no judgement.
        """
        distinct = {_said(rollout): rollout for rollout in rollouts}
        found = dict(zip(distinct, self._judged(list(distinct.values())), strict=True))
        return [found[_said(rollout)] for rollout in rollouts]

    def _judged(self, rollouts: Sequence[Rollout]) -> list[Judgement]:
        module = self.module
        if self.speaker is None:
            return [self._sound(r, module.judge, r.scenario, r.trajectory, r.score) for r in rollouts]
        prompts = [self._guarded(r, module.prompt, r.scenario, r.trajectory) for r in rollouts]
        said = iter(self.speaker.replies([prompt for prompt in prompts if prompt is not None], self.known))
        replies = [None if prompt is None else next(said) for prompt in prompts]
        return [self._read(rollout, reply) for rollout, reply in zip(rollouts, replies, strict=True)]

    def _read(self, rollout: Rollout, reply: Reply | None) -> Judgement:
        if reply is None or not reply.ended:
            return Judgement(self.name, FrozenMap(), "", CUT_OFF if reply else TOO_LONG)
        return replace(self._sound(rollout, self.module.read, reply.text), judge=self.name)

    def _sound(self, rollout: Rollout, call: Callable[..., object], *given: Any) -> Judgement:
        return require_sound(self._guarded(rollout, call, *given), self.module.DIMENSIONS, self.name)

    def _guarded(self, rollout: Rollout, call: Callable[..., Any], *given: Any) -> Any:
        try:
            return call(*given)
        except RAISED as error:
            raise JudgeFault(
                f"judge {self.name!r} raised {type(error).__name__}: {error}", where=f"scenario {rollout.scenario.id}"
            ) from error


@lru_cache(maxsize=4)  # a model is opened once, wherever its replies are kept
def _speaker(section: JudgeModel) -> Speaker:
    return Speaker.opened(section, plugins.load("judges", section.name))


def _said(rollout: Rollout) -> tuple[Any, ...]:
    return rollout.scenario.id, rollout.trajectory.messages, rollout.trajectory.stop, rollout.score


def require_sound(found: object, dimensions: Sequence[str], name: str) -> Judgement:
    """The judgement, if it is one: a 0 or a 1 for exactly its dimensions, or no scores and why. Raises JudgeFault."""
    if not isinstance(found, Judgement):
        raise JudgeFault(f"judge {name!r} returned {type(found).__name__}, not a Judgement")
    if found.unparsable:
        if found.scores:
            raise JudgeFault(f"judge {name!r} gave scores of what it could not read")
    elif [*found.scores] != [*dimensions] or not all(type(v) is int and v in (0, 1) for v in found.scores.values()):
        raise JudgeFault(f"judge {name!r} scored {dict(found.scores)}, not 0 or 1 for each of {', '.join(dimensions)}")
    return found


def summary(judgements: Sequence[Judgement], passes: Sequence[bool] | None) -> Judged:
    """What judgements of episodes come to; `passes` says of each whether the oracle passes it, None without an oracle.

    The gap is the judge's mean less the share that the oracle passes, both over the episodes whose judgement could be
    read. Raises ValueError where there is nothing to judge.
    """
    if not judgements:
        raise ValueError("no judgement to sum up")
    readable = [at for at, found in enumerate(judgements) if not found.unparsable]
    chosen = [judgements[at] for at in readable]
    names = tuple(chosen[0].scores) if chosen else ()
    scores = FrozenMap({name: sum(found.scores[name] for found in chosen) / len(chosen) for name in names})
    mean = sum(found.mean for found in chosen) / len(chosen) if chosen else None
    oracle = sum(passes[at] for at in readable) / len(chosen) if chosen and passes is not None else None
    return Judged(
        judge=judgements[0].judge,
        episodes=len(judgements),
        unparsable=len(judgements) - len(chosen),
        scores=scores,
        mean=mean,
        oracle=oracle,
        gap=None if mean is None or oracle is None else mean - oracle,
        critiqued=sum(bool(found.flagged and found.feedback) for found in chosen) / len(judgements),
    )


@lru_cache(maxsize=8)  # a run asks for its judges again and again
def opened(section: JudgeModel, kept: Path | None) -> Judge:
    """The judge of a section, as `Judge.named` has it."""
    return Judge.named(section, kept)


def of_plan(section: JudgeSection | None, folder: Path | None) -> tuple[Judge | None, Judge | None]:
    """The judge of a plan and the held-out one, None where it names none; what their models say is kept in a folder."""
    if section is None:
        return None, None
    judge, held_out = (folder / name if folder else None for name in KEPT)
    return opened(section, judge), opened(section.held_out, held_out) if section.held_out else None
