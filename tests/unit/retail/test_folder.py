"""A folder of published data is read whole, or refused with the file and the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from askfirst import plugins
from askfirst.errors import InputError, SplitError
from askfirst.retail import folder
from askfirst.retail.published import STEPS
from askfirst.retail.task import hidden_of
from askfirst.retail.tasks import Call, Task
from askfirst.retail.tools import TOOLS
from askfirst.retail.world import World
from askfirst.values import FrozenMap

TASK = {
    "id": "dev-0",
    "user_id": "ann",
    "instruction": "You are Ann.",
    "actions": [{"name": "get_user_details", "arguments": {"user_id": "ann"}}],
    "outputs": ["40"],
}


def schema(name: str, arguments: dict[str, str]) -> dict[str, Any]:
    properties = {argument: {"type": kind, "description": ""} for argument, kind in arguments.items()}
    parameters = {"type": "object", "properties": properties, "required": [*properties]}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


@pytest.fixture
def data(tmp_path: Path, plain: dict[str, Any]) -> Path:
    """A folder in the published shape."""
    for name, records in plain.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(records))
    schemas = [schema(name, dict(tool.arguments)) for name, tool in TOOLS.items()]
    (tmp_path / "tool_schemas.json").write_text(json.dumps(schemas))
    (tmp_path / "wiki.md").write_text("Be kind — always.")
    (tmp_path / "tasks_dev.jsonl").write_text(json.dumps(TASK) + "\n")
    return tmp_path


def test_a_folder_is_read_as_it_is(data: Path, world: World) -> None:
    read = folder.published(data)
    assert read.sha256 == world.sha256
    assert read.policy == "Be kind — always."
    assert [tool["function"]["name"] for tool in read.tools] == [*TOOLS]
    assert folder.tasks(data, "dev", read) == (
        Task("dev-0", "ann", "You are Ann.", (Call("get_user_details", FrozenMap({"user_id": "ann"})),), ("40",)),
    )


def test_the_user_of_a_task_wants_the_changes_that_its_gold_calls_make(data: Path) -> None:
    cancels, fails = ({"order_id": number, "reason": "no longer needed"} for number in ("#4", "#3"))
    calls = [("get_order_details", {"order_id": "#4"}), *(("cancel_pending_order", each) for each in (fails, cancels))]
    for name, end in (("train", []), ("dev", [("transfer_to_human_agents", {"summary": ""})])):
        actions = [{"name": called, "arguments": given} for called, given in (*calls, *end)]
        (data / f"tasks_{name}.jsonl").write_text(json.dumps({**TASK, "user_id": "bob", "actions": actions}) + "\n")
        hidden = hidden_of(*plugins.environment("retail", str(data)).scenarios(name, 1, 0))
        assert hidden.wanted == (Call("cancel_pending_order", FrozenMap(cancels)),)
        assert hidden.beyond == bool(end)
        assert hidden.turns == STEPS


@pytest.mark.parametrize("name", ["users.json", "orders.json", "products.json", "wiki.md", "tool_schemas.json"])
def test_a_missing_or_garbled_file_is_named(data: Path, name: str) -> None:
    for body in (b"\xff{", None):
        (data / name).unlink() if body is None else (data / name).write_bytes(body)
        with pytest.raises(InputError, match=name):
            folder.published(data)


def test_a_broken_record_is_named_with_its_file(data: Path, plain: dict[str, Any]) -> None:
    plain["users"]["ann"]["email"] = None
    (data / "users.json").write_text(json.dumps(plain["users"]))
    with pytest.raises(InputError, match=r"users\.json: Input should be a valid string at ann\.email"):
        folder.published(data)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda schemas: schemas.pop(),
        lambda schemas: schemas[0]["function"].update(name="compute"),
        lambda schemas: schemas[0]["function"]["parameters"]["properties"]["expression"].update(type="array"),
        lambda schemas: schemas[0]["function"]["parameters"]["properties"].clear(),
        lambda schemas: schemas[0]["function"]["parameters"]["required"].clear(),
        lambda schemas: schemas[0].update(name=""),
        lambda schemas: schemas.append(schemas[0]),
    ],
)
def test_schemas_of_other_tools_are_refused(data: Path, spoil: Callable[[list[Any]], Any]) -> None:
    schemas = json.loads((data / "tool_schemas.json").read_text())
    spoil(schemas)
    (data / "tool_schemas.json").write_text(json.dumps(schemas))
    with pytest.raises(InputError, match=r"tool_schemas\.json"):
        folder.published(data)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"),
        (json.dumps({**TASK, "id": 3}), "valid string at id"),
        (json.dumps({**TASK, "note": ""}), "not permitted at note"),
        (json.dumps({**TASK, "instruction": ""}), "at instruction"),
        (json.dumps({**TASK, "outputs": [""]}), r"at outputs\.0"),
        (json.dumps({**TASK, "user_id": "eve"}), "there is no user eve"),
        (json.dumps({**TASK, "actions": [{"name": "buy", "arguments": {}}]}), "there is no tool buy"),
        (json.dumps({**TASK, "actions": [{"name": "think", "arguments": {}}]}), r"think takes \['thought'\]"),
        (json.dumps({**TASK, "actions": [{"name": "think"}]}), r"actions\.0\.arguments"),
        (json.dumps(TASK), "a second task dev-0"),
    ],
)
def test_a_broken_task_is_named_with_its_line(data: Path, world: World, line: str, message: str) -> None:
    path = data / "tasks_dev.jsonl"
    path.write_text(json.dumps(TASK) + "\n" + line)
    with pytest.raises(InputError, match=rf"tasks_dev\.jsonl:2: .*{message}"):
        folder.tasks(data, "dev", world)


def test_no_tasks_and_no_such_split(data: Path, world: World) -> None:
    (data / "tasks_dev.jsonl").write_text("")
    with pytest.raises(InputError, match="holds no task"):
        folder.tasks(data, "dev", world)
    with pytest.raises(InputError, match=r"tasks_train\.jsonl: cannot read"):
        folder.tasks(data, "train", world)
    with pytest.raises(SplitError, match="there are train, dev, test"):
        folder.tasks(data, "sealed", world)
