"""The built-in model: it is what its record says, it speaks the protocol, it guesses, and it learns through LoRA."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import plugins
from askfirst.batches import draw_scenarios
from askfirst.cli import main
from askfirst.evaluate import Label, evaluate
from askfirst.metrics import summary
from askfirst.policy import ModelSpec, Policy, Sampling
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.steps import Method, learn
from askfirst.values import EvalRecord, Invalid
from askfirst.variants import open_policy

pytest.importorskip("torch", reason="needs the hf extra")
Here = Callable[..., tuple[object, str, str]]
PLAN_FILE = Path(__file__).parents[2] / "examples" / "quickstart.toml"
PLAN = plans.load(PLAN_FILE)
ENV = plugins.load("envs", "judgment")
STAGE = Stage(ENV, ENV.system_prompt("compact"), Sampling(64))
SCORER = Scorer.named("slots")
NANO = Path(plugins.__file__).parent / "models" / "nano"


@pytest.fixture(scope="module")
def nano() -> Policy:
    return plugins.load("backends", "hf").open_policy(ModelSpec("nano"), seed=0)


def test_the_weights_are_those_of_the_record() -> None:
    record = json.loads((NANO / "nano.json").read_text())
    weights = NANO / "model.safetensors"
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == record["weights_sha256"]
    assert weights.stat().st_size <= 8_000_000
    assert 2_000_000 <= record["parameters"] <= 4_000_000
    assert record["build"] == "askfirst models build nano"


@pytest.fixture(scope="module")
def dev_record(nano: Policy) -> EvalRecord:
    items = ENV.scenarios("dev", 96, 7, {"ambiguous": 0.5, "clear_twin": 0.25, "out_of_scope": 0.25})
    return evaluate(STAGE, nano, SCORER, items, Label("nano", "base", "dev"))


def test_it_speaks_the_protocol_and_mostly_guesses(dev_record: EvalRecord) -> None:
    items = dev_record.items
    assert sum(not isinstance(ENV.parse(i.reply), Invalid) for i in items) >= 0.9 * len(items)
    assert summary(dev_record)["ambiguous_ask"] < 0.5


def test_it_starts_where_users_start(dev_record: EvalRecord) -> None:
    found = summary(dev_record)
    assert found["ambiguous_pass"] <= 0.30
    assert found["false_ask"] <= 0.05


def test_some_rollouts_ask_so_that_there_is_something_to_learn_from(nano: Policy) -> None:
    scenarios = ENV.scenarios("train", 16, 3, {"ambiguous": 1.0})
    batch = rollouts(STAGE, nano, SCORER, scenarios, Draw(0, 0, 8))
    mixed = [g for g in batch.groups if len({r.score.passed for r in g.rollouts}) == 2]
    assert len(mixed) >= len(batch.groups) / 4


def test_a_step_makes_rewarded_replies_likelier() -> None:
    policy = open_policy(PLAN, 0)
    scenarios = draw_scenarios(ENV, PLAN, 0, 0)
    batch = rollouts(STAGE, policy, SCORER, scenarios, Draw(0, 0, 4))
    method = Method.of(PLAN.train)
    before = policy.fingerprint()
    first = learn(policy, batch, method, 2e-3)
    second = learn(policy, batch, method, 0.0)
    assert policy.fingerprint() != before
    assert first.learning.grad_norm > 0
    assert first.learning.kl_nats == 0.0
    assert second.learning.kl_nats > 0.0
    assert first.learning.sampler_gap_nats < policy.logprob_tolerance
    # At ratio 1 the loss is −A; after the step the same rollouts are likelier where A > 0.
    assert second.learning.sampler_gap_nats > first.learning.sampler_gap_nats


def test_learning_rate_zero_changes_nothing() -> None:
    policy = open_policy(PLAN, 0)
    batch = rollouts(STAGE, policy, SCORER, draw_scenarios(ENV, PLAN, 0, 0), Draw(0, 0, 4))
    before = policy.fingerprint()
    learn(policy, batch, Method.of(PLAN.train), 0.0)
    assert policy.fingerprint() == before


def test_sampling_does_not_depend_on_the_batch(nano: Policy) -> None:
    scenarios = ENV.scenarios("dev", 6, 1)
    together = rollouts(STAGE, nano, SCORER, scenarios, Draw(5, 0, 3)).groups
    for group in together:
        alone = rollouts(STAGE, nano, SCORER, [group.scenario], Draw(5, 0, 3)).groups[0]
        assert [r.trajectory.reply for r in alone.rollouts] == [r.trajectory.reply for r in group.rollouts]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Here]:
    """The command line in this process, which has loaded torch already: exit code, output, errors."""
    before = signal.getsignal(signal.SIGINT)

    def run(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["askfirst", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return (ended.value.code, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGINT, before)


def test_a_short_run_through_the_command_line(here: Here, tmp_path: Path) -> None:
    sets = (
        "train.steps=2",
        "train.scenarios_per_step=5",
        "train.group_size=4",
        "evaluation.every=2",
        "arm=[{ name = 'anchored' }]",
        "evaluation.dev_items=16",
        "evaluation.sealed_items=16",
    )
    sets += ("matrix.seeds=[0]", "selection.min_informative_fraction=0.0", "selection.max_false_ask=1.0")
    sets += ("gate=[]", "decision.effect=0.9", "ship={ ambiguous_pass = { above = 0.0 } }")
    arguments = [a for s in sets for a in ("--set", s)]
    code, said, errors = here("run", PLAN_FILE, "--out", tmp_path / "run", *arguments)
    assert code in (0, 1), said + errors
    assert (tmp_path / "run" / "verdict.json").is_file()
    _, said, _ = here(
        "eval", "--model", "nano", "--checkpoint", tmp_path / "run", "--split", "dev", "--set", "items=8", "--json"
    )
    assert json.loads(said)[0]["checkpoint"].startswith("anchored/seed-0@")
    code, _, errors = here("eval", "--model", "tabular", "--checkpoint", tmp_path / "run", "--split", "dev")
    assert code == 2
    assert "was trained on nano, not on tabular" in errors


def test_a_prompt_too_long_for_the_model_is_refused_with_numbers(nano: Policy) -> None:
    stage = replace(STAGE, sampling=Sampling(4000))
    with pytest.raises(ValueError, match="exceeds the model's context"):
        rollouts(stage, nano, SCORER, ENV.scenarios("dev", 1, 1), Draw(0, 0, 2))
