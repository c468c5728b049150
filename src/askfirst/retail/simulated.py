"""A user that a language model plays, by the published contract of such users.

The model sees what it is to want, and what the agent said to it, never a call of a tool or its answer. It begins in
answer to a fixed greeting, and ends the episode by a token. What a question was about, and whether a change was agreed
to, is judged by what the user wants and not by what the model says: a model that agrees to anything makes no evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askfirst.calls import ASK
from askfirst.errors import EnvironmentFault
from askfirst.policy import Policy, SampleRequest, Sampling
from askfirst.replies import SAID
from askfirst.retail.calls import CONFIRM, TELL, Call, parse_call
from askfirst.retail.published import STOP
from askfirst.store import seed_from
from askfirst.values import Message

GREETING = "Hi! How can I help you today?"
PROMPT = (
    "You are a customer who talks to a service agent. What you want and know:\n{instruction}\n"
    "Write one line at a time, as such a person would, in your own words. Say only what is needed now, not everything "
    "at once. Say nothing that is not given above; what you are asked and it does not tell, you do not know or do not "
    "remember. When you have what you wanted, write {stop} and nothing else."
)


@dataclass(frozen=True, slots=True)
class SimulatedUser:
    """A policy as the user. Every line is a function of what was said, and of `seed` where it is sampled."""

    policy: Policy
    sampling: Sampling
    seed: int = 0

    def line(self, instruction: str, dialogue: Sequence[Message]) -> str | None:
        """What the user says next; None where it leaves. `dialogue`: what agent (`assistant`) and user have said.

        Raises EnvironmentFault where the model says nothing: that is no answer of a user.
        """
        swapped = {"assistant": "user", "user": "assistant"}
        said = [Message(swapped[each.role], each.content) for each in dialogue]
        system = Message("system", PROMPT.format(instruction=instruction, stop=STOP))
        prompt = self.policy.encode((system, Message("user", GREETING), *said))
        seed = seed_from("simulated user", self.seed, instruction, *(each.content for each in dialogue))
        ((completion,),) = self.policy.sample([SampleRequest(prompt, (seed,))], self.sampling)
        text = self.policy.decode(completion.token_ids).strip()
        if not text:
            raise EnvironmentFault("the simulated user said nothing", where=f"line {len(dialogue) // 2 + 1}")
        return None if STOP in text else text


def dialogue_of(messages: Sequence[Message]) -> list[Message]:
    """What agent and user said to each other in an episode, without the tools."""
    found: list[Message] = []
    to_user = True  # who comes first is the user
    for message in messages:
        if message.role == "assistant":
            text = spoken(parse_call(message.content))
            to_user = bool(text)
            found += [Message("assistant", text)] if text else []
        elif message.role == "user" and to_user:
            found.append(Message("user", message.content.removeprefix(SAID)))
    return found


def spoken(call: Call) -> str:
    """What the user hears of a call; empty where that is nothing."""
    if call.name == CONFIRM:
        return f"Please confirm with yes or no: {call.arguments['action']} {dict(call.arguments['arguments'])}"
    return str(call.arguments.get({ASK: "question", TELL: "text"}.get(call.name, ""), ""))
