"""Models for one environment, built from `nano`; a new one is a file here and a line below."""

from __future__ import annotations

from askfirst.specialists.clarify import CLARIFY
from askfirst.specialists.core import Specialist
from askfirst.specialists.retail import RETAIL

ALL: dict[str, Specialist] = {own.name: own for own in (CLARIFY, RETAIL)}
