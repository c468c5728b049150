"""A person and a model in an episode: what it says as it says it, who answers, and what the reward makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from askfirst.policy import Completion, Policy, SampleRequest, Sampling
from askfirst.rollout import MAX_TURNS, Scorer, Stage
from askfirst.store import seed_from
from askfirst.values import (
    Act,
    Action,
    Answer,
    Ask,
    Confirm,
    Invalid,
    Message,
    Refuse,
    Scenario,
    Score,
    StopReason,
    Trajectory,
)


@dataclass(frozen=True, slots=True)
class Talk:
    """An episode as far as it has got; `scenario` is None where the viewer made the request up.

    `token_ids` are those of the whole chat up to where the model speaks next, `said` is its last reply. `own`: the
    viewer answered in own words, which no reward knows. `stop` is set at the end.
    """

    scenario: Scenario | None
    messages: tuple[Message, ...]
    token_ids: tuple[int, ...]
    said: Completion | None = None
    own: bool = False
    stop: StopReason | None = None

    @property
    def replies(self) -> int:
        return sum(message.role == "assistant" for message in self.messages)

    @property
    def waits(self) -> bool:
        """Whether the model has spoken and the episode goes on."""
        return self.stop is None and self.messages[-1].role == "assistant"


def begin(stage: Stage, policy: Policy, scenario: Scenario | None, request: str) -> Talk:
    """An episode of a scenario, or of a request in the viewer's own words."""
    system = (Message("system", stage.system),) if stage.system else ()
    own = (*system, Message("user", request))
    messages = stage.prompt(scenario) if scenario is not None else own
    return Talk(scenario, messages, policy.encode(messages))


def speak(stage: Stage, policy: Policy, talk: Talk, seed: int) -> Iterator[Talk]:
    """The model's next turn: the talk with every token that is drawn, and at last with whether it goes on."""
    spoken = talk
    for found in drawn(policy, talk.token_ids, seed_from(seed, talk.replies), stage.sampling):
        reply = Message("assistant", policy.decode(found.token_ids))
        spoken = replace(talk, messages=(*talk.messages, reply), said=found)
        ids = (*talk.token_ids, *found.token_ids)
        yield spoken
    stop = StopReason.LENGTH if found.stop is StopReason.LENGTH else _over(stage, spoken)
    yield replace(spoken, token_ids=ids, stop=stop)


def drawn(policy: Policy, prompt: tuple[int, ...], seed: int, sampling: Sampling) -> Iterator[Completion]:
    """One reply as it comes; all at once from a backend that cannot stream."""
    stream = getattr(policy, "stream", None)
    if stream is None:
        yield policy.sample([SampleRequest(prompt, (seed,))], sampling)[0][0]
    else:
        yield from stream(prompt, seed, sampling)


def answer(stage: Stage, policy: Policy, talk: Talk, words: str) -> Talk:
    """The talk after the user's turn: the viewer's `words`, or where there are none what the environment says.

    To a question, what the environment shows below its first line, such as the number of questions left, stays.
    """
    told = stage.env.step(talk.scenario, talk.messages) if talk.scenario is not None else None
    asked = isinstance(stage.env.parse(talk.messages[-1].content), Ask)
    own = bool(words.strip()) and (told is None or asked)
    if own:
        below = told.content.splitlines()[1:] if told is not None else []
        told = Message("user", "\n".join([words.strip(), *below]))
    if told is None:
        return talk
    messages = (*talk.messages, told)
    ids = (*talk.token_ids, *policy.encode_next(messages))
    return replace(talk, messages=messages, token_ids=ids, said=None, own=talk.own or own)


def judged(scorer: Scorer, talk: Talk) -> Score | str:
    """The score of a talk that is over, or why there is none."""
    if talk.scenario is None:
        return "no score: nobody knows the right reply to a request of your own"
    if talk.own:
        return "no score: you answered in your own words, and the reward knows only what the simulated user says"
    if talk.stop is None:
        return "no score yet: the episode goes on"
    return scorer.score(talk.scenario, Trajectory(talk.messages, (), talk.stop))


def words_of(action: Action) -> str:
    """What a reply does, in words."""
    match action:
        case Ask():
            return f"asks: {action.question}"
        case Act():
            given = ", ".join(f"{name} {value}" for name, value in action.arguments.items())
            return f"acts: {action.name} {given}".strip()
        case Answer():
            return f"answers: {action.text}"
        case Refuse():
            return f"refuses: {action.reason}"
        case Confirm():
            return f"asks for a yes before: {action.name} {action.target}"
        case Invalid():
            return f"breaks the protocol: {action.reason}"


def chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as a chat shows them, the system prompt left out."""
    return [{"role": m.role, "content": m.content} for m in messages if m.role != "system"]


def _over(stage: Stage, talk: Talk) -> StopReason | None:
    if talk.scenario is None:
        most = getattr(stage.env, "MAX_TURNS", MAX_TURNS)
        asked = isinstance(stage.env.parse(talk.messages[-1].content), Ask)
        return None if asked and talk.replies < most else StopReason.END
    return StopReason.END if stage.env.step(talk.scenario, talk.messages) is None else None
