"""`askfirst check --pairs`: what a reward makes of preference pairs, in words and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst import plugins
from askfirst.contracts.pairs import Judged, PairsReport, judge
from askfirst.errors import AskfirstError
from askfirst.pairs import Pair, read_pairs

PairFiles = tuple[tuple[Path, tuple[Pair, ...]], ...]
LISTED = 10  # pairs of a kind, beside failing ones, that are listed for people; --json lists all


@dataclass(frozen=True, slots=True)
class PairsOf:
    """A file of pairs as one reward sees it; `fault` says why it could not score them."""

    path: Path
    reward: str
    report: PairsReport | None
    fault: str = ""

    @property
    def holds(self) -> bool:
        """Whether every pair was scored and none of them fails."""
        return self.report is not None and not self.report.failing

    def record(self) -> dict[str, Any]:
        """As JSON types."""
        found: dict[str, Any] = {"reward": self.reward, "file": str(self.path), "holds": self.holds}
        if self.report is None:
            return found | {"fault": self.fault}
        rate, count = self.report.rate, len(self.report.judged)
        return found | {
            "pairs": count,
            "held": count - len(self.report.failing),
            "rate": {"estimate": rate.estimate, "lower": rate.lower, "upper": rate.upper, "method": rate.method},
            "failing": [_record(each) for each in self.report.failing],
            "unpassed": [_record(each) for each in self.report.unpassed],
            "ties": [_record(each) for each in self.report.ties],
        }

    def lines(self) -> Iterator[str]:
        """As lines for people."""
        mark = "✓" if self.holds else "✗"
        where = f"{mark} rewards/{self.reward} on {self.path.name}:"
        if self.report is None:
            yield f"{where} {self.fault}"
            return
        rate, count = self.report.rate, len(self.report.judged)
        failing, unpassed, ties = self.report.failing, self.report.unpassed, self.report.ties
        yield (
            f"{where} chosen scores at least rejected in {count - len(failing)} of {count}, {rate.estimate:.1%} "
            f"[{rate.lower:.1%}, {rate.upper:.1%}]; {len(ties)} ties; {len(unpassed)} chosen do not pass"
        )
        yield from _listed("fails", failing, len(failing))
        yield from _listed("no pass", unpassed, LISTED)
        yield from _listed("both pass", [each for each in ties if each.rejected.passed], LISTED)


def read(paths: Sequence[Path]) -> PairFiles:
    """Every file with its pairs. Raises InputError with file and line."""
    return tuple((path, read_pairs(path)) for path in paths)


def judged(reward: str, files: PairFiles) -> tuple[PairsOf, ...]:
    """What a reward makes of each file."""
    module, found = plugins.load("rewards", reward), []
    for path, pairs in files:
        try:
            found.append(PairsOf(path, reward, judge(module, pairs)))
        except AskfirstError as error:
            found.append(PairsOf(path, reward, None, str(error)))
    return tuple(found)


def _record(each: Judged) -> dict[str, Any]:
    return {
        "name": each.pair.name,
        "chosen": each.chosen.total,
        "rejected": each.rejected.total,
        "failures": list(each.chosen.failures),
        "why": each.pair.why,
    }


def _listed(word: str, pairs: Sequence[Judged], most: int) -> Iterator[str]:
    for each in pairs[:most]:
        codes = f" ({', '.join(each.chosen.failures)})" if each.chosen.failures else ""
        scores = f"chosen {each.chosen.total:g}{codes}, rejected {each.rejected.total:g}"
        yield f"    {word:<10}{printable(each.pair.name)}: {scores}: {printable(each.pair.why)}"
    if len(pairs) > most:
        yield f"    {word:<10}… and {len(pairs) - most} more; --json lists all"


def printable(text: str) -> str:
    """Text of a file as a terminal can show it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
