"""A policy that replays given replies: for tests, and to see what a reward or an environment makes of a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askfirst.backends._text import TextTokens, unpack
from askfirst.errors import BackendFault, ModelError
from askfirst.policy import Completion, ModelSpec, Objective, SampleRequest, Sampling, StepSettings, UpdateResult
from askfirst.store import content_hash, read_json, read_lines, write_json
from askfirst.values import Floats, Row, StopReason


@dataclass(frozen=True, slots=True)
class Line:
    """What to reply to a prompt that contains a text; an empty text is in every prompt."""

    contains: str
    reply: str


class Scripted(TextTokens):
    """A Policy of fixed replies: the first line whose `contains` is in the prompt speaks. Logprobs are 0."""

    name = "scripted"

    def __init__(self, lines: Sequence[Line]) -> None:
        if not lines:
            raise ModelError("a script needs at least one line", hint='{"contains": "", "reply": "..."}')
        self._lines = tuple(lines)

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, keep: bool = False
    ) -> list[list[Completion]]:
        """The scripted reply for each seed. Raises BackendFault for a prompt without a line."""
        return [[self._speak(r.prompt_ids, sampling.max_tokens)] * len(r.seeds) for r in requests]

    def logprobs(self, rows: Sequence[Row], reference: bool = False) -> list[Floats]:
        """Zeros, shape (T,) each: a script leaves nothing to chance."""
        return [np.zeros(row.mask.shape) for row in rows]

    def update(self, rows: Sequence[Row], objective: Objective, settings: StepSettings) -> UpdateResult:
        """Always raises BackendFault."""
        raise BackendFault("scripted cannot learn", hint="train with backend tabular or hf")

    def save(self, folder: Path) -> None:
        """Write the lines."""
        write_json(folder / "script.json", self._lines)

    def load(self, folder: Path) -> None:
        """Read back what `save` wrote."""
        self._lines = tuple(_line(item, str(folder / "script.json")) for item in read_json(folder / "script.json"))

    def fingerprint(self) -> str:
        """sha256 over the lines."""
        return content_hash(self._lines)

    def _speak(self, prompt_ids: Sequence[int], max_tokens: int) -> Completion:
        prompt = unpack(prompt_ids)
        reply = next((line.reply for line in self._lines if line.contains in prompt), None)
        if reply is None:
            raise BackendFault(
                f"no line of the script fits the prompt {prompt[-200:]!r}", hint='add a last line with contains ""'
            )
        ids = self.encode_reply(reply)
        stop = StopReason.END if len(ids) <= max_tokens else StopReason.LENGTH
        kept = ids[:max_tokens]
        return Completion(kept, (0.0,) * len(kept), stop)


def open_policy(spec: ModelSpec, seed: int) -> Scripted:
    """The script in the JSONL file `spec.name`, one {"contains": text, "reply": text} a line; the seed has no effect.

    Raises ModelError for a missing, empty or malformed file.
    """
    path = Path(spec.name)
    if not path.is_file():
        raise ModelError(
            f"no script at {spec.name!r}", hint="model.name is the path of a JSONL file of contains and reply"
        )
    return Scripted([_line(item, spec.name) for item in read_lines(path)])


def _line(item: object, where: str) -> Line:
    if (
        not isinstance(item, dict)
        or set(item) != {"contains", "reply"}
        or not all(isinstance(v, str) for v in item.values())
    ):
        raise ModelError(f"not a line of a script: {item!r}", where=where, hint='{"contains": text, "reply": text}')
    return Line(item["contains"], item["reply"])
