"""The name of a variant of a matrix: a one-to-one function of what tells it apart, and its inverse.

    slug   = reward "_" curriculum "_seed-" whole "_g-" whole "_kl-" number [ "_arm-" arm ]
    reward = the plugin's name; what is no ASCII letter, digit, "_" or "." is written %XX, one for each byte of UTF-8
    number = as canonical JSON has it: 0.02, 0, 1e-7

The part for the arm is left out where that is `main`. A reward holds no hyphen, an arm no underscore, so a slug is read
in one way only. The slug without its seed names what all seeds of a point have in common.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from askfirst.errors import InputError
from askfirst.runfolder import variant_name
from askfirst.store import canonical

CURRICULA = ("static", "informative")
DEFAULT_ARM = "main"
_ARM = r"[a-z0-9][a-z0-9-]*"
_SLUG = re.compile(
    rf"([A-Za-z0-9_.%]+)_({'|'.join(CURRICULA)})_seed-(-?[0-9]+)_g-([0-9]+)_kl-([0-9.e+-]+)(?:_arm-({_ARM}))?"
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A point of a matrix without its seed. `beta` is the weight of the KL anchor. Raises ValueError for no such."""

    reward: str
    curriculum: str
    group_size: int
    beta: float
    arm: str = DEFAULT_ARM

    def __post_init__(self) -> None:
        sound = self.reward and self.curriculum in CURRICULA and self.group_size >= 1
        if not (sound and math.isfinite(self.beta) and self.beta >= 0 and re.fullmatch(_ARM, self.arm)):
            raise ValueError(f"not a point of a matrix: {self}")

    @property
    def name(self) -> str:
        """The slug without the seed."""
        reward = quote(self.reward, safe="").replace("-", "%2D").replace("~", "%7E")
        arm = "" if self.arm == DEFAULT_ARM else f"_arm-{self.arm}"
        return f"{reward}_{self.curriculum}_g-{self.group_size}_kl-{canonical(float(self.beta))}{arm}"


def slug(cell: Cell, seed: int) -> str:
    """The name of a variant, which is also that of its folder."""
    return variant_name(cell.name, seed)


def parse(text: str) -> tuple[Cell, int]:
    """The variant of a slug. Raises InputError for a text that `slug` does not write."""
    match = _SLUG.fullmatch(text)
    if match is not None:
        reward, curriculum, seed, size, beta, arm = match.groups()
        try:
            cell = Cell(unquote(reward, errors="strict"), curriculum, int(size), float(beta), arm or DEFAULT_ARM)
        except ValueError as error:
            raise InputError(f"{text!r} is not the name of a variant: {error}") from error
        if slug(cell, int(seed)) == text:
            return cell, int(seed)
    raise InputError(
        f"{text!r} is not the name of a variant", hint="REWARD_CURRICULUM_seed-N_g-N_kl-BETA, perhaps with _arm-ARM"
    )
