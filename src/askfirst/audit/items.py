"""What is compared: items with their text and what they were made from, of scenarios or of a user's files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst.errors import InputError
from askfirst.metrics import words
from askfirst.store import canonical, read_lines
from askfirst.values import FrozenMap, Scenario

TEXTS = ("text", "instruction", "request", "prompt", "question", "input")  # the first that a line has is its text
ACTIONS = ("writes", "actions")
# Gold actions that change nothing, by how their names begin: two items may well look at the same thing.
READS = ("calculate", "find_", "get_", "list_", "read_", "search_", "think", "transfer_")


@dataclass(frozen=True, slots=True)
class Item:
    """One training or evaluation item.

    `context` is everything that the model is shown with the text. `keys` maps a kind of identifier (user_id) to those
    of the item; `writes` are its gold writes, as one text, empty where it has none.
    An item that is not `named` has only its place for an id.
    """

    id: str
    text: str
    context: str = ""
    template: str = ""
    values: tuple[str, ...] = ()
    keys: FrozenMap = FrozenMap()
    writes: str = ""
    named: bool = True

    @property
    def words(self) -> list[str]:
        """Lower-case runs of letters, digits and apostrophes."""
        return words(self.text)


def of_scenarios(scenarios: Iterable[Scenario]) -> list[Item]:
    """Scenarios as items: their text is what the user said, without the screen."""
    return [
        Item(s.id, request(s), "\n".join(m.content for m in s.opening).lower(), s.template, s.values) for s in scenarios
    ]


def request(scenario: Scenario) -> str:
    """What the user said, lower-cased, without the screen."""
    return scenario.opening[-1].content.rsplit("user said:", 1)[-1].strip().lower()


def read_items(path: Path) -> list[Item]:
    """The items of a JSONL file, one object a line. Raises InputError with file and line."""
    found = [_item(line, f"{path}:{number}", number) for number, line in enumerate(read_lines(path, by_hand=True), 1)]
    if not found:
        raise InputError("there are no items in it", where=str(path))
    return found


def _item(line: Any, where: str, number: int) -> Item:
    if not isinstance(line, dict):
        raise InputError("expected a JSON object", where=where)
    text = next((line[name] for name in TEXTS if name in line), None)
    if text is None and "messages" in line:
        text = _last_of_user(line["messages"], where)
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"expected a text in one of: {', '.join(TEXTS)}, messages", where=where)
    template, values = line.get("template", ""), line.get("values", [])
    if not isinstance(template, str) or not _are(values, str):
        raise InputError("template must be a text and values a list of texts", where=where)
    writes = [a for name in ACTIONS for a in _actions(line.get(name, []), where) if not a["name"].startswith(READS)]
    keys: dict[str, set[str]] = {}
    for fields in (line, *(a["arguments"] for a in writes)):
        for name, value in fields.items():
            if name.endswith("_id") and isinstance(value, str):
                keys.setdefault(name, set()).add(value)
    return Item(
        str(line.get("id", f"line {number}")),
        text,
        json.dumps(line.get("messages", text), ensure_ascii=False).lower(),
        template,
        tuple(values),
        FrozenMap({name: tuple(sorted(found)) for name, found in keys.items()}),
        canonical(sorted(writes, key=canonical)) if writes else "",
        "id" in line,
    )


def _last_of_user(messages: Any, where: str) -> Any:
    if not _are(messages, dict):
        raise InputError("expected messages as a list of objects", where=where)
    return next((m.get("content") for m in reversed(messages) if m.get("role") == "user"), None)


def _actions(found: Any, where: str) -> Sequence[Mapping[str, Any]]:
    good = _are(found, dict) and all(
        isinstance(a.get("name"), str) and isinstance(a.get("arguments"), dict) for a in found
    )
    if not good:
        raise InputError("expected gold actions as a list of {name, arguments}", where=where)
    return [{"name": a["name"], "arguments": a["arguments"]} for a in found]


def _are(found: Any, kind: type) -> bool:
    return isinstance(found, list) and all(isinstance(one, kind) for one in found)
