"""A language model as the user: it words what the simulated user says, and tells nothing else.

What the user understands, tells, refuses and takes back is decided by `askfirst.clarify.user`, so that an episode has
the same record, and the same score, whoever words it. The model is given the answer and may put it in its own words. An
answer in which the told values cannot be read any more, or that holds another value of the same keys, is thrown away,
and the simulated user's own words stand; `Voiced.kept` and `Voiced.thrown` count both.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from askfirst.clarify.episode import follow, said_next, spoken
from askfirst.clarify.families import FAMILIES
from askfirst.clarify.family import plain
from askfirst.clarify.problem import hidden_of
from askfirst.policy import Policy, SampleRequest, Sampling
from askfirst.store import seed_from
from askfirst.values import Message, Scenario

LONGEST = 80  # tokens of an answer
TASK = (
    "you play somebody who has asked an assistant for help and was asked a question. "
    "say the given answer in your own words. add no facts. reply with the answer alone."
)


class Voiced:
    """Environment `clarify` whose user is worded by a policy; everything else is that of the environment."""

    def __init__(self, env: ModuleType, policy: Policy, seed: int = 0) -> None:
        self._env, self._policy, self._seed = env, policy, seed
        self.kept = self.thrown = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._env, name)

    def step(self, scenario: Scenario, messages: Sequence[Message]) -> Message | None:
        """What the user says, in the policy's words where these can be read; None where the episode is over."""
        said = spoken(messages)
        own = said_next(scenario, said)
        if own is None:
            return None
        asked, before = follow(scenario, said).asked, follow(scenario, said[:-1]).asked
        values = dict(asked[-1].told) if len(asked) > len(before) else {}
        if not values:  # a refusal, or the task again
            return Message("user", own)
        answer, _, left = own.rpartition("\n")
        words = self._words(scenario, answer, len(said))
        readable = _tells(scenario, words, values)
        self.kept, self.thrown = self.kept + readable, self.thrown + (not readable)
        return Message("user", f"{words if readable else answer}\n{left}")

    def _words(self, scenario: Scenario, answer: str, turn: int) -> str:
        chat = (Message("system", TASK), Message("user", answer))
        seed = seed_from("voice", self._seed, scenario.id, turn)
        request = SampleRequest(self._policy.encode(chat), (seed,))
        [[completion]] = self._policy.sample([request], Sampling(LONGEST))
        return " ".join(self._policy.decode(completion.token_ids).split())


def _tells(scenario: Scenario, words: str, told: dict[str, str]) -> bool:
    """Whether a text says every told value in some way, and no other value of any key of the task."""
    family = FAMILIES[hidden_of(scenario).problem.family]
    text = f" {plain(words)} "
    for one in family.fields:
        said = {value for value in one.values if any(f" {plain(way)} " in text for way in (value, *one.ways(value)))}
        if said != ({told[one.name]} if one.name in told else set()):
            return False
    return True
