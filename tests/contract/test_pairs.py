"""Preference pairs: the file that ships, what rewards make of it, and every way in which a file can be wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from askfirst import plugins
from askfirst.cases import read_cases
from askfirst.cli import pairing
from askfirst.cli.app import app
from askfirst.contracts.pairs import judge
from askfirst.errors import InputError
from askfirst.pairs import Pair, read_pairs, write_pairs
from askfirst.replies import SAID
from askfirst.stats import clopper_pearson
from askfirst.values import FrozenMap, Scenario, Score, Trajectory

FILE = Path(__file__).parents[2] / "examples" / "pairs-judgment.jsonl"
PAIRS = read_pairs(FILE)


def reward(total: Callable[[str], float]) -> ModuleType:
    """A reward of the reply's text alone, in [0, 1]."""

    def score(scenario: Scenario, trajectory: Trajectory, params: object) -> Score:
        found = total(trajectory.reply)
        return Score(found, FrozenMap({"x": found}), found == 1.0, () if found == 1.0 else ("no",), "planted@1")

    module = ModuleType("planted")
    module.__dict__.update(score=score, BOUNDS=(0.0, 1.0))
    return module


def test_there_are_150_of_every_family_and_no_two_are_alike() -> None:
    assert len(PAIRS) >= 150
    assert {pair.family for pair in PAIRS} == set(plugins.load("envs", "judgment").FAMILIES)
    assert all(pair.name.startswith(f"{pair.family}/") and len(pair.why.split()) >= 3 for pair in PAIRS)
    assert len({pair.why for pair in PAIRS}) == len(PAIRS)
    words = [
        set(re.findall(r"[a-z']+", f"{p.scenario.opening[-1].content.rpartition(SAID)[2]} {p.chosen} {p.rejected}"))
        for p in PAIRS
    ]
    alike = max(len(a & b) / len(a | b) for a, b in combinations(words, 2))
    assert alike < 0.7, "a row that is another one but for its names shares nearly all of its words"


def test_none_is_of_a_request_that_a_model_is_judged_by() -> None:
    env = plugins.load("envs", "judgment")
    judged = {s.opening[-1].content for s in env.scenarios("dev", 1500, 0)}
    assert not judged & {pair.scenario.opening[-1].content for pair in PAIRS}


@pytest.mark.parametrize("name", ["slots", "shaped"])
def test_rewards_that_are_trained_on_prefer_no_rejected_reply(name: str) -> None:
    report = judge(plugins.load("rewards", name), PAIRS)
    assert [each.pair.name for each in report.failing] == []
    assert report.rate == clopper_pearson.interval(len(PAIRS), len(PAIRS))
    assert len(report.ties) <= 7
    assert len(report.unpassed) <= 3


def test_what_fails_is_partial_or_tied_is_told_apart() -> None:
    few = PAIRS[:4]
    totals = {few[0].chosen: 1.0, few[1].chosen: 0.3, few[2].chosen: 0.3, few[2].rejected: 0.3, few[3].rejected: 1.0}
    report = judge(reward(lambda text: totals.get(text, 0.0)), few)
    assert [each.pair for each in report.failing] == [few[3]]
    assert [each.pair for each in report.unpassed] == list(few[1:])
    assert [each.pair for each in report.ties] == [few[2]]
    assert report.rate == clopper_pearson.interval(3, 4)
    assert judge(reward(lambda text: 1.0), few).failing == ()


def test_no_pairs_have_no_rate() -> None:
    with pytest.raises(ValueError, match="n"):
        judge(reward(lambda text: 1.0), ())


def test_the_command_lists_what_fails_and_exits_1(tmp_path: Path) -> None:
    told = [each.pair for each in judge(plugins.load("rewards", "strict"), PAIRS).judged if each.chosen.passed]
    swapped = [Pair(p.name, p.family, p.scenario, p.rejected, p.chosen, p.why) for p in told[:2]]
    path = tmp_path / "swapped.jsonl"
    write_pairs(path, [*told[2:4], *swapped])
    result = CliRunner().invoke(app, ["check", "rewards", "strict", "--pairs", str(path), "--json"])
    assert result.exit_code == 1
    [row] = json.loads(result.stdout)
    assert row["holds"], "the reward's own cases hold"
    assert {law["law"] for law in row["laws"] if law["exception"]} == {"white space", "richer"}
    [found] = row["pairs"]
    assert (found["pairs"], found["held"], found["holds"]) == (4, 2, False)
    assert [each["name"] for each in found["failing"]] == [pair.name for pair in swapped]
    assert found["failing"][0]["why"] == swapped[0].why
    assert found["rate"]["lower"] == clopper_pearson.interval(2, 4).lower


def test_a_person_reads_the_names_the_scores_and_why(tmp_path: Path) -> None:
    swapped = Pair("bad \x1b[2J", "f", PAIRS[-1].scenario, PAIRS[-1].rejected, PAIRS[-1].chosen, PAIRS[-1].why)
    write_pairs(tmp_path / "p.jsonl", [swapped, *PAIRS])
    [found] = pairing.judged("strict", pairing.read((tmp_path / "p.jsonl",)))
    first, *rest = found.lines()
    assert first.startswith("✗ rewards/strict on p.jsonl: chosen scores at least rejected in 147 of 151, 97.4% [93.4%")
    assert rest[0] == f"    fails     bad \\x1b[2J: chosen 0 (intent_mismatch), rejected 1: {PAIRS[-1].why}"
    assert sum(line.startswith("    fails") for line in rest) == 4
    assert sum(line.startswith("    no pass") for line in rest) == pairing.LISTED + 1
    assert "and 33 more" in [line for line in rest if line.startswith("    no pass")][-1]


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    write_pairs(tmp_path / "p.jsonl", PAIRS)
    assert read_pairs(tmp_path / "p.jsonl") == PAIRS
    assert (tmp_path / "p.jsonl").read_text("utf-8") == FILE.read_text("utf-8")


GOOD = FILE.read_text("utf-8").splitlines()[0]
BAD = {
    "empty": ("", "", "no pairs"),
    "no json": ("{", ":1", "not JSON"),
    "deep": ("[" * 100_000, ":1", "not JSON"),
    "no object": ("3", ":1", "not a PairLine"),
    "a blank line": (f"{GOOD}\n\n", ":2", "not JSON"),
    "latin-1": (GOOD.encode().replace(b"who should", b"wh\xff should"), ":1", "not JSON"),
    "unknown field": (GOOD.replace('"why"', '"reason"'), ":1", "PairLine"),
    "no truth": (re.sub(r'"truth":\{.*?\}', '"truth":{}', GOOD), ":1", "truth.intent"),
    "unknown intent": (GOOD.replace('"intent":"clarify"', '"intent":"clarfy"'), ":1", "no intent is called 'clarfy'"),
    "unknown slot": (GOOD.replace('"slot":"recipient"', '"slot":"who"'), ":1", "no slot is called 'who'"),
    "no text": (re.sub(r'"chosen":".*?","family"', '"chosen":3,"family"', GOOD), ":1", "chosen"),
    "one reply twice": (json.dumps({**json.loads(GOOD), "chosen": PAIRS[0].rejected}), ":1", "the same reply"),
    "one name twice": (f"{GOOD}\n{GOOD}\n", ":2", "name of its own"),
    "a last line without its end": (f"{GOOD}\n{{", ":2", "not JSON"),
}


@pytest.mark.parametrize(("body", "where", "words"), BAD.values(), ids=BAD)
def test_a_malformed_file_is_refused_with_its_line(body: str | bytes, where: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(body if isinstance(body, bytes) else body.encode())
    with pytest.raises(InputError, match=re.escape(words)) as error:
        read_pairs(path)
    assert error.value.where == f"{path}{where}"


def test_a_missing_file_and_pairs_for_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_pairs(tmp_path / "none.jsonl")
    result = CliRunner().invoke(app, ["check", "losses", "--pairs", str(FILE)])
    assert isinstance(result.exception, InputError)
    assert "for rewards, not for losses" in result.exception.message


def test_attacks_by_hand_count_without_a_last_newline_too(tmp_path: Path) -> None:
    attacks = sorted((Path(__file__).parents[1] / "attacks").glob("*.jsonl"))[0]
    path = tmp_path / "a.jsonl"
    path.write_text(attacks.read_text("utf-8").rstrip("\n"), "utf-8")
    assert read_cases(path) == read_cases(attacks)
