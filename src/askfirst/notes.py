"""What a teacher is shown beside a request, as text in its message, and how it is told from the request again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from askfirst.errors import EnvironmentFault
from askfirst.values import Message

BEGIN, END = "[notes]", "[end of notes]"
SOLVED = "A reply to this request that was right:"
FEEDBACK = "What was said about an earlier reply to it:"


@dataclass(frozen=True, slots=True)
class Notes:
    """Another rollout's reply that was right, and feedback on one's own; either may be empty."""

    solution: str = ""
    feedback: str = ""

    def __bool__(self) -> bool:
        return bool(self.solution or self.feedback)

    def text(self, closing: str) -> str:
        """The notes as they are shown, with `closing` behind them."""
        parts = [(SOLVED, self.solution), (FEEDBACK, self.feedback)]
        shown = [f"{head}\n{body}" for head, body in parts if body]
        return "\n".join([BEGIN, *shown, *([closing] if closing else []), END])


def shown(opening: Sequence[Message], notes: Notes, closing: str, *, before: bool) -> tuple[Message, ...]:
    """An opening whose last message has the notes before or after its text; without notes as it was.

    Raises EnvironmentFault where the last message is not the user's.
    """
    if not notes:
        return tuple(opening)
    *rest, last = opening
    if last.role != "user":
        raise EnvironmentFault(f"the opening ends with a message of the {last.role}, not of the user")
    parts = [notes.text(closing), last.content] if before else [last.content, notes.text(closing)]
    return (*rest, replace(last, content="\n\n".join(parts)))


def told(messages: Sequence[Message]) -> str:
    """What was said behind an opening, as notes show it: a reply, or a dialogue of several turns."""
    if len(messages) == 1:
        return messages[0].content
    return "\n".join(f"{message.role}: {message.content}" for message in messages)


def parted(content: str) -> tuple[str, str]:
    """A message's text without its notes, and the right reply that these show; empty where they show none."""
    head, begun, inner = content.partition(BEGIN)
    inner, ended, tail = inner.rpartition(END)
    if not (begun and ended):
        return content, ""
    solution = inner.partition(f"{SOLVED}\n")[2].partition(f"\n{FEEDBACK}\n")[0]
    return f"{head.strip()}\n{tail.strip()}".strip(), solution.partition("\n")[0]
