"""Where the command line looks on this machine."""

from __future__ import annotations

from pathlib import Path

from askfirst.plan import Plan

SEEDS = Path.home() / ".askfirst" / "seeds"
SUITES = Path.home() / ".askfirst" / "suites"


def secret_places(plan: Plan, plan_file: Path) -> tuple[Path, ...]:
    """Where the secret seed of a plan may lie: the user's folder, or beside a plan that is a public demonstration."""
    return SEEDS / plan.env.sealed.removeprefix("sha256:"), plan_file.with_suffix(".seed")
