"""An episode's own database over a world: a record is copied when it is first changed, and only then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from askfirst.retail.hashing import Place, text_form
from askfirst.retail.world import World, thawed


class Database:
    """The records of a world and the changes of one episode. Records are changed; none comes or goes."""

    __slots__ = ("_own", "world")

    def __init__(self, world: World) -> None:
        self.world = world
        self._own: dict[Place, dict[str, Any]] = {}

    def record(self, table: str, key: str) -> Mapping[str, Any] | None:
        """A record of `orders`, `products` or `users`, to be read; None where there is none of that id."""
        own = self._own.get((table, key))
        return self.world.tables[table].get(key) if own is None else own

    def records(self, table: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """All records of a table by id, in the order of the world."""
        return ((key, self._own.get((table, key), record)) for key, record in self.world.tables[table].items())

    def edit(self, table: str, key: str) -> dict[str, Any]:
        """The episode's own copy of a record, to be changed in place. Raises KeyError where there is none."""
        own = self._own.get((table, key))
        if own is None:
            own = self._own[table, key] = thawed(self.world.tables[table][key])
        return own

    @property
    def touched(self) -> tuple[Place, ...]:
        """Where the database differs from its world, sorted; the order of keys in a record is no difference."""
        return tuple(sorted(self._changes()))

    def sha256(self) -> str:
        """Hash of the whole database, as the published results have it."""
        return self.world.page.sha256_with(self._changes())

    def same_as(self, other: Database) -> bool:
        """Whether both hold the same, which is where their hashes agree. Raises ValueError for one of another world."""
        if self.world is not other.world:
            raise ValueError("two databases of different worlds")
        return self._changes() == other._changes()

    def _changes(self) -> dict[Place, bytes]:
        page = self.world.page
        texts = {place: text_form(record).encode() for place, record in self._own.items()}
        return {place: text for place, text in texts.items() if text != page.text[slice(*page.spans[place])]}
