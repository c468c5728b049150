"""Fixture files of the judgment environment: read strictly or tolerantly, written without loss."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askfirst.cases import scenario as made
from askfirst.envs import judgment
from askfirst.envs.judgment._expect import slot_of
from askfirst.errors import SuiteError
from askfirst.replies import PAYLOADS, Truth, truth

LETTER = "USER: post the letter\nELEMENT: [0] row|1,2|To Kofi|letter\n"
GOOD = LETTER + "EXPECT_INTENT: clarify\nEXPECT_CLARIFY_TOPIC: which letter\n"


def read(text: str) -> Truth:
    return truth(judgment.read_fixture(text, "f"))


def test_a_fixture_is_shown_as_published() -> None:
    scenario = judgment.read_fixture(GOOD, "letter")
    assert (
        scenario.opening[0].content == "on-screen elements:\n[0] row|1,2|To Kofi|letter\n\nuser said: post the letter"
    )
    assert (scenario.split, scenario.stratum, scenario.ambiguous) == ("suite", "ambiguous", True)
    assert judgment.demonstrations(scenario) == ()
    plain = judgment.read_fixture("USER: any news\nEXPECT_INTENT: out_of_scope\n", "news")
    assert plain.opening[0].content == "user said: any news"
    assert (plain.stratum, plain.ambiguous) == ("out_of_scope", False)


@given(st.sampled_from(["train", "dev", "sealed"]), st.integers(0, 10_000))
def test_generated_scenarios_survive_being_written(split: str, seed: int) -> None:
    for scenario in judgment.scenarios(split, 8, seed, dict.fromkeys(judgment.STRATA, 1)):
        back = judgment.read_fixture(judgment.write_fixture(scenario), "back")
        assert truth(back) == truth(scenario)
        assert back.opening == scenario.opening
        assert scenario.stratum in (back.stratum, "clear_twin")


def test_what_the_format_cannot_hold_is_refused() -> None:
    for said in ("two\nlines", " space before", ""):
        with pytest.raises(SuiteError):
            judgment.write_fixture(made(said, Truth("clarify", "time")))
    with pytest.raises(SuiteError, match="does not fit"):
        judgment.write_fixture(made("move it", Truth("clarify", "time", candidates=(("a | b", "c"),))))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("EXPECT_INTENT: clarify\n", 1, "no USER line"),
        ("USER:\nEXPECT_INTENT: clarify\n", 2, "no USER line"),
        ("", 1, "no USER line"),
        ("USER: hi\n\nREASON: none\n", 3, "no EXPECT_INTENT line"),
        ("USER: hi\nEXPECT_INTENT: greet\n", 2, "no intent is called 'greet'"),
        ("USER: hi\nEXPECT_INTENT:\n", 2, "no intent is called ''"),
        ("USER: hi\nELEMENT: [0] row|1,2|three parts\nEXPECT_INTENT: clarify\n", 2, "expected ELEMENT"),
        ("USER: hi\nEXPECT_INTENT: clarify\nELEMENT: [x] row|1,2|Label|text\n", 3, "expected ELEMENT"),
        ("USER: hi\nELEMENT: [0] row|1,2||text\nEXPECT_INTENT: clarify\n", 2, "expected ELEMENT"),
    ],
)
def test_strict_reading_names_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(SuiteError, match=message) as raised:
        judgment.read_fixture(text, "odd")
    assert raised.value.where == f"odd:{line}"
    (tmp_path / "a.txt").write_text(GOOD)
    (tmp_path / "b.txt").write_text(text)
    with pytest.raises(SuiteError, match=message) as raised:
        judgment.read_suite(tmp_path)
    assert raised.value.where == f"{tmp_path / 'b.txt'}:{line}"
    assert judgment.read_fixture(text, "odd", strict=False).split == "suite"


def test_a_suite_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="no such suite folder"):
        judgment.read_suite(tmp_path / "missing")
    with pytest.raises(SuiteError, match=r"holds no \.txt fixtures"):
        judgment.read_suite(tmp_path)
    (tmp_path / "bad.txt").write_bytes(b"USER: caf\xc3\xa9\nREASON: \xff\n")
    with pytest.raises(SuiteError, match="not UTF-8") as raised:
        judgment.read_suite(tmp_path)
    assert raised.value.where == f"{tmp_path / 'bad.txt'}:2"
    (tmp_path / "bad.txt").unlink()
    (tmp_path / "dir.txt").mkdir()
    with pytest.raises(SuiteError, match="cannot read"):
        judgment.read_suite(tmp_path)


def test_a_suite_is_sorted_and_shares_its_pool(tmp_path: Path) -> None:
    for name, topic in (("b", "time"), ("a", "which letter"), ("c", "time")):
        (tmp_path / f"{name}.txt").write_text(GOOD.replace("which letter", topic))
    (tmp_path / "d.txt").write_text("USER: any news\nEXPECT_INTENT: out_of_scope\n")
    (tmp_path / "notes.md").write_text("not a fixture")
    suite = judgment.read_suite(tmp_path)
    assert [truth(s).topic for s in suite] == ["which letter", "time", "time", ""]
    assert {truth(s).pool for s in suite} == {("time", "which letter")}
    assert len({s.id for s in suite}) == 4  # the same text under two names is two fixtures


@pytest.mark.parametrize(
    ("topic", "slot"),
    [
        ("recipient", "recipient"),
        ("attendees-or-title", "recipient"),
        ("duration", "quantity"),
        ("how many copies, a number", "quantity"),
        ("query", "content"),
        ("which app", "app"),
        ("which spreadsheet", "target"),
        ("which message", "target"),
        ("which contact", "recipient"),
        ("what time", "time"),
        ("what day", "time"),
        ("task", "target"),
        ("", "target"),
    ],
)
def test_slots_of_annotations(topic: str, slot: str) -> None:
    assert slot_of(topic) == slot


def test_the_truth_that_follows_from_annotations() -> None:
    element = "ELEMENT: [{}] row|1,2|{}|{}\n"
    screen = element.format(0, "Letter to Kofi", "draft") + element.format(1, "Letter to Noor", "draft")
    judged = read(GOOD + screen + element.format(2, "Bin", "tool"))
    assert judged.slot == "target"
    assert {"which letter", "what letter"} <= set(judged.names)
    assert "which one" not in judged.names
    assert judged.candidates == (("To Kofi",), ("Letter to Kofi",), ("Letter to Noor", "noor"))
    alone = read("USER: fix that\nEXPECT_INTENT: clarify\nEXPECT_CLARIFY_TOPIC: target\n")
    assert "which one" in alone.names
    assert alone.candidates == ()
    doomed = "USER: drop {0}\nEXPECT_INTENT: confirm_destructive\nEXPECT_CONFIRM_TARGET: {0}\n"
    assert read(doomed.format("photos")).target == ("photos", "photo")
    assert read(doomed.format("photo")).target == ("photo", "photos")
    assert read(doomed.format("history")).target == ("history",)


def test_lines_of_our_own_outrank_what_would_follow() -> None:
    judged = read(GOOD + "X_SLOT: recipient\nX_NAME: who\nX_CANDIDATE: kofi | the chief\nX_POOL: a | b\n")
    assert judged == Truth(
        "clarify", "recipient", ("who",), (("kofi", "the chief"),), topic="which letter", pool=("a", "b")
    )


KEYS = ("USER", "EXPECT_INTENT", "EXPECT_CLARIFY_TOPIC", "EXPECT_CONFIRM_TARGET", "REASON", "ELEMENT", "ELEMENT: [3]")
LINES = st.builds(
    "{}: {}".format,
    st.sampled_from([*KEYS, "X_SLOT", "X_MENTION", "X_POOL", ""]),
    st.one_of(st.sampled_from([*PAYLOADS, "a|b|c|d", "which one", "time"]), st.text(max_size=20)),
)


@given(st.one_of(st.text(), st.lists(LINES, max_size=8).map("\n".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    tolerant = judgment.read_fixture(text, "fuzz", strict=False)
    assert tolerant.opening[0].content.rpartition("user said: ")[1]
    with contextlib.suppress(SuiteError):
        scenario = judgment.read_fixture(text, "fuzz")
        assert truth(scenario).intent in PAYLOADS
        assert scenario.opening[0].content.rpartition("user said: ")[2]
        assert scenario == tolerant


def test_characters_without_an_encoding_are_refused() -> None:
    with pytest.raises(SuiteError, match="UTF-8"):
        judgment.read_fixture("USER: \ud800\nEXPECT_INTENT: answer\n", "odd")
