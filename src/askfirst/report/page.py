"""report.html: one file that shows a run from its records, and loads nothing else."""

from __future__ import annotations

import base64
import gzip
import importlib.resources
import importlib.util
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from askfirst import ledger, reading
from askfirst.report.browser import browser
from askfirst.report.figures import Figure, training
from askfirst.report.measuring import judges, tables
from askfirst.report.outcomes import outcomes
from askfirst.report.picture import intervals, sentence
from askfirst.report.static import svg
from askfirst.report.watching import agreements, series, terms, warnings
from askfirst.runfolder import RunFolder, VariantFolder, variant_name, variant_parts
from askfirst.store import plain, read_json, read_lines, write_text

PLOTLY = ("package_data", "plotly.min.js")  # within the plotly package


def write_report(folder: Path) -> Path:
    """Write report.html into a run folder; what is not there yet is said to be missing. Raises InputError."""
    run = RunFolder(folder)
    reading.require_run(run)
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    shown, plotly = contents(run), packed_plotly()
    figures: list[Figure] = shown["figures"]
    page = environment.from_string(_own("page.html")).render(
        **shown,
        style=Markup(_own("page.css")),
        script=Markup(_own("page.js")),
        plotly=plotly,
        drawn={} if plotly else {figure.name: Markup(svg(figure)) for figure in figures},
        data=embedded({"figures": plain(figures), "rollouts": shown["rollouts"]}),
    )
    write_text(run.report, page)
    ledger.written(run, run.report)
    return run.report


def figures_of(folder: Path) -> list[Figure]:
    """The plots of a run. Raises InputError for what is no run folder."""
    run = RunFolder(folder)
    reading.require_run(run)
    found: list[Figure] = contents(run)["figures"]
    return found


def contents(run: RunFolder) -> dict[str, Any]:
    """Everything the page shows, read from the run's records."""
    lock = read_json(run.lock)
    variants = [variant(folder) for folder in run.having("metrics.jsonl")]
    plan = lock["plan"]
    verdict, openings = _optional(run.verdict), ledger.events(run, "sealed_opened")
    changed = outcomes(run, plan, variants)
    return {
        "plan": plan,
        "warnings": warnings(plan, variants),
        "monitors": series(plan, variants),
        "agreements": agreements(variants),
        "terms": terms(variants),
        "looks": sum(len(v["checkpoints"]) for v in variants),
        "plan_sha256": lock["plan_sha256"],
        "verdict": verdict,
        "sentence": sentence(verdict, len(openings)),
        "intervals": intervals(plan, verdict),
        "ship": _optional(run.ship),
        "gates": (_optional(run.gates) or {"results": []})["results"],
        "selected": _selected(run),
        "openings": openings,
        "deviations": ledger.events(run, "deviation"),
        "variants": variants,
        "reading": reading.summary(run),
        "measures": tables(run, [v["name"] for v in variants]),
        "judges": judges(run, [v["name"] for v in variants]),
        "outcomes": changed,
        "figures": _figures(plan, variants) + (changed.figures if changed else []),
        "rollouts": browser(run),
    }


def variant(folder: VariantFolder) -> dict[str, Any]:
    """One variant's steps, checkpoints and best rollouts."""
    return {
        "name": folder.name,
        "arm": variant_parts(folder.name)[0],
        "finished": folder.run.is_file(),
        "steps": list(read_lines(folder.metrics)),
        "checkpoints": (_optional(folder.manifest) or {"entries": []})["entries"],
        "best": list(_lines(folder.best_rollouts)),
    }


def _selected(run: RunFolder) -> Any:
    chosen = _optional(run.selected)
    return {**chosen, "name": variant_name(chosen["arm"], chosen["seed"])} if chosen else None


def embedded(value: Any) -> Markup:
    """JSON for a script element, with nothing in it that ends the element or starts another."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def packed_plotly() -> str:
    """plotly.js as it is in the installed package, gzip in base64; empty where it is not installed."""
    spec = importlib.util.find_spec("plotly")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(place).joinpath(*PLOTLY)
        if path.is_file():
            # The time in the header is fixed, so that the same records give the same page.
            return base64.b64encode(gzip.compress(path.read_bytes(), compresslevel=1, mtime=0)).decode()
    return ""


def _figures(plan: Mapping[str, Any], variants: Sequence[Mapping[str, Any]]) -> list[Figure]:
    return training([v for v in variants if v["steps"]], plan["decision"]["treatment"])


def _own(name: str) -> str:
    return importlib.resources.files("askfirst.report").joinpath(name).read_text("utf-8")


def _optional(path: Path) -> Any:
    return read_json(path) if path.is_file() else None


def _lines(path: Path) -> list[Any]:
    return list(read_lines(path)) if path.is_file() else []
