"""`plan`, `new plan`, `freeze` and `diff` on plans of askfirst's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst.cli import planning
from askfirst.errors import GateFailed, InputError, PlanError

E2E = Path(__file__).parents[3] / "examples" / "e2e.toml"
SLOW = """
[machine]
name = "small"
decode_tokens_per_second = 5e6
prefill_tokens_per_second = 1e9
memory_gib = 8
[model]
parameters = 1e9
[lengths]
prompt_tokens = 1000
"""


def test_a_plan_says_what_it_does_costs_and_can_show(capsys: pytest.CaptureFixture[str]) -> None:
    planning.describe(E2E, ("budget.price_per_hour=3",), None, None, as_json=False)
    said = capsys.readouterr().out
    assert "arms differ in train.kl.beta" in said
    assert "at most 3,840,000 sampled tokens in training and 5 minutes by the budget, 0.25 at 3 an hour" in said
    assert "power 1.00 for +20 points; the verdict is about new items" in said
    assert "ambiguous_pass above 22%: needs 57/200; least effect with power 0.8: +9.0 points" in said


def test_a_plan_that_cannot_decide_says_what_would_mend_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        planning.describe(E2E, ("evaluation.sealed_items=40",), None, None, as_json=False)
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "needs 9/20" in said or "needs 10/20" in said
    assert "mend      about" in said
    with pytest.raises(GateFailed, match="cannot decide"):
        planning.freeze(E2E, ("evaluation.sealed_items=40",), E2E.parent / "never.json")
    with pytest.raises(SystemExit):
        planning.describe(E2E, ("evaluation.sealed_items=40",), None, None, as_json=True)
    (prospect,) = json.loads(capsys.readouterr().out)["prospects"]
    enough = 2 * prospect["wanted_items"]
    planning.describe(E2E, (f"evaluation.sealed_items={enough}",), None, None, as_json=False)


def test_a_target_that_the_rules_cannot_serve_is_refused() -> None:
    with pytest.raises(PlanError, match="clopper_pearson cannot speak of fixed_items"):
        planning.describe(E2E, ("decision.target=fixed_items",), None, None, as_json=False)
    overrides = ("decision.target=new_seeds", "ship={ destructive_pass = { noninferior_to = 'base', margin = 0.1 } }")
    with pytest.raises(PlanError, match="tango cannot speak of new_seeds"):
        planning.describe(E2E, overrides, None, None, as_json=False)
    with pytest.raises(PlanError, match=r"decision\.target"):
        planning.describe(E2E, ("decision.target=everything",), None, None, as_json=False)


def test_hardware_that_is_too_small_is_a_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "h.toml"
    path.write_text(SLOW)
    planning.describe(E2E, (), path, None, as_json=False)
    said = capsys.readouterr().out
    assert "memory    1.9 of 8 GiB" in said
    assert "assumed: 1000 tokens a prompt, 400 a reply" in said
    for change in (
        ("memory_gib = 8", "memory_gib = 1"),
        ("decode_tokens_per_second = 5e6", "decode_tokens_per_second = 5e3"),
    ):
        path.write_text(SLOW.replace(*change))
        for as_json in (False, True):
            with pytest.raises(SystemExit) as ended:
                planning.describe(E2E, (), path, None, as_json=as_json)
            assert ended.value.code == 1
    with pytest.raises(InputError, match="only a registered experiment"):
        planning.describe(E2E, (), None, path, as_json=False)


def test_the_new_plan_validates_and_can_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(planning, "SEEDS", tmp_path / "seeds")
    out = tmp_path / "mine.toml"
    planning.new(out)
    plan = plans.load(out)
    assert (tmp_path / "seeds" / plan.env.sealed.removeprefix("sha256:")).is_file()
    numpy_alone = ("model.name=tabular", "model.backend=tabular")
    planning.describe(out, numpy_alone, None, None, as_json=False)
    assert "power 1.00" in capsys.readouterr().out
    with pytest.raises(InputError, match="a file already"):
        planning.new(out)
    other = tmp_path / "other.toml"
    planning.new(other)
    assert plans.load(other).env.sealed != plan.env.sealed


def test_a_frozen_plan_is_read_as_it_was_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, frozen = tmp_path / "p.toml", tmp_path / "p.lock.json"
    source.write_text(E2E.read_text("utf-8"))
    planning.freeze(source, ("train.lr=0.02",), None)
    body = json.loads(frozen.read_text("utf-8"))
    assert body["overrides"] == ["train.lr=0.02"]
    assert "envs/judgment" in body["sources"]
    plan = plans.load(frozen)
    assert plan.train.lr == 0.02
    assert plans.plan_hash(plan) == body["plan_sha256"]
    with pytest.raises(InputError, match="a file already"):
        planning.freeze(source, (), None)
    with pytest.raises(PlanError, match="was frozen and is not the same"):
        plans.load(frozen, ["train.lr=0.03"])
    body["plan"]["ship"]["ambiguous_pass"]["above"] = 0.1
    frozen.write_text(json.dumps(body))
    with pytest.raises(PlanError, match="was frozen and is not the same"):
        plans.load(frozen)


def test_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.toml"
    other.write_text(E2E.read_text("utf-8").replace("lr = 0.01", "lr = 0.03").replace("seeds = [0]", "seeds = [0, 1]"))
    with pytest.raises(SystemExit) as ended:
        planning.diff(E2E, other, as_json=False)
    assert ended.value.code == 1
    said = capsys.readouterr().out.splitlines()
    assert said == ["differs   matrix.seeds: [0] → [0, 1]", "differs   train.lr: 0.01 → 0.03"]
    with pytest.raises(SystemExit):
        planning.diff(E2E, other, as_json=True)
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {"what": "train.lr", "before": 0.01, "after": 0.03}
    spelled = tmp_path / "spelled.json"  # defaults written out make no difference
    spelled.write_text(json.dumps(plans.load(E2E).model_dump(mode="json")))
    planning.diff(E2E, spelled, as_json=False)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["arm=[{ name = 'anchored' }, { name = 'free' }]"], "is the same as arm 'anchored'"),
        (["arm=[{ name = 'anchored' }, { name = 'free', set = { 'train.kl.beta' = 0.01 } }]"], "is the same as arm"),
        (
            [
                "arm=[{ name = 'anchored', set = { 'train.lr' = 0.02 } }, "
                "{ name = 'free', set = { 'train.lr' = 0.02, 'train.kl.beta' = 0.0 } }]"
            ],
            "train.lr is declared, and alike in every arm",
        ),
        (["matrix.seeds=[9007199254740993]"], "write it as text"),
    ],
)
def test_arms_differ_in_what_they_declare(overrides: list[str], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        plans.load(E2E, overrides)


def test_the_contrast_names_every_declared_key() -> None:
    arms = (
        "arm=[{ name = 'anchored', set = { 'train.lr' = 0.02 } }, { name = 'free', set = { 'train.kl.beta' = 0.0 } }]"
    )
    assert plans.contrast(plans.load(E2E, [arms])) == ("train.kl.beta", "train.lr")
    assert plans.contrast(plans.load(E2E, ["arm=[{ name = 'anchored', set = { 'train.lr' = 0.02 } }]"])) == ()
