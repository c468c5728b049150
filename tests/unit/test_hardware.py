"""Budgets from declared rates, against the token-budget table of the published GRPO-Clarify requirements."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from askfirst import hardware
from askfirst import plan as plans
from askfirst.errors import InputError

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"
# 4B weights in bf16 on 48 GB, 50 tokens/s, of which training reaches .5 to .7; 1.5k tokens of prompt, 120 of reply.
M5 = """
[machine]
name = "M5 Pro"
decode_tokens_per_second = 50
prefill_tokens_per_second = 500
training_decode_share = [0.5, 0.7]
memory_gib = 48

[model]
parameters = 4e9
bytes_per_parameter = 2
adapter_parameters = 33e6
kv_bytes_per_token = 147456

[lengths]
prompt_tokens = 1500
response_tokens = 120
"""


@pytest.fixture
def m5(tmp_path: Path) -> Path:
    path = tmp_path / "m5.toml"
    path.write_text(M5)
    return path


def seconds(work: hardware.Work, m5: Path) -> tuple[float, float, float]:
    found = hardware.seconds(work, hardware.load(m5).machine)
    return found.full, found.fast, found.slow


@pytest.mark.parametrize(
    ("size", "tokens", "took", "stated"),
    [(4, 480, (9.6, 13.714, 19.2), (10, 19)), (8, 960, (19.2, 27.429, 38.4), (19, 38))],
)
def test_a_step_of_one_prompt(m5: Path, size: int, tokens: int, took: tuple, stated: tuple) -> None:
    work = hardware.sampled(1, size, 1500, 120)
    assert (work.decoded, work.prefilled) == (tokens, 1500)
    found = seconds(work, m5)
    assert found == pytest.approx(took, abs=5e-4)
    assert (round(found[0]), round(found[2])) == stated


def test_an_epoch_of_200_prompts(m5: Path) -> None:
    work = hardware.sampled(200, 8, 1500, 120)
    assert work.decoded == 192_000
    minutes = [s / 60 for s in seconds(work, m5)]
    assert minutes == pytest.approx([64, 91.43, 128], abs=5e-3)  # stated: 65 at the full rate
    assert hardware.sampled(200, 4, 1500, 120).decoded * 2 == work.decoded


def test_evaluations(m5: Path) -> None:
    ambiguous, gate = (hardware.sampled(n, 1, 1500, 120) for n in (40, 130))
    assert ambiguous.decoded == 4800  # stated: about 5k
    assert [s / 60 for s in seconds(ambiguous, m5)[1:]] == pytest.approx([2.29, 3.2], abs=5e-3)  # stated: 2 to 3
    assert seconds(gate, m5)[2] / 60 == pytest.approx(10.4)  # stated: about 10


def test_a_plan_of_200_prompts_takes_the_tables_tokens(m5: Path) -> None:
    overrides = ["train.steps=20", "train.scenarios_per_step=10", "arm=[{ name = 'anchored' }]"]
    overrides += ["evaluation.dev_items=40", "evaluation.every=20", "evaluation.sealed_items=130", "matrix.seeds=[0]"]
    found = hardware.budget(plans.load(EXAMPLE, overrides), hardware.load(m5))
    assert [(p.name, p.work.decoded) for p in found.groups] == [("one prompt, G = 4", 480), ("one prompt, G = 8", 960)]
    parts = {p.name: p.work for p in found.phases}
    assert parts["training"] == hardware.Work(192_000, 200 * 1500, 1600 * 1620)
    assert parts["dev evaluations"].decoded == 2 * 4800  # before training, and after it
    assert parts["sealed evaluation"].decoded == 2 * 130 * 120  # the base model too
    assert "warm start" not in parts
    weights, adapter, cache = found.memory
    assert weights == 8e9
    assert adapter == 33e6 * 16
    assert cache == 8 * 1620 * 147456
    fast, slow = found.wall_seconds
    assert slow - fast == pytest.approx((192_000 + 9600 + 31_200) * (1 / 25 - 1 / 35))


def test_replies_are_as_long_as_the_plan_lets_them(tmp_path: Path) -> None:
    path = tmp_path / "h.toml"
    path.write_text(M5.replace("response_tokens = 120\n", ""))
    plan = plans.load(EXAMPLE)
    assert hardware.budget(plan, hardware.load(path)).response_tokens == plan.train.sampling.max_tokens == 400


def test_arms_seeds_epochs_and_a_warm_start_count(m5: Path) -> None:
    given = hardware.load(m5)
    one = hardware.budget(plans.load(EXAMPLE, ["arm=[{ name = 'anchored' }]"]), given)
    overrides = ["matrix.seeds=[0, 1]", "train.optimiser.epochs=2", "warmstart={ steps = 5, batch = 4 }"]
    many = hardware.budget(plans.load(EXAMPLE, overrides), given)
    first, later = ({p.name: p.work for p in b.phases} for b in (one, many))
    assert later["training"].decoded == 4 * first["training"].decoded
    assert later["training"].trained == 8 * first["training"].trained
    assert later["warm start"].trained == 2 * 5 * 4 * 1620


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("= 50\n", "= 0\n", "machine.decode_tokens_per_second"),
        ("[0.5, 0.7]", "[0.7, 0.5]", "low ≤ high"),
        ("[lengths]", "[length]", "lengths"),
        ("[machine]", "[machine", "does not parse"),
    ],
)
def test_bad_hardware_names_file_and_field(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "h.toml"
    path.write_text(M5.replace(old, new))
    assert tomllib.loads(M5)["machine"]["name"] == "M5 Pro"
    with pytest.raises(InputError, match=words) as caught:
        hardware.load(path)
    assert caught.value.where == str(path)
    with pytest.raises(InputError, match="cannot read"):
        hardware.load(tmp_path / "none.toml")


def test_an_arm_with_a_teacher_reads_its_rollouts_twice_more(m5: Path) -> None:
    given = hardware.load(m5)
    plain = plans.load(EXAMPLE, ["train.kl.beta=0.0", "arm=[{ name = 'anchored' }]"])
    taught = plans.load(EXAMPLE, ["arm=[{ name = 'anchored' }]", "train.advantage='sdpo_token'", "teacher={}"])
    one, other = (hardware.budget(plan, given).phases[0].work for plan in (plain, taught))
    assert other.prefilled - one.prefilled == 2 * 60 * 10 * 8 * (1500 + 120)
