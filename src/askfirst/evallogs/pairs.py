"""Two logs side by side: which samples join, which do not and why, and what the paired rules say of those that do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from askfirst.comparison import conclusion, points
from askfirst.errors import InputError
from askfirst.evallogs.logs import Key, Log, Sample
from askfirst.stats import clopper_pearson, clustered, mcnemar, paired_hoeffding, tango
from askfirst.values import TOLERANCE, Interval

SHOWN = 3  # samples that are named, of those left out
ONE_RUN = "one run of each model; says nothing about other runs or prompts"


@dataclass(frozen=True, slots=True)
class Joined:
    """Samples of two logs joined by id and epoch: `keys`, with the values of the score on either side.

    Left out, by key: `alone`, in one of the logs only; `doubled`, more than once in one; `unlike`, of another question
    or target in each; `unscored`, without that score on one side, be it for an error.
    """

    keys: tuple[Key, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    alone: tuple[tuple[Key, ...], tuple[Key, ...]]
    doubled: tuple[Key, ...]
    unlike: tuple[Key, ...]
    unscored: tuple[Key, ...]

    @property
    def epochs(self) -> int:
        """The most epochs of a sample."""
        return max(Counter(sample for sample, _ in self.keys).values())


@dataclass(frozen=True, slots=True)
class Change:
    """What joined samples come to, before and after. `p` is McNemar's, None where a sample is more than a pass or a
    fail: it then counts by the mean of its epochs."""

    n: int
    wins: int
    losses: int
    before: float
    after: float
    difference: Interval
    p: float | None


@dataclass(frozen=True, slots=True)
class LogsCompared:
    """What the rule says of the second log against the first. Without a margin it asks that more pass."""

    first: str
    second: str
    score: str
    margin: float | None
    change: Change
    holds: bool
    reason: str
    joined: Joined
    limits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """A score of one log: its mean over the samples that have it, and exact 95 % bounds where it is 0 or 1 once a
    sample."""

    score: str
    samples: int
    mean: float
    bounds: Interval | None


@dataclass(frozen=True, slots=True)
class Described:
    """What one log holds. `doubled` are samples that stand in it more than once; these count in no share."""

    path: str
    task: str
    model: str
    status: str
    samples: int
    errors: int
    doubled: tuple[Key, ...]
    shares: tuple[Share, ...]
    strange: Mapping[str, int]
    hashes: Mapping[str, str]

    def lines(self) -> Iterator[str]:
        """For people."""
        yield f"{self.path}: {self.task} by {self.model}, {self.status}, {self.samples} samples, {self.errors} errors"
        for share in self.shares:
            bounds = f" [{share.bounds.lower:.1%}, {share.bounds.upper:.1%}]" if share.bounds else ""
            yield f"{share.score:<24} {share.mean:.1%}{bounds} of {share.samples}"
        for name, count in self.strange.items():
            yield f"{name:<24} {count} values that are no number from 0 to 1"
        if self.doubled:
            yield f"left out                 {len(self.doubled)} that stand in it more than once"


def described(log: Log) -> Described:
    """What a log holds, with the hash of every sample. Raises InputError for one without samples."""
    if not log.samples:
        raise InputError("there are no samples in it", where=log.path)
    counts = Counter(sample.key for sample in log.samples)
    once = [sample for sample in log.samples if counts[sample.key] == 1 and not sample.error]
    return Described(
        path=log.path,
        task=log.task,
        model=log.model,
        status=log.status,
        samples=len(log.samples),
        errors=sum(bool(sample.error) for sample in log.samples),
        doubled=tuple(sorted(key for key, times in counts.items() if times > 1)),
        shares=tuple(_share(name, once) for name in log.scores if any(name in sample.scores for sample in once)),
        strange=log.strange,
        hashes={f"{sample.id}/{sample.epoch}": sample.asked for sample in log.samples},
    )


def _share(name: str, samples: Sequence[Sample]) -> Share:
    own = [sample for sample in samples if name in sample.scores]
    values = [sample.scores[name] for sample in own]
    whole = set(values) <= {0.0, 1.0} and len({sample.id for sample in own}) == len(own)
    bounds = clopper_pearson.interval(round(sum(values)), len(values)) if whole else None
    return Share(name, len(values), sum(values) / len(values), bounds)


def chosen_score(logs: Sequence[Log], wanted: str) -> str:
    """The score by its name or, where none is named, the only one that all logs have. Raises InputError."""
    common = [name for name in logs[0].scores if all(name in log.scores for log in logs)]
    if wanted in common:
        return wanted
    if not wanted and len(common) == 1:
        return common[0]
    known = ", ".join(common) or "none"
    what = f"no score is called {wanted!r} in every log" if wanted else f"{len(common)} scores are in every log"
    raise InputError(what, where=logs[0].path, hint=f"name one with --score; in every log: {known}")


def join(first: Log, second: Log, score: str) -> Joined:
    """Join two logs. Raises InputError where no sample is left."""
    counts = [Counter(sample.key for sample in log.samples) for log in (first, second)]
    old, new = ({sample.key: sample for sample in log.samples} for log in (first, second))
    doubled = {key for count in counts for key, times in count.items() if times > 1}
    both = [key for key in old if key in new and key not in doubled]
    unlike = {key for key in both if old[key].asked != new[key].asked}
    unscored = {key for key in both if not (_scored(old[key], score) and _scored(new[key], score))} - unlike
    keys = tuple(key for key in both if key not in unlike | unscored)
    if not keys:
        raise InputError(
            f"the two logs do not pair: of {len(old)} and {len(new)} samples none is in both with the score {score!r}",
            where=second.path,
            hint="compare logs of the same task",
        )
    alone = tuple(key for key in old if key not in new), tuple(key for key in new if key not in old)
    values = ([side[key].scores[score] for key in keys] for side in (old, new))
    before, after = (tuple(each) for each in values)
    return Joined(keys, before, after, alone, tuple(sorted(doubled)), tuple(sorted(unlike)), tuple(sorted(unscored)))


def _scored(sample: Sample, score: str) -> bool:
    return not sample.error and score in sample.scores


def compare_logs(first: Log, second: Log, score: str, margin: float | None, alpha: float) -> LogsCompared:
    """Hold the second log against the first: more points or, with a margin, no regression beyond it.

    Raises InputError where nothing joins.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha must lie between 0 and 1, found {alpha:g}")
    joined = join(first, second, score)
    change = change_of(joined, alpha)
    holds, words = conclusion(change.difference, margin)
    tested = "" if change.p is None else f" · McNemar p = {change.p:.2g}"
    same = change.n - change.wins - change.losses
    reason = (
        f"{score} {change.before:.0%} → {change.after:.0%}, {points(change.difference)} "
        f"({change.difference.method}) on {change.n} samples: {change.wins} better, {change.losses} worse, {same} same"
        f"{tested}: {words}"
    )
    limits = (*_left_out(joined), *_of_logs(first, second, score), ONE_RUN)
    return LogsCompared(first.path, second.path, score, margin, change, holds, reason, joined, limits)


def change_of(joined: Joined, alpha: float) -> Change:
    """With one epoch and scores of 0 and 1, by Tango's interval and McNemar's test, as runs are compared.

    Otherwise a sample is one unit, by the mean over its epochs: by the t interval of the differences, and by
    Hoeffding's bound where there are fewer than 20 samples or all differ alike.
    """
    by_sample: dict[str, list[tuple[float, float]]] = {}
    for (sample, _), old, new in zip(joined.keys, joined.before, joined.after, strict=True):
        by_sample.setdefault(sample, []).append((old, new))
    means = np.array([np.mean(values, axis=0) for values in by_sample.values()])
    differences, n = means[:, 1] - means[:, 0], len(means)
    wins, losses = int((differences > TOLERANCE).sum()), int((differences < -TOLERANCE).sum())
    p = None
    if joined.epochs == 1 and {*joined.before, *joined.after} <= {0.0, 1.0}:
        interval, p = tango.interval(wins, losses, n, alpha=alpha), mcnemar.p_value(wins, losses, n)
    elif n >= clustered.LEAST and np.ptp(differences) > TOLERANCE:
        interval = clustered.interval(differences, alpha)
    else:
        interval = paired_hoeffding.interval(differences, alpha=alpha)
    before, after = means.mean(axis=0).tolist()
    return Change(n, wins, losses, before, after, interval, p)


def _left_out(joined: Joined) -> Iterator[str]:
    """The samples that are in neither count, for people."""
    one, other = joined.alone
    parts = (
        (one, "only in the first log"),
        (other, "only in the second log"),
        (joined.doubled, "more than once in a log"),
        (joined.unlike, "another question or target in each log"),
        (joined.unscored, "without the score, or with an error, in a log"),
    )
    for keys, words in parts:
        if keys:
            some = ", ".join(f"{sample} (epoch {epoch})" for sample, epoch in keys[:SHOWN])
            yield f"{len(keys)} left out: {words}, such as {some}"


def _of_logs(first: Log, second: Log, score: str) -> Iterator[str]:
    """What is to be said of the logs themselves."""
    if first.task != second.task:
        yield f"the tasks have different names: {first.task} and {second.task}"
    for log in (first, second):
        if log.status != "success":
            yield f"{log.path} ended with status {log.status}"
        if log.strange.get(score):
            yield f"{log.path} has {log.strange[score]} values of {score} that are no number from 0 to 1"
