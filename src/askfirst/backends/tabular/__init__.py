"""A policy that learns in seconds with numpy alone: the smoke trainer, and the fake that plugin authors get.

It chooses one of a fixed set of strategies, a softmax over hashed facts of the request, and words the reply by rule.
The choice is the first sampled token and carries the whole logprob; the tokens after it follow from it with
probability 1, so their logprob is exactly 0 and they have no gradient. Gradients are exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askfirst.backends._text import END, FIRST_FREE, chat, continued, messages_of, pack, unpack
from askfirst.backends.tabular._features import COLUMNS, columns, facts_of
from askfirst.backends.tabular._learner import AdamW, log_softmax, logits
from askfirst.backends.tabular._request import Request, read
from askfirst.backends.tabular._strategies import NAMES, habits, nearest, render
from askfirst.errors import BackendFault, InputError, ModelError
from askfirst.policy import (
    Completion,
    ModelSpec,
    Objective,
    SampleRequest,
    Sampling,
    StepSettings,
    Teacher,
    UpdateResult,
)
from askfirst.store import generator, read_json, write_bytes, write_json
from askfirst.values import Floats, Message, Row, StopReason

SHAPE = (len(NAMES), COLUMNS + 1)
CACHED_PROMPTS = 4096
TEACHER_FILE = "teacher.f64"


@dataclass(frozen=True, slots=True)
class _Prompt:
    """A request, its columns, and the logits (K,) of the untrained policy, which training adds to."""

    request: Request
    columns: NDArray[np.intp]
    habits: Floats

    def log_chances(self, weights: Floats) -> Floats:
        """Log probability of each strategy, shape (K,)."""
        return log_softmax(self.habits + logits(weights, self.columns))


@dataclass(frozen=True, slots=True)
class _Choice:
    """A strategy token in a row: where it stands, which strategy it is, and the prompt before it."""

    place: int
    strategy: int
    prompt: _Prompt


class Tabular:
    """A Policy over strategies; see the module's text."""

    name = "tabular"
    trainable_parameters = SHAPE[0] * SHAPE[1]
    logprob_tolerance = 1e-12

    def __init__(self) -> None:
        self._weights = np.zeros(SHAPE)
        self._reference = self._weights.copy()
        self._average: Floats | None = None  # that of the teacher; the reference where there is none
        self._optimiser = AdamW(SHAPE)
        self._prompts: dict[bytes, _Prompt] = {}

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of a chat, six bytes each, ready for a strategy token."""
        return chat(messages)

    def encode_next(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Tokens of what was said since the last reply, ready for the next one."""
        return continued(messages)

    def encode_reply(self, text: str) -> tuple[int, ...]:
        """The strategy nearest to a reply, then the reply's own text and the end token.

        A demonstration thus teaches the choice of strategy and nothing about wording. Raises BackendFault for text
        that is no reply of the protocol.
        """
        return (FIRST_FREE + NAMES.index(nearest(text)), *pack(text), END)

    def decode(self, token_ids: Sequence[int]) -> str:
        """Text of reply tokens, without strategy and end."""
        return unpack(token_ids)

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, keep: bool = False
    ) -> list[list[Completion]]:
        """A completion for each seed, by inverse CDF of the strategy's probability.

        Logprobs are those of the policy at temperature 1, whatever the sampling temperature.
        """
        return [self._sample(request, sampling) for request in requests]

    def logprobs(self, rows: Sequence[Row], reference: bool = False) -> list[Floats]:
        """Logprobs (T,): the strategy's at its token, 0 elsewhere."""
        weights = self._reference if reference else self._weights
        return [self._row_logprobs(row, weights)[0] for row in rows]

    def teacher_logprobs(self, rows: Sequence[Row], teacher: Teacher) -> list[Floats]:
        """The same of a teacher: strategies come from a softmax of logits, so that to mix logits is to mix weights."""
        match teacher.kind:
            case "frozen":
                weights = self._reference
            case "live":
                weights = self._weights
            case "ema":
                weights = self._reference if self._average is None else self._average
            case "trust_region":
                weights = self._reference + teacher.rate * (self._weights - self._reference)
        return [self._row_logprobs(row, weights)[0] for row in rows]

    def follow(self, rate: float) -> None:
        """Move the average teacher's weights `rate` of the way to the policy's."""
        average = self._reference if self._average is None else self._average
        self._average = average + rate * (self._weights - average)

    def update(self, rows: Sequence[Row], objective: Objective, settings: StepSettings) -> UpdateResult:
        """One AdamW step on Σ objective over the rows."""
        gradient = np.zeros(SHAPE)
        value, found = 0.0, []
        for index, row in enumerate(rows):
            logprobs, choices = self._row_logprobs(row, self._weights)
            row_value, slope = objective(index, logprobs)
            value += row_value
            found.append(logprobs)
            for choice in choices:
                chance = np.exp(choice.prompt.log_chances(self._weights))  # (K,)
                chance[choice.strategy] -= 1.0  # d logprob / d logits = one-hot − chance
                gradient[:, choice.prompt.columns] -= slope[choice.place] * chance[:, None]
        if not np.isfinite(gradient).all():
            raise BackendFault("the objective has a derivative that is not finite", where=self.name)
        norm = self._optimiser.step(self._weights, gradient, settings)
        return UpdateResult(value, norm, tuple(found))

    @property
    def optimiser_settings(self) -> tuple[float, float] | None:
        """Learning rate and weight decay of the last step; None before one."""
        return self._optimiser.last

    def footprint(self, prompts: Sequence[tuple[int, ...]], copies: int, new: int) -> None:
        """Too little to matter."""

    def anchor(self) -> None:
        """Make the policy as it stands the reference, and start the optimiser afresh."""
        self._reference, self._average = self._weights.copy(), None
        self._optimiser = AdamW(SHAPE)

    def save(self, folder: Path) -> None:
        """Write weights, reference and optimiser moments as little-endian float64, and what they are as JSON; the
        average teacher, where there is one, likewise.
        """
        moments = self._optimiser.first, self._optimiser.second
        stack = np.stack([self._weights, self._reference, *moments])  # (4, K, D + 1)
        write_bytes(folder / "tabular.f64", stack.astype("<f8").tobytes())
        header = {"version": 1, "strategies": NAMES, "columns": COLUMNS, "steps": self._optimiser.steps}
        write_json(folder / "tabular.json", header)
        if self._average is not None:
            write_bytes(folder / TEACHER_FILE, self._average.astype("<f8").tobytes())

    def load(self, folder: Path) -> None:
        """Read back what `save` wrote. Raises ModelError for missing files or another set of strategies."""
        try:
            header = read_json(folder / "tabular.json")
            body = (folder / "tabular.f64").read_bytes()
            average = (folder / TEACHER_FILE).read_bytes() if (folder / TEACHER_FILE).exists() else None
        except (InputError, OSError) as error:
            raise ModelError(f"not a tabular checkpoint: {error}", where=str(folder)) from error
        expected = {"version": 1, "strategies": list(NAMES), "columns": COLUMNS}
        if not isinstance(header, dict) or {k: header.get(k) for k in expected} != expected:
            raise ModelError("a tabular checkpoint of another version or set of strategies", where=str(folder))
        if len(body) != 4 * SHAPE[0] * SHAPE[1] * 8:
            raise ModelError(f"tabular.f64 has {len(body)} bytes, not four arrays of shape {SHAPE}", where=str(folder))
        if average is not None and len(average) != SHAPE[0] * SHAPE[1] * 8:
            raise ModelError(
                f"{TEACHER_FILE} has {len(average)} bytes, not an array of shape {SHAPE}", where=str(folder)
            )
        self._average = (
            None if average is None else np.frombuffer(average, dtype="<f8").reshape(SHAPE).astype(np.float64)
        )
        stack = np.frombuffer(body, dtype="<f8").reshape(4, *SHAPE).astype(np.float64)
        self._weights, self._reference = stack[0].copy(), stack[1].copy()
        self._optimiser = AdamW(SHAPE, int(header["steps"]))
        self._optimiser.first, self._optimiser.second = stack[2].copy(), stack[3].copy()

    def fingerprint(self) -> str:
        """sha256 over the weights, little-endian float64 in row order."""
        return hashlib.sha256(self._weights.astype("<f8").tobytes()).hexdigest()

    def wording(self, strategy: str, request: Request) -> str:
        """What a strategy says to a request; a subclass may word it otherwise."""
        return render(strategy, request)

    def _sample(self, request: SampleRequest, sampling: Sampling) -> list[Completion]:
        prompt = self._prompt(np.array(request.prompt_ids, dtype=np.int64))
        logprobs = prompt.log_chances(self._weights)
        chances = _chances(logprobs, sampling.temperature)
        return [self._speak(prompt, _draw(chances, seed), logprobs, sampling.max_tokens) for seed in request.seeds]

    def _speak(self, prompt: _Prompt, strategy: int, logprobs: Floats, max_tokens: int) -> Completion:
        ids = (FIRST_FREE + strategy, *pack(self.wording(NAMES[strategy], prompt.request)), END)
        kept = ids[:max_tokens]
        stop = StopReason.END if len(kept) == len(ids) else StopReason.LENGTH
        return Completion(kept, (float(logprobs[strategy]), *(0.0,) * (len(kept) - 1)), stop)

    def _row_logprobs(self, row: Row, weights: Floats) -> tuple[Floats, list[_Choice]]:
        choices = list(self._choices(row))
        found = np.zeros(row.mask.shape)  # (T,)
        for choice in choices:
            found[choice.place] = choice.prompt.log_chances(weights)[choice.strategy]
        return found, choices

    def _choices(self, row: Row) -> Iterator[_Choice]:
        marks = row.mask & (row.token_ids >= FIRST_FREE) & (row.token_ids < FIRST_FREE + len(NAMES))
        for place in np.flatnonzero(marks):
            strategy = int(row.token_ids[place]) - FIRST_FREE
            yield _Choice(int(place), strategy, self._prompt(row.token_ids[:place]))

    def _prompt(self, ids: NDArray[np.int64]) -> _Prompt:
        """The request that the tokens spell, read once: rows of a group share their prompt."""
        key = hashlib.sha256(ids.tobytes()).digest()
        if key not in self._prompts:
            if len(self._prompts) >= CACHED_PROMPTS:
                self._prompts.clear()
            request = read(messages_of(ids.tolist()))
            facts = facts_of(request)
            self._prompts[key] = _Prompt(request, columns(facts), habits(facts, request.shown))
        return self._prompts[key]


def open_policy(spec: ModelSpec, seed: int) -> Tabular:
    """A fresh tabular policy. Its initial weights are fixed, so the seed has no effect.

    Raises ModelError for any name but "tabular".
    """
    if spec.name != "tabular":
        raise ModelError(f"backend tabular has no model {spec.name!r}", hint='set model.name = "tabular"')
    return Tabular()


def _chances(logprobs: Floats, temperature: float) -> Floats:
    """Probabilities (K,) at a temperature; all on the likeliest at 0."""
    if temperature == 0:
        return np.asarray(np.arange(len(logprobs)) == np.argmax(logprobs), dtype=np.float64)
    scaled = np.exp((logprobs - logprobs.max()) / temperature)
    return np.asarray(scaled / scaled.sum(), dtype=np.float64)


def _draw(chances: Floats, seed: int) -> int:
    """A strategy by inverse CDF; the last one where rounding leaves the CDF short of the draw."""
    point = generator("tabular", seed).random()
    return min(int(np.searchsorted(np.cumsum(chances), point, side="right")), len(chances) - 1)
