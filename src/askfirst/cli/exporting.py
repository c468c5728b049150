"""`askfirst export`: environments, rewards and evaluations for other programs."""

from __future__ import annotations

from pathlib import Path

from askfirst import plan as plans
from askfirst import plugins
from askfirst.desk import Desk
from askfirst.evaluate import split_scenarios
from askfirst.exports import inspect_log, mlx, openenv_package
from askfirst.exports.preflight import Flight, preflight
from askfirst.reading import require_run
from askfirst.runfolder import RunFolder
from askfirst.store import content_hash, read_json
from askfirst.variants import DEV_SEED


def package(folder: Path, desk: Desk) -> None:
    """Write an OpenEnv package and say which files it has."""
    for path in openenv_package.write(folder, desk):
        print(path)


def for_mlx(folder: Path, reward: str, rows: int, seed: int) -> None:
    """Write reward file and data for mlx-lm-lora, and hold them against the preflight."""
    for path in mlx.write(folder, reward, rows, seed):
        print(path)
    check(Flight(folder / mlx.REWARDS, (mlx.function_name(reward),), folder))


def check(flight: Flight) -> None:
    """Print what mlx-lm-lora would do without a word; exit 1 where that is not what was meant."""
    found = preflight(flight)
    for each in found:
        print(f"{'stop' if each.stops else 'note':<6} {each.what}")
    stops = sum(each.stops for each in found)
    print(f"{stops} that stop, {len(found) - stops} to note")
    if stops:
        raise SystemExit(1)


def inspect_logs(folder: Path, out: Path) -> None:
    """Write every evaluation of a run as a log of Inspect and print where they lie."""
    run = RunFolder(folder)
    for path in inspect_log.write(run, out, _dev_requests(run)):
        print(path)


def _dev_requests(run: RunFolder) -> dict[str, str]:
    """What is asked on dev, drawn again; nothing where that would not be what the run was evaluated on."""
    plan = plans.validate(require_run(run)["plan"], str(run.lock))
    dev = split_scenarios(plugins.environment(plan.env.name, plan.env.data, plan.env.families), plan, "dev", DEV_SEED)
    recorded = read_json(run.provenance) if run.provenance.is_file() else {}
    same = recorded.get("dev_sha256") == content_hash(list(dev))
    return {scenario.id: scenario.opening[-1].content for scenario in dev} if same else {}
