"""The demo of a run as a folder for a Hub Space: what starts it, what it needs, and the records it shows."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path

from askfirst import __version__
from askfirst.demo.exhibit import Exhibit
from askfirst.errors import InputError
from askfirst.report.card import front_matter, line
from askfirst.store import UNFINISHED, commit_folder, write_text

RUN = "run"  # the records, within the folder
# What a run folder holds beside records: weights, of which only those of the checkpoint that is shown are taken.
WEIGHTS = frozenset({"checkpoints", "halted", "warmstart", "discarded"})
ELSEWHERE = {
    "smollm2-135m": "On a new machine `askfirst models fetch smollm2-135m` has to run before the chat can start.",
    **{
        name: f"On a new machine `askfirst models build {name}` has to run before the chat can start."
        for name in ("nano-clarify", "nano-retail")
    },
}
APP = f'''"""The demo of a run. It starts as it is, and listens where the variables that Gradio knows say so."""

from pathlib import Path

from askfirst.demo.app import launch

if __name__ == "__main__":
    launch(Path(__file__).parent / "{RUN}")
'''


def write(folder: Path, out: Path) -> list[Path]:
    """Write the folder of a Space for a run; returns its files. Raises InputError where `out` holds something, and for
    a model that only this machine has."""
    exhibit = Exhibit.of(folder)
    model = exhibit.plan.model.name
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError("the folder holds something", where=str(out), hint="name a new one")
    if Path(model).exists():
        raise InputError(f"the model {model} lies on this machine and is not part of the run", where=str(folder))

    def fill(target: Path) -> None:
        write_text(target / "app.py", APP)
        write_text(target / "requirements.txt", f"askfirst[demo,hf]=={__version__}\n")
        write_text(target / "README.md", readme(exhibit))
        for path in records(exhibit):
            place = target / RUN / path.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)

    commit_folder(out, fill)
    return sorted(path for path in out.rglob("*") if path.is_file())


def records(exhibit: Exhibit) -> list[Path]:
    """The files of a run that the demo reads: all records, and the weights of the checkpoint that is shown."""
    root = exhibit.run.root
    weights = exhibit.checkpoint[1] if exhibit.checkpoint else None
    found = []
    for path in sorted(root.rglob("*")):
        own = path.relative_to(root).parts
        shown = weights is not None and path.is_relative_to(weights)
        # A link may lead out of the folder: what is not in it is not given away.
        linked = any((root / Path(*own[:k])).is_symlink() for k in range(1, len(own) + 1))
        if path.is_file() and not linked and (shown or not WEIGHTS & set(own)) and UNFINISHED not in path.name:
            found.append(path)
    return found


def readme(exhibit: Exhibit) -> str:
    """README.md with the front matter of a Space. Raises InputError where the extra is not installed."""
    try:
        gradio = metadata.version("gradio")
    except metadata.PackageNotFoundError as error:
        raise InputError("gradio is not installed", hint="pip install 'askfirst[demo]'") from error
    plan = exhibit.plan
    fields = {
        "title": " ".join(plan.title.split())[:80],
        "emoji": "❓",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": "gradio",
        "sdk_version": gradio,
        "app_file": "app.py",
        "pinned": False,
        "short_description": "A model that asks before it acts",
        "tags": ["askfirst", "clarifying-questions"],
    }
    checkpoint = exhibit.checkpoint[0] if exhibit.checkpoint else "no checkpoint"
    body = [
        f"# {line(plan.title)}",
        "",
        line(plan.hypothesis),
        "",
        f"Results, recorded episodes and a live chat of a run of askfirst {__version__}: "
        f"model {line(plan.model.name)}, {line(checkpoint)}. The records are in `{RUN}/`; "
        "`python app.py` starts the demo on any machine with what `requirements.txt` names.",
    ]
    if plan.model.name in ELSEWHERE:
        body += ["", ELSEWHERE[plan.model.name]]
    return front_matter(fields) + "\n".join(body) + "\n"
