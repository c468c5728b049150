"""`askfirst check judges`: judges against their contract, labelled episodes and attacks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from askfirst import plugins
from askfirst.contracts import judges
from askfirst.errors import AskfirstError
from askfirst.judging import Judge
from askfirst.judging.audit import Audit, audit
from askfirst.sections import JudgeModel, JudgeSection
from askfirst.store import plain

LISTED = 5  # disagreements for people; --json lists all
BOUNDS = JudgeSection()  # what a plan asks for unless it says otherwise


def section_of(name: str, model: str) -> JudgeModel:
    """A judge by its name and, as `BACKEND=NAME` or a NAME of backend hf, the model that speaks for it."""
    backend, _, named = model.rpartition("=")
    return JudgeModel(name=name, model=named, backend=backend or "hf")


def check(name: str, model: str) -> tuple[bool, str, Audit | None]:
    """Whether a judge holds, why not in words, and its audit; one that needs a model is audited where one is given."""
    try:
        judges.check_plugin(plugins.load("judges", name))
        if not model and judges.needs_model(name):
            return True, "the contract holds; not audited: it needs --model NAME", None
        judge = Judge.named(section_of(name, model))
        found = audit(judge)
    except AskfirstError as error:
        return False, str(error), None
    faults = found.faults(BOUNDS.min_agreement, BOUNDS.max_fooled)
    return not faults, "; ".join(faults) or "the contract holds, and so do the bounds of its audit", found


def lines(found: Audit) -> Iterator[str]:
    """An audit as lines for people."""
    counts = f"{found.episodes} labelled episodes and {found.attacked} attacks, {found.unparsable} unparsable"
    yield f"    {found.judge} on {counts}"
    for rate in found.agreement:
        share = f"{rate.count} of {rate.n}, at least {rate.bound.lower:.1%}"
        yield f"    agrees on        {rate.name}: {share}"
    for rate in (*found.families, found.fooled):
        yield f"    fooled by        {rate.name}: {rate.count} of {rate.n}, at most {rate.bound.upper:.1%}"
    if found.gap is not None:
        yield f"    gap to labels    {found.gap:+.3f}"
    for each in found.disagreements[:LISTED]:
        seen = "unparsable" if not each.found else str(each.found)
        yield f"    disagrees        {each.kind}: labelled {each.labels}, judged {seen}"
    if len(found.disagreements) > LISTED:
        yield f"    … and {len(found.disagreements) - LISTED} more; --json lists all"


def record(found: Audit) -> dict[str, Any]:
    """An audit as JSON types."""
    body: dict[str, Any] = plain(found)
    return body
