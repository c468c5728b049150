"""What an executor reports of a registered experiment. Nothing here is attested by anybody else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from askfirst.errors import InputError
from askfirst.registered.document import LOSS_CHECKS
from askfirst.sections import Section
from askfirst.store import read_json
from askfirst.values import FrozenMap


class Measured(Section):
    """How far a value or gradient is from its reference: the largest difference, the reference's size, the cosine."""

    max_abs_error: float = Field(ge=0)
    reference_scale: float = Field(ge=0)
    cosine: float | None = Field(None, ge=-1, le=1)


class PathEvidence(Section):
    """What was compared on a fixed batch for one loss path; empty where it was not recorded."""

    fixed_input: str = ""
    reference_revision: str = ""
    baseline_revision: str = ""
    implementation_revision: str = ""
    precision: str = ""
    normalization: str = ""
    measured: Mapping[str, Measured] = FrozenMap()

    @model_validator(mode="after")
    def _known(self) -> PathEvidence:
        if strange := sorted(set(self.measured) - set(LOSS_CHECKS)):
            raise ValueError(f"measured {strange[0]!r} is none of {', '.join(LOSS_CHECKS)}")
        return self


class Start(Section):
    """How an arm started: the hash of its adapter, or a shared checkpoint with an acknowledged load; its logprobs on
    the fixed batch; the optimiser that it reports."""

    name: str
    adapter_sha256: str = ""
    checkpoint: str = ""
    load_acknowledged: bool = False
    batch_sha256: str = ""
    logprobs: tuple[float, ...] = ()
    optimizer: str = ""
    optimizer_config: Mapping[str, float | int | str] = FrozenMap()


class Provenance(Section):
    """The starts of all arms."""

    version: Literal[1]
    arms: tuple[Start, ...]


class Item(Section):
    """The measurements of one evaluation item, a value for each trial and role; `cluster` is its user or template."""

    item: str = Field(min_length=1)
    cluster: str = ""
    treatment: tuple[float, ...] = Field(min_length=1)
    baseline: tuple[float, ...] = ()


class Audit(Section):
    """What a reader found in a sample of generated training data."""

    sample_size: int = Field(ge=0)
    label_errors: int = Field(ge=0)
    eval_overlaps: int = Field(ge=0)


class Phase(Section):
    """What a phase took; None where it was not measured."""

    wall_seconds: float | None = Field(None, ge=0)
    gpu_hours: float | None = Field(None, ge=0)


class Evidence(Section):
    """All that was reported; the default is nothing. `ended_reason` is `completed` or why the execution ended."""

    version: Literal[1] = 1
    ended_reason: str = ""
    correctness: Mapping[str, PathEvidence] = FrozenMap()
    initialization_provenance: Provenance | None = None
    activation: Mapping[str, float | str] = FrozenMap()
    generation_audit: Audit | None = None
    decision: Mapping[str, tuple[Item, ...]] = FrozenMap()
    phases: Mapping[str, Phase] = FrozenMap()


def load(path: Path) -> Evidence:
    """The evidence in a JSON file. Raises InputError, naming file and field."""
    return validate(read_json(path), str(path))


def validate(document: Mapping[str, Any], where: str) -> Evidence:
    """The evidence of a document. Raises InputError, naming the field."""
    try:
        return Evidence.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "evidence"
        raise InputError(f"{field}: {first['msg']}", where=where) from error
