"""What a plan takes on a machine that is not here: tokens, time and memory from declared rates.

Decode tokens are exact, given the lengths; everything in seconds is as good as the declared rates.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from askfirst import plugins
from askfirst.credit import TEACHER
from askfirst.errors import InputError
from askfirst.plan import Plan, resolved
from askfirst.sections import Section

GIB = 2**30
BACKWARD = 3.0  # forward and backward of a token, in forwards: the gradient costs two
ADAPTER_BYTES = 16  # of a trained weight: itself, its gradient and two moments, 4 bytes each
TABLE = (4, 8)  # group sizes that the table of one prompt shows


class Machine(Section):
    """Rates in tokens a second. In training, decoding reaches `training_decode_share` of its rate, from least to most.

    `update_tokens_per_second`, of forward and backward together, is a third of the prefill rate where it is not given.
    """

    name: str
    decode_tokens_per_second: float = Field(gt=0)
    prefill_tokens_per_second: float = Field(gt=0)
    update_tokens_per_second: float | None = Field(None, gt=0)
    training_decode_share: tuple[float, float] = (1.0, 1.0)
    memory_gib: float = Field(gt=0)

    @model_validator(mode="after")
    def _shares(self) -> Machine:
        low, high = self.training_decode_share
        if not 0 < low <= high <= 1:
            raise ValueError(f"training_decode_share must be two numbers 0 < low ≤ high ≤ 1, found {low}, {high}")
        return self


class Weights(Section):
    """The model: its number of weights and of trained ones, and bytes of a weight and of a token's keys and values."""

    parameters: float = Field(gt=0)
    bytes_per_parameter: float = Field(2.0, gt=0)
    adapter_parameters: float = Field(0.0, ge=0)
    kv_bytes_per_token: float = Field(0.0, ge=0)


class Lengths(Section):
    """Tokens of a prompt and of a reply; replies by default as long as the plan lets them be."""

    prompt_tokens: int = Field(ge=1)
    response_tokens: int | None = Field(None, ge=1)


class Hardware(Section):
    """A machine, the model on it, and how long its texts are."""

    machine: Machine
    model: Weights
    lengths: Lengths


@dataclass(frozen=True, slots=True)
class Work:
    """Tokens of a piece of work: decoded, read as prompts, and trained on."""

    decoded: int
    prefilled: int
    trained: int = 0


@dataclass(frozen=True, slots=True)
class Seconds:
    """Decoding at the full rate, and at the most and the least share of it that training reaches; the rest."""

    full: float
    fast: float
    slow: float
    rest: float


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a plan by name, with its work and its time."""

    name: str
    work: Work
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class Budget:
    """A plan on a machine. `memory` in bytes: weights, trained weights, keys and values of a group."""

    response_tokens: int
    groups: tuple[Phase, ...]
    phases: tuple[Phase, ...]
    memory: tuple[float, float, float]

    @property
    def wall_seconds(self) -> tuple[float, float]:
        """All phases, from the most to the least share of the decode rate."""
        rest = sum(p.seconds.rest for p in self.phases)
        return sum(p.seconds.fast for p in self.phases) + rest, sum(p.seconds.slow for p in self.phases) + rest


def load(path: Path) -> Hardware:
    """The hardware in a TOML file. Raises InputError, naming file and field."""
    try:
        return Hardware.model_validate(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", where=str(path)) from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "hardware"
        raise InputError(f"{field}: {first['msg'].removeprefix('Value error, ')}", where=str(path)) from error
    except ValueError as error:
        raise InputError(f"does not parse: {error}", where=str(path)) from error


def sampled(groups: int, size: int, prompt: int, response: int) -> Work:
    """Groups of `size` replies to one prompt each, which is read once a group."""
    return Work(decoded=groups * size * response, prefilled=groups * prompt)


def seconds(work: Work, machine: Machine) -> Seconds:
    """How long the work takes on a machine."""
    low, high = machine.training_decode_share
    full = work.decoded / machine.decode_tokens_per_second
    update_rate = machine.update_tokens_per_second or machine.prefill_tokens_per_second / BACKWARD
    rest = work.prefilled / machine.prefill_tokens_per_second + work.trained / update_rate
    return Seconds(full, full / high, full / low, rest)


def budget(plan: Plan, hardware: Hardware) -> Budget:
    """What the plan takes: a group of one prompt by size, then training, dev and sealed evaluation of all variants."""
    prompt = hardware.lengths.prompt_tokens
    response = hardware.lengths.response_tokens or plan.train.sampling.max_tokens

    def phase(name: str, work: Work) -> Phase:
        return Phase(name, work, seconds(work, hardware.machine))

    decoded = prefilled = trained = dev = 0
    seeds, size = len(plan.matrix.seeds), plan.train.group_size
    for own in resolved(plan).values():
        train = own.train
        work = sampled(seeds * train.steps * train.scenarios_per_step, train.group_size, prompt, response)
        decoded, prefilled = decoded + work.decoded, prefilled + work.prefilled
        rows = seeds * train.steps * train.scenarios_per_step * train.group_size
        trained += rows * (prompt + response) * train.optimiser.epochs
        if TEACHER in plugins.load("advantages", train.advantage).NEEDS:  # it and the policy read every rollout
            prefilled += 2 * rows * (prompt + response)
        dev += seeds * -(-train.steps // own.evaluation.every) * own.evaluation.dev_items
        size = max(size, train.group_size)
    demonstrations = seeds * plan.warmstart.steps * plan.warmstart.batch if plan.warmstart else 0
    phases = [
        phase("warm start", Work(0, 0, demonstrations * (prompt + response))),
        phase("training", Work(decoded, prefilled, trained)),
        phase("dev evaluations", sampled(dev + plan.evaluation.dev_items, 1, prompt, response)),
        phase("sealed evaluation", sampled(2 * plan.evaluation.sealed_items, 1, prompt, response)),
    ]
    weights = hardware.model
    return Budget(
        response_tokens=response,
        groups=tuple(phase(f"one prompt, G = {g}", sampled(1, g, prompt, response)) for g in sorted({*TABLE, size})),
        phases=tuple(p for p in phases if p.work != Work(0, 0)),
        memory=(
            weights.parameters * weights.bytes_per_parameter,
            weights.adapter_parameters * ADAPTER_BYTES,
            size * (prompt + response) * weights.kv_bytes_per_token,
        ),
    )
