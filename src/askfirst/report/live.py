"""What a run is at, from its records alone: finished, under way, or cut off at any point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from askfirst.errors import InputError
from askfirst.plan import resolved, validate
from askfirst.reading import require_run
from askfirst.report.figures import reach
from askfirst.report.picture import sentence
from askfirst.report.watching import warnings
from askfirst.runfolder import RunFolder, VariantFolder, variant_name, variant_parts
from askfirst.store import read_json, read_lines

RECENT = 5  # steps that speed and time left are taken from
POINTS = 60  # of a curve
# Name, where it lies in a step record, and whether it is a share, which is drawn between 0 and 1.
CURVES = (
    ("reward", "reward", False),
    ("strict pass", "strict_pass", True),
    ("asks when unclear", "strata.all_ambiguous.ask_rate", True),
    ("asks when clear", "strata.all_clear.ask_rate", True),
    ("informative", "informative_fraction", True),
)
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure over the steps of a variant, thinned to at most POINTS means; `share` says that it lies in 0 to 1."""

    name: str
    share: bool
    points: tuple[float, ...]
    last: float


@dataclass(frozen=True, slots=True)
class Progress:
    """A variant. `state` is waiting, training or finished; `seconds_left` is None where nothing tells it.

    `dev` is what its last checkpoint came to; `alarms` are the monitors out of bounds at its last step.
    """

    name: str
    state: str
    step: int
    steps: int
    seconds: float
    seconds_left: float | None
    tokens_per_second: float
    curves: tuple[Curve, ...]
    dev: Mapping[str, float]
    alarms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """All that a watcher shows. `seconds_left` is None where it is not known; `quiet_seconds` have passed since the
    last record. `cost` is in the currency of the plan's price per hour, None where it names none."""

    version: int
    title: str
    phase: str
    finished: bool
    step: int
    steps: int
    seconds_left: float | None
    quiet_seconds: float
    tokens_per_second: float
    cost: float | None
    gates: tuple[Record, ...]
    warnings: tuple[Record, ...]
    variants: tuple[Progress, ...]
    rollout: Record | None
    decision: str
    sentence: str


@dataclass(slots=True)
class Watched:
    """A run folder under watch. What did not change since the last look is not read again."""

    run: RunFolder
    plan: Record
    steps: Mapping[str, int]  # variant → of its plan
    _read: dict[Path, tuple[tuple[int, int], Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> Watched:
        """Raises InputError for what is no run folder."""
        run = RunFolder(folder)
        document = require_run(run)["plan"]
        plan = validate(document, str(run.lock))
        points = resolved(plan).items()
        steps = {variant_name(name, seed): own.train.steps for name, own in points for seed in plan.matrix.seeds}
        return cls(run, document, steps)

    def frame(self, now: float) -> Frame:
        """The run as it stands; `now` is in seconds since the epoch. Raises InputError for a spoilt record."""
        raw = [self._variant(name) for name in self.steps]
        try:
            variants = tuple(_progress(each, self.steps[each["name"]]) for each in raw)
        except (AttributeError, KeyError, TypeError) as error:
            wrong = f"not the records of a variant: {type(error).__name__} {error}"
            raise InputError(wrong, where=str(self.run.root)) from error
        gates = tuple((self._json(self.run.gates) or {"results": ()})["results"])
        verdict = self._json(self.run.verdict)
        openings = sum(line.get("event") == "sealed_opened" for line in self._lines(self.run.ledger))
        active = [v for v in variants if v.state == "training"]
        price = float(self.plan["budget"]["price_per_hour"])
        return Frame(
            version=1,
            title=self.plan["title"],
            phase=self._phase(gates, variants),
            finished=verdict is not None,
            step=sum(v.step for v in variants),
            steps=sum(v.steps for v in variants),
            seconds_left=None if verdict else _left(variants),
            quiet_seconds=max(0.0, now - self._newest()),
            tokens_per_second=sum(v.tokens_per_second for v in active),
            cost=sum(v.seconds for v in variants) / 3600 * price if price else None,
            gates=gates,
            warnings=tuple(warnings(self.plan, raw)),
            variants=variants,
            rollout=self._rollout(),
            decision=verdict["decision"] if verdict else "",
            sentence=sentence(verdict, openings),
        )

    def _phase(self, gates: Sequence[Record], variants: Sequence[Progress]) -> str:
        """The first thing that is not on record yet."""
        if self.run.verdict.is_file():
            return "finished"
        if any(gate["status"] not in ("passed", "not_applicable") for gate in gates):
            return "stopped by a gate"
        if not gates:
            return "gates before training"
        if not self.run.base_evaluation("dev").is_file():
            return "the base model on dev"
        if not all(v.state == "finished" for v in variants):
            begun = any(v.step for v in variants)
            return "training" if begun or not (self.run.root / "warmstart").is_dir() else "warm start"
        return "the sealed split" if self.run.selected.is_file() else "selection"

    def _variant(self, name: str) -> dict[str, Any]:
        folder = VariantFolder(self.run.root / name)
        return {
            "name": name,
            "arm": variant_parts(name)[0],
            "finished": folder.run.is_file(),
            "steps": self._lines(folder.metrics),
            "checkpoints": (self._json(folder.manifest) or {"entries": []})["entries"],
        }

    def _rollout(self) -> Record | None:
        """The last rollout of the variant that wrote its rollouts last."""
        paths = [VariantFolder(self.run.root / name).last_rollouts for name in self.steps]
        found = [(path.stat().st_mtime, path) for path in paths if path.is_file()]
        lines = self._lines(max(found)[1]) if found else []
        return lines[-1] if lines else None

    def _newest(self) -> float:
        """When the last record was written."""
        own = [VariantFolder(self.run.root / name) for name in self.steps]
        paths = [self.run.lock, self.run.gates, self.run.ledger, self.run.base_evaluation("dev")]
        paths += [path for each in own for path in (each.metrics, each.manifest, each.run)]
        return max(path.stat().st_mtime for path in paths if path.is_file())

    def _json(self, path: Path) -> Any:
        return self._known(path, read_json) if path.is_file() else None

    def _lines(self, path: Path) -> list[Any]:
        return list(self._known(path, lambda each: list(read_lines(each)))) if path.is_file() else []

    def _known(self, path: Path, read: Callable[[Path], Any]) -> Any:
        """What a file holds, from memory where it has not changed."""
        found = path.stat()
        signature = found.st_size, found.st_mtime_ns
        if self._read.get(path, ((-1, -1), None))[0] != signature:
            self._read[path] = signature, read(path)
        return self._read[path][1]


def _progress(variant: Record, steps: int) -> Progress:
    records = variant["steps"]
    recent = records[-RECENT:]
    seconds = sum(r["cost"]["seconds"] for r in recent)
    tokens = sum(r["cost"]["sampled_tokens"] + r["cost"]["trained_tokens"] for r in recent)
    step = int(records[-1]["step"]) if records else 0
    finished = variant["finished"]
    per_step = seconds / len(recent) if recent else None
    return Progress(
        name=variant["name"],
        state="finished" if finished else "training" if records else "waiting",
        step=step,
        steps=steps,
        seconds=sum(r["cost"]["seconds"] for r in records),
        seconds_left=0.0 if finished else None if per_step is None else per_step * (steps - step),
        tokens_per_second=tokens / seconds if seconds else 0.0,
        curves=tuple(curve for each in CURVES if (curve := _curve(*each, records)) is not None),
        dev=variant["checkpoints"][-1]["dev"] if variant["checkpoints"] else {},
        alarms=tuple(sorted(records[-1].get("alarms", ()))) if records else (),
    )


def _curve(name: str, path: str, share: bool, records: Iterable[Record]) -> Curve | None:
    values = [value for record in records if (value := reach(record, path)) is not None]
    if not values:
        return None
    size = -(-len(values) // POINTS)
    points = [values[i : i + size] for i in range(0, len(values), size)]
    return Curve(name, share, tuple(sum(part) / len(part) for part in points), values[-1])


def _left(variants: Sequence[Progress]) -> float | None:
    """Seconds of training left: those of all unfinished variants, shared by as many as train now.

    A variant that has not begun takes as long a step as the others did. Evaluations are not in it.
    """
    steps, seconds = sum(v.step for v in variants), sum(v.seconds for v in variants)
    if not steps:
        return None
    own = [v.seconds_left if v.seconds_left is not None else v.steps * seconds / steps for v in variants]
    return sum(own) / max(1, sum(v.state == "training" for v in variants))
