"""Reads the text tables that stand beside this file, and holds them to the hash that is written here.

The hash makes an edited table an edit of the source, which a plan that has been frozen notices.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources

from askfirst.errors import EnvironmentFault

FRAMES = ("missing.txt", "several.txt", "vague.txt", "clear.txt", "scope.txt", "destroy.txt")
NAMES = (*FRAMES, "cats.txt", "words.txt", "compact.txt")
SHA256 = "057832a770ded29bf8f3b9dcefb0daa8134c89e158fc3e9cf437a46b9bba8f6e"


@cache
def text(name: str) -> str:
    """The text of a table. Raises EnvironmentFault when the tables are not those of this version."""
    return _tables()[name]


def lines(name: str) -> list[str]:
    """The lines of a table that are neither blank nor comments."""
    return [line for line in text(name).split("\n") if line.strip() and not line.startswith("#")]


@cache
def _tables() -> dict[str, str]:
    folder = resources.files(__package__)
    bodies = {name: folder.joinpath(name).read_bytes().replace(b"\r\n", b"\n") for name in NAMES}
    digest = hashlib.sha256(b"\0".join(bodies.values())).hexdigest()
    if digest != SHA256:
        raise EnvironmentFault(
            f"the tables hash to {digest}, not to {SHA256}",
            where="judgment",
            hint="after editing a table, write its new hash into _tables.SHA256 and raise VERSION",
        )
    return {name: body.decode("utf-8") for name, body in bodies.items()}
