"""The published retail data in a folder, read as it is; `docs/retail.md` says where it comes from."""

from __future__ import annotations

from pathlib import Path

from askfirst.errors import InputError
from askfirst.retail.world import KINDS, World
from askfirst.store import read_json


def published(folder: Path) -> World:
    """The world of a folder: users.json, orders.json, products.json, wiki.md and tool_schemas.json.

    Raises InputError, naming the file and the record, for what is missing or malformed.
    """
    tables = {name: read_json(folder / f"{name}.json") for name in KINDS}
    try:
        policy = (folder / "wiki.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read: {error}", where=str(folder / "wiki.md")) from error
    return World.of(tables, policy, read_json(folder / "tool_schemas.json"), where=str(folder))
