"""`askfirst run` and `askfirst deviate`."""

from __future__ import annotations

import getpass
import os
import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from askfirst import plan as plans
from askfirst.cli.places import secret_places
from askfirst.cli.render import Human, json_listener
from askfirst.cli.telling import Telling
from askfirst.cluster import HERE, Place
from askfirst.deviation import Reason
from askfirst.errors import GateFailed, InputError, Interrupted
from askfirst.events import both
from askfirst.runfolder import RunFolder

_RAY = re.compile(r"ray(?::(?!//)(?P<given>.*))?")
# Nothing is sent to Ray's makers, and a variant that is given no GPU sees none.
_RAY_SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1"}


@dataclass(frozen=True, slots=True)
class Where:
    """So many variants side by side on this machine; or on a cluster."""

    jobs: int = 1
    cluster: Place | None = None


ALONE = Where()


def where_of(words: Sequence[str]) -> Where:
    """What `--jobs N`, `--on ray[:cpus=…,gpus=…]` and `--address ADDRESS` say together. Raises InputError."""
    jobs, given, address = 1, dict[str, float](), ""
    on_ray = False
    for word in words:
        match = _RAY.fullmatch(word)
        if re.fullmatch(r"-?\d+", word):
            jobs = int(word)
        elif match is None:
            address, on_ray = word, on_ray or word.startswith("ray://")
        else:
            on_ray, given = True, _resources(match["given"] or "")
    if jobs < 1:
        raise InputError(f"--jobs wants a number of at least 1, found {jobs}")
    if not on_ray and address:
        raise InputError(f"{address!r} is no place to run", hint="--jobs N, or --on ray [--address ADDRESS]")
    if not on_ray:
        return Where(jobs)
    if jobs > 1:
        raise InputError("--jobs is for this machine alone", hint="on Ray: --on ray:cpus=N, what each variant is given")
    for name, value in _RAY_SETTINGS.items():
        os.environ.setdefault(name, value)
    place = Place(address or HERE, **given)
    side_by_side = int((os.cpu_count() or 1) // place.cpus) if place.cpus else 1
    return Where(max(1, side_by_side), place)


def _resources(text: str) -> dict[str, float]:
    found = dict[str, float]()
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in ("cpus", "gpus") or not re.fullmatch(r"\d+(\.\d+)?", value):
            raise InputError(f"expected cpus=N or gpus=N, found {part!r}", hint="--on ray:cpus=4,gpus=1")
        found[name] = float(value)
    return found


def run(
    plan_file: Path,
    out: Path,
    overrides: tuple[str, ...],
    *,
    resume: bool,
    as_json: bool,
    where: Where = ALONE,
) -> None:
    """Run a plan into a folder and exit with its verdict's code."""
    from askfirst import matrix, variants
    from askfirst.report.page import write_report

    plan = plans.load(plan_file, overrides)
    folder = RunFolder(out)
    if folder.lock.is_file() and not folder.verdict.is_file() and not resume:
        raise InputError(
            "the folder holds an unfinished run", where=str(out), hint="--resume goes on with it; --out names another"
        )
    human, telling = None if as_json else Human(plan), Telling.from_environment(plan, out)
    listen = both(json_listener if human is None else human, telling)
    job = variants.Run(
        plan,
        folder,
        plan_file.read_text("utf-8"),
        overrides,
        secret_places(plan, plan_file),
        listen,
        stop_on_interrupt(),
        where.jobs,
        cluster=where.cluster,
    )
    try:
        with telling:
            result = matrix.run(job)
    except Interrupted as stopped:
        raise Interrupted(stopped.message, hint=f"askfirst run {plan_file} --out {out} --resume") from None
    except GateFailed:
        page = write_report(out)
        if human is not None:
            human.line("look", f"{page}: which gate, what it measured and what it allows")
        raise
    finally:
        if human is not None:
            human.close()
    page = write_report(out)
    if human is not None:
        human.line("look", str(page))
        human.line("", f"askfirst demo {out}: replay its episodes, and talk to the model before and after")
    raise SystemExit(0 if result.decision == "SHIP" else 1)


def deviate(plan_file: Path, out: Path, overrides: tuple[str, ...], why: str) -> None:
    """Put on record why an unfinished run goes on with another plan or other code."""
    from askfirst import matrix, variants

    plan, folder = plans.load(plan_file, overrides), RunFolder(out)
    if not why.strip():
        raise InputError("a deviation has a reason", hint="--why 'the learning rate was ten times too large'")
    if not folder.lock.is_file() or folder.verdict.is_file():
        raise InputError("there is no unfinished run here to deviate in", where=str(out))
    job = variants.Run(plan, folder, plan_file.read_text("utf-8"), overrides, (), lambda event: None, lambda: False)
    made = matrix.deviate(job, Reason(why.strip(), plan.author or _user()))
    for change in made.changes:
        print(f"changed   {change.what}: {change.before} → {change.after}")
    print(f"recorded  {folder.ledger}; go on with: askfirst run {plan_file} --out {out} --resume")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):  # a user without a name, as in some containers
        return "unknown"


def stop_on_interrupt() -> Callable[[], bool]:
    """A function that turns true after Ctrl-C; a second Ctrl-C stops at once."""
    pressed: list[bool] = []

    def note(number: int, frame: object) -> None:
        pressed.append(True)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("\nstopping after this step; press Ctrl-C again to stop at once", flush=True)

    signal.signal(signal.SIGINT, note)
    return lambda: bool(pressed)
