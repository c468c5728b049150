"""The published retail data in a folder, read as it is; `docs/retail.md` says where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from askfirst.errors import InputError, SplitError
from askfirst.retail.tasks import Call, Task
from askfirst.retail.tools import TOOLS
from askfirst.retail.world import KINDS, Shape, World, check_shape, frozen
from askfirst.store import read_json, read_lines

SPLITS = ("train", "dev", "test")
SHA256 = "5a4b2cb59f4d12dea7e4adff24a7f8fada510ead49372ea4a729a82bbb5f49b5"  # of the database the records are about


class _Call(Shape):
    name: str
    arguments: dict[str, Any]


class _Task(Shape):
    id: str
    user_id: str
    instruction: Annotated[str, Field(min_length=1)]
    actions: list[_Call]
    outputs: list[Annotated[str, Field(min_length=1)]]


class _Argument(Shape):
    type: str
    description: str
    enum: list[str] | None = None
    items: dict[str, str] | None = None


class _Parameters(Shape):
    type: str
    properties: dict[str, _Argument]
    required: list[str]


class _Function(Shape):
    name: str
    description: str
    parameters: _Parameters


class _Tool(Shape):
    type: str
    function: _Function


def published(folder: Path) -> World:
    """The world of a folder: users.json, orders.json, products.json, wiki.md and tool_schemas.json.

    Raises InputError, naming the file and the record, for what is missing or malformed.
    """
    tables = {name: read_json(folder / f"{name}.json") for name in KINDS}
    try:
        policy = (folder / "wiki.md").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read: {error}", where=str(folder / "wiki.md")) from error
    return World.of(tables, policy, _schemas(folder / "tool_schemas.json"), where=str(folder / "*.json"))


def _schemas(path: Path) -> list[Any]:
    """The schemas of exactly the tools that there are."""
    schemas: list[Any] = read_json(path)
    check_shape(list[_Tool], schemas, str(path))
    described = [_described(each["function"]["name"], each["function"]["parameters"]) for each in schemas]
    own = [(name, dict(tool.arguments), sorted(tool.arguments)) for name, tool in TOOLS.items()]
    if sorted(described, key=itemgetter(0)) != sorted(own, key=itemgetter(0)):
        raise InputError("these are not the schemas of the sixteen tools", where=str(path))
    return schemas


def _described(name: str, parameters: Any) -> tuple[str, dict[str, str], list[str]]:
    """A tool's name, the types of its arguments, and which of them it needs."""
    types = {argument: each["type"] for argument, each in parameters["properties"].items()}
    return name, types, sorted(parameters["required"])


def tasks(folder: Path, split: str, world: World) -> tuple[Task, ...]:
    """The tasks of a split, in the order of tasks_SPLIT.jsonl. Raises SplitError, and InputError naming the line."""
    if split not in SPLITS:
        raise SplitError(f"no published split {split!r}; there are {', '.join(SPLITS)}", where=str(folder))
    path = folder / f"tasks_{split}.jsonl"
    found = {}
    for number, line in enumerate(read_lines(path, by_hand=True), start=1):
        where = f"{path}:{number}"
        check_shape(_Task, line, where)
        for problem in _problems(line, world):
            raise InputError(problem, where=where)
        if line["id"] in found:
            raise InputError(f"a second task {line['id']}", where=where)
        actions = tuple(Call(each["name"], frozen(each["arguments"])) for each in line["actions"])
        found[line["id"]] = Task(line["id"], line["user_id"], line["instruction"], actions, tuple(line["outputs"]))
    if not found:
        raise InputError("holds no task", where=str(path))
    return tuple(found.values())


def _problems(line: dict[str, Any], world: World) -> Iterator[str]:
    if line["user_id"] not in world.users:
        yield f"there is no user {line['user_id']}"
    for each in line["actions"]:
        if each["name"] not in TOOLS:
            yield f"there is no tool {each['name']}"
        elif set(each["arguments"]) != set(TOOLS[each["name"]].arguments):
            yield f"{each['name']} takes {sorted(TOOLS[each['name']].arguments)}"
