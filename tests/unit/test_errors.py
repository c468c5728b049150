import pickle

import pytest

from askfirst import errors

EXIT_CODES = {
    "AskfirstError": 3,
    "InputError": 2,
    "PlanError": 2,
    "SuiteError": 2,
    "ModelError": 2,
    "SplitError": 2,
    "PluginError": 2,
    "Refusal": 1,
    "GateFailed": 1,
    "NothingSelected": 1,
    "Fault": 3,
    "RewardFault": 3,
    "JudgeFault": 3,
    "EnvironmentFault": 3,
    "BackendFault": 3,
    "StorageFault": 3,
    "Interrupted": 130,
}
CLASSES = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}


def test_every_error_is_in_the_tree_and_has_its_exit_code():
    assert {name: kind.exit_code for name, kind in CLASSES.items()} == EXIT_CODES


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_an_error_survives_a_trip_between_processes(kind):
    error = kind("the disk is full", where="run.json:3", hint="free space")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert (copy.message, copy.where, copy.hint) == ("the disk is full", "run.json:3", "free space")
    assert str(copy) == str(error) == "run.json:3: the disk is full\n  → free space"


def test_parts_that_are_missing_leave_no_trace():
    assert str(errors.InputError("no such plan")) == "no such plan"
    assert str(errors.InputError("no such plan", hint="freeze it")) == "no such plan\n  → freeze it"
    assert str(errors.InputError("no such plan", where="a.toml")) == "a.toml: no such plan"


def test_callers_may_catch_the_standard_kinds():
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.StorageFault, OSError)
