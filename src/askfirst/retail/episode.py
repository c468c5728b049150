"""What an episode comes to: the calls of the policy followed one by one on a database of its own.

What tools and user said is worked out anew: what stands in a transcript as a result or an answer proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from askfirst.calls import ASK, CallError
from askfirst.replies import SAID
from askfirst.retail import published, tools, user, wordings
from askfirst.retail.calls import CONFIRM, TELL, Call, parse_call
from askfirst.retail.database import Database
from askfirst.retail.task import Hidden, hidden_of
from askfirst.values import Scenario, StopReason, Trajectory

# How an episode ends: the user has all that was wanted, or has waited in vain; a human takes over; or it breaks off.
SERVED, LEFT, TRANSFERRED = "served", "left", "transferred"
PARSE_ERROR, OVERFLOW, TURNS, UNFINISHED = "unparsable", "overflow", "turns", "unfinished"


@dataclass(frozen=True, slots=True)
class Turn:
    """A call and what came of it. `slots`: what a question is about. `wanted`: the number of the wanted write that it
    confirms or makes. `wrote`: the database was changed."""

    call: Call
    said: str
    slots: tuple[str, ...] = ()
    wanted: int | None = None
    wrote: bool = False

    @property
    def failed(self) -> bool:
        """Whether a tool refused."""
        return self.said.startswith("Error")


@dataclass(frozen=True, slots=True)
class Record:
    """An episode: its turns, how it ended, and whether the published reward pays it, which sees no episode that the
    user or a transfer did not end."""

    turns: tuple[Turn, ...] = ()
    ending: str = UNFINISHED
    paid: bool = False

    @property
    def told(self) -> tuple[str, ...]:
        """What the user heard, in whatever call."""
        return _heard(self.turns)


@dataclass(slots=True)
class _Play:
    """An episode under way."""

    hidden: Hidden
    database: Database
    turns: list[Turn] = field(default_factory=list)
    ending: str = UNFINISHED

    @property
    def told(self) -> tuple[str, ...]:
        """What the user has heard."""
        return _heard(self.turns)

    @property
    def done(self) -> list[int]:
        """The wanted writes that were made."""
        return [turn.wanted for turn in self.turns if turn.wrote and turn.wanted is not None]

    def take(self, text: str) -> None:
        """Follow one reply."""
        try:
            call = parse_call(text)
        except CallError:
            self.ending = PARSE_ERROR
            return
        turn = {ASK: self._asked, CONFIRM: self._confirmed, TELL: self._told}.get(call.name, self._called)(call)
        self.turns.append(turn)
        if call.name == TELL and not self.hidden.simulated:
            self.ending = self.after_news()

    def _asked(self, call: Call) -> Turn:
        slots = user.about(self.hidden, call.arguments["question"])
        return Turn(call, user.answer(self.hidden, slots), slots)

    def _confirmed(self, call: Call) -> Turn:
        wanted = user.wants(self.hidden, call.arguments["action"], call.arguments["arguments"], self.done)
        return Turn(call, wordings.NO if wanted is None else wordings.YES, (), wanted)

    def _told(self, call: Call) -> Turn:
        return Turn(call, wordings.WAITING)

    def _called(self, call: Call) -> Turn:
        kind = tools.TOOLS[call.name].kind
        wanted = user.wants(self.hidden, call.name, call.arguments, self.done)
        said = tools.call(self.database, call.name, call.arguments)
        turn = Turn(call, said, (), wanted)
        if kind is tools.Kind.END and not turn.failed:
            self.ending = TRANSFERRED
        return replace(turn, wrote=kind is tools.Kind.WRITE and not turn.failed)

    def after_news(self) -> str:
        """The user leaves where all is done, or after waiting too often; a model by itself."""
        missing = len(self.hidden.wanted) - len(self.done)
        if not self.hidden.beyond and not missing and user.informed(self.hidden, self.told):
            return SERVED
        if self.hidden.simulated:
            return LEFT
        waited = sum(turn.call.name == TELL for turn in self.turns)
        return LEFT if waited >= user.PATIENCE else UNFINISHED


def follow(scenario: Scenario, texts: Sequence[str]) -> Record:
    """The record after the policy has said `texts`, one a turn."""
    return _follow(scenario, tuple(texts), False)


@lru_cache(maxsize=4096)
def _follow(scenario: Scenario, texts: tuple[str, ...], left: bool) -> Record:
    """`left`: the episode was over with the last text."""
    hidden = hidden_of(scenario)
    play = _Play(hidden, Database(hidden.world))
    for number, text in enumerate(texts, start=1):
        play.take(text)
        if play.ending != UNFINISHED:
            break
        if number >= hidden.turns:
            play.ending = TURNS
            break
    if left and play.ending == UNFINISHED and hidden.simulated:
        play.ending = play.after_news()
    scored = play.ending in (SERVED, LEFT, TRANSFERRED)
    paid = published.judge(hidden.task, play.database, play.told).reward if scored else 0.0
    return Record(tuple(play.turns), play.ending, bool(paid))


def recorded(scenario: Scenario, trajectory: Trajectory) -> Record:
    """The record of a trajectory; one that was cut off before its end has overflowed."""
    left = trajectory.stop is not StopReason.LENGTH  # where the user decides when
    said = tuple(message.content for message in trajectory.messages if message.role == "assistant")
    record = _follow(scenario, said, left)
    cut = trajectory.stop is StopReason.LENGTH and record.ending in (PARSE_ERROR, UNFINISHED)
    return replace(record, ending=OVERFLOW) if cut else record


def said_next(scenario: Scenario, texts: Sequence[str]) -> str | None:
    """What the policy is told after it has said `texts`, at least one; None where the episode is over."""
    record = follow(scenario, texts)
    if record.ending != UNFINISHED:
        return None
    last = record.turns[-1]
    if last.call.name not in tools.TOOLS:
        return f"{SAID}{last.said}"
    return last.said if hidden_of(scenario).published else brief(last)


def brief(turn: Turn) -> str:
    """The answer of a tool without what nobody needs: of a change its status alone, of records the fields in use."""
    if turn.failed or not turn.said.startswith("{"):
        return turn.said
    record: Mapping[str, Any] = json.loads(turn.said)
    if turn.wrote:
        return f"done: {record['status']}" if "status" in record else "done"
    return json.dumps(_shortened(turn.call.name, record))


def _shortened(name: str, record: Mapping[str, Any]) -> Any:
    if name == "get_user_details":
        return {"payment_methods": list(record["payment_methods"]), "orders": record["orders"]}
    if name == "get_order_details":
        names = ("name", "product_id", "item_id")
        items = [[*(item[name] for name in names), *item["options"].values()] for item in record["items"]]
        paid = [[entry["amount"], entry["payment_method_id"]] for entry in record["payment_history"]]
        return {"status": record["status"], "items": items, "paid": paid}
    if name == "get_product_details":
        return {item: [*each["options"].values(), each["available"]] for item, each in record["variants"].items()}
    return record


def _heard(turns: Sequence[Turn]) -> tuple[str, ...]:
    """What the user hears in calls: questions, news, and the calls that are to be confirmed, word for word."""
    words = {ASK: "question", TELL: "text"}
    spoken = [turn.call for turn in turns if turn.call.name in (*words, CONFIRM)]
    return tuple(str(call.arguments[words[call.name]]) if call.name in words else call.text() for call in spoken)
