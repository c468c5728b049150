import dataclasses
import pickle

import numpy as np
import pytest

from askfirst.values import FrozenMap, Group, Invalid, Message, Rollout, Scenario, Score, StopReason, Trajectory


def scenario(name: str) -> Scenario:
    return Scenario(name, "desktop", "clear", "dev", False, (Message("user", "mute"),), FrozenMap({"intent": "action"}))


def rollout(of: Scenario, index: int, total: float) -> Rollout:
    spoken = (Message("user", "mute"), Message("assistant", "first"), Message("user", "no"), Message("assistant", "ok"))
    score = Score(total, FrozenMap({"pass": total}), total == 1, (), "strict@1#0")
    return Rollout(of, index, Trajectory(spoken, (), StopReason.END), Invalid("not JSON"), score)


def test_a_frozen_map_reads_like_a_mapping():
    m = FrozenMap({"b": 1, "a": 2})
    assert (m["a"], list(m), len(m), dict(m), "c" in m) == (2, ["b", "a"], 2, {"b": 1, "a": 2}, False)
    assert repr(m) == "FrozenMap({'b': 1, 'a': 2})"
    assert len(FrozenMap()) == 0
    with pytest.raises(KeyError):
        m["c"]


def test_a_frozen_map_does_not_change():
    source = {"a": 1}
    m = FrozenMap(source)
    source["a"] = 2
    assert m["a"] == 1
    with pytest.raises(TypeError):
        m["a"] = 2
    with pytest.raises(TypeError):
        del m["a"]
    with pytest.raises(AttributeError):
        m._items = {}
    with pytest.raises(AttributeError):
        m.extra = 1


def test_equal_frozen_maps_hash_equal_in_any_order():
    one, two = FrozenMap({"a": 1, "b": (2, 3)}), FrozenMap({"b": (2, 3), "a": 1})
    assert one == two
    assert len({one, two, FrozenMap({"a": 1})}) == 2
    assert hash(FrozenMap({"a": FrozenMap({"b": 1})})) == hash(FrozenMap({"a": FrozenMap({"b": 1})}))
    with pytest.raises(TypeError):
        hash(FrozenMap({"a": [1]}))


def test_values_survive_a_trip_between_processes():
    s = scenario("s1")
    copy = pickle.loads(pickle.dumps(rollout(s, 0, 1.0)))
    assert copy == rollout(s, 0, 1.0)
    assert hash(copy.scenario) == hash(s)
    assert isinstance(copy.scenario.hidden, FrozenMap)


def test_values_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        scenario("s1").split = "sealed"


def test_a_group_holds_one_scenario():
    s = scenario("s1")
    group = Group(s, (rollout(s, 0, 1.0), rollout(s, 1, 0.25)))
    assert group.rewards.dtype == np.float64
    assert group.rewards.tolist() == [1.0, 0.25]
    with pytest.raises(ValueError, match=r"group of scenario s1 holds rollouts of \['s2'\]"):
        Group(s, (rollout(s, 0, 1.0), rollout(scenario("s2"), 1, 0.25)))


def test_the_reply_is_the_last_thing_the_policy_said():
    assert rollout(scenario("s1"), 0, 1.0).trajectory.reply == "ok"
    assert Trajectory((Message("user", "mute"),), (), StopReason.TURNS).reply == ""
