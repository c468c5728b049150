import hashlib
import importlib
import sys

import pytest

from askfirst import plugins
from askfirst.errors import PluginError

REWARD = (
    'VERSION = 3\nBOUNDS = (0.0, 1.0)\nATTACKS = HONEST = ()\n\n\ndef score(scenario, trajectory):\n    return "ours"\n'
)


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A package of a third party, importable for the length of one test."""
    folder = tmp_path / "theirpkg_for_test" / "rewards"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    (folder / "__init__.py").touch()
    (folder / "ours.py").write_text(REWARD)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.startswith("theirpkg_for_test")]:
        del sys.modules[name]


def test_a_file_is_the_registration():
    assert plugins.load("advantages", "grpo").__name__ == "askfirst.advantages.grpo"
    assert "grpo" in plugins.names("advantages")


@pytest.mark.parametrize("kind", plugins.KINDS)
def test_every_plugin_that_ships_loads(kind):
    found = plugins.names(kind)
    assert found == sorted(found)
    assert not [name for name in found if name.startswith("_")]
    for name in found:
        assert plugins.load(kind, name).__name__ == f"askfirst.{kind}.{name}"


@pytest.mark.parametrize("name", ["grpoo", "_group", "", "..errors", "grpo.x", "os", "a b"])
def test_an_unknown_name_lists_the_choices_and_the_file_to_create(name):
    with pytest.raises(PluginError, match="no advantages plugin is called") as caught:
        plugins.load("advantages", name)
    assert repr(name) in caught.value.message
    assert ", ".join(plugins.names("advantages")) in caught.value.hint
    assert f"src/askfirst/advantages/{name}.py" in caught.value.hint


@pytest.mark.parametrize("call", [lambda: plugins.load("reward", "strict"), lambda: plugins.names("reward")])
def test_an_unknown_kind_lists_the_kinds(call):
    with pytest.raises(PluginError, match="no plugin kind is called 'reward'") as caught:
        call()
    assert all(kind in caught.value.hint for kind in plugins.KINDS)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("WHERE = scenario('send it')", "NameError: name 'scenario' is not defined"),
        ("CAP = {}['cap']", "KeyError: 'cap'"),
        ("CAP = (1 / 0)", "ZeroDivisionError"),
        ("from askfirst.cases import Case\nATTACK = Case('x', 'x', None, (), 0.0, '')", "case 'x' says nothing"),
    ],
)
def test_a_module_that_raises_while_it_is_imported_is_named_with_its_line(theirs, line, words):
    (theirs / "ours.py").write_text(f"{REWARD}\n\n{line}\n")
    with pytest.raises(PluginError, match="does not import") as caught:
        plugins.load("rewards", "theirpkg_for_test.rewards:ours")
    assert words in caught.value.message
    assert caught.value.where == f"{theirs / 'ours.py'}:{len(REWARD.splitlines()) + 2 + len(line.splitlines())}"


def test_a_third_party_module_loads(theirs):
    module = plugins.load("rewards", "theirpkg_for_test.rewards:ours")
    assert module.score(None, None) == "ours"


def test_a_module_that_lacks_something_is_refused(theirs):
    (theirs / "ours.py").write_text(REWARD.replace("BOUNDS", "bounds").replace("score", "grade"))
    with pytest.raises(PluginError, match="must define BOUNDS, score") as caught:
        plugins.load("rewards", "theirpkg_for_test.rewards:ours")
    assert caught.value.where == "theirpkg_for_test.rewards.ours"


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("theirpkg_for_test.rewards:absent", ""),
        ("nobodys_package_for_test:ours", ""),
        ("theirpkg_for_test.rewards:ours", "import nobodys_package_for_test"),
        ("theirpkg_for_test.rewards:ours", "def score(:"),
    ],
)
def test_a_module_that_does_not_import_is_named(theirs, name, body):
    (theirs / "ours.py").write_text(body)
    with pytest.raises(PluginError, match=r"does not import: (No module named|invalid syntax)") as caught:
        plugins.load("rewards", name)
    line = f"{theirs / 'ours.py'}:1" if body.startswith("import") else name.replace(":", ".")
    assert caught.value.where == line


@pytest.mark.parametrize("name", ["a:b:c d", ":ours", "theirpkg_for_test.rewards:", "theirpkg-x:ours"])
def test_a_name_that_cannot_be_a_module_is_refused(name):
    with pytest.raises(PluginError, match="no rewards plugin is called"):
        plugins.load("rewards", name)


def test_the_hash_of_a_module_is_that_of_its_file(theirs):
    module = plugins.load("rewards", "theirpkg_for_test.rewards:ours")
    before = plugins.source_hash(module)
    assert before == hashlib.sha256(b"ours.py\0" + REWARD.encode() + b"\0").hexdigest()
    (theirs / "neighbour.py").write_text("x = 1")
    assert plugins.source_hash(module) == before
    (theirs / "_helper.py").write_text("x = 1")
    helped = plugins.source_hash(module)
    assert helped != before
    (theirs / "ours.py").write_text(REWARD + "# edited\n")
    assert plugins.source_hash(module) not in (before, helped)


def test_the_hash_of_a_package_is_that_of_all_its_files(theirs):
    package = importlib.import_module("theirpkg_for_test.rewards")
    hashes = [plugins.source_hash(package)]
    (theirs / "part.py").write_text("x = 1")
    hashes.append(plugins.source_hash(package))
    (theirs / "part.py").rename(theirs / "piece.py")
    hashes.append(plugins.source_hash(package))
    (theirs / "table.txt").write_text("not source")
    assert len(set(hashes)) == 3
    assert plugins.source_hash(package) == hashes[-1]


def test_what_has_no_source_has_no_hash():
    with pytest.raises(PluginError, match="sys has no source file to hash"):
        plugins.source_hash(sys)
