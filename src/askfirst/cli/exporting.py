"""`askfirst export`: environments and rewards for other programs."""

from __future__ import annotations

from pathlib import Path

from askfirst.desk import Desk
from askfirst.exports import mlx, openenv_package
from askfirst.exports.preflight import Flight, preflight


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
