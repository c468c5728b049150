"""The families that ship, one file each. Those that are only for evaluation come last."""

from __future__ import annotations

from collections.abc import Mapping

from askfirst.clarify.families import (
    coding_requirements,
    event_planning,
    house_move,
    medical_intake,
    meeting_scheduling,
    pet_sitting,
    support_triage,
)
from askfirst.clarify.family import Family, read

_TABLES = (event_planning, medical_intake, meeting_scheduling, support_triage, coding_requirements)
_UNSEEN = (house_move, pet_sitting)
FAMILIES: Mapping[str, Family] = {
    name: read(name, module.TABLE) for module in (*_TABLES, *_UNSEEN) for name in [module.__name__.rsplit(".", 1)[-1]]
}
