"""The judgment environment: what is drawn, from what, and the replies that go with it."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import cycle, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.cases import replied
from askfirst.envs import judgment
from askfirst.envs._mix import apportion, distinct
from askfirst.envs.judgment import _tables
from askfirst.envs.judgment._draw import Draw, fill
from askfirst.envs.judgment._frames import PAIRS, Frame, frames, open_class
from askfirst.envs.judgment._kinds import KINDS
from askfirst.envs.judgment._split import SPLITS, split_of_line
from askfirst.envs.judgment._words import APPS, POOLS
from askfirst.errors import EnvironmentFault, InputError, SplitError
from askfirst.replies import SLOTS, parse_reply, truth
from askfirst.store import content_hash
from askfirst.values import Ask, Invalid, Scenario

MARK = "user said: "
EVEN = dict.fromkeys(judgment.STRATA, 1)
KNOWN = [s for split in SPLITS for s in judgment.scenarios(split, 500, 21, EVEN)]


def utterance(scenario: Scenario) -> str:
    return scenario.opening[0].content.rpartition(MARK)[2]


def labels(scenario: Scenario) -> list[str]:
    return re.findall(r"^\[\d+\] [^|]+\|\d+,\d+\|([^|]+)\|", scenario.opening[0].content, re.MULTILINE)


def test_draws_are_pinned() -> None:
    # A change of what a seed draws is a change of VERSION: write both anew together.
    drawn = [(s.id, s.twin) for split in SPLITS for s in judgment.scenarios(split, 100, 0)]
    assert (judgment.VERSION, content_hash(drawn)[:12]) == ("3", "784d3c99fec8")


def test_the_default_batch() -> None:
    drawn = judgment.scenarios("train", 200, 0)
    counts = Counter(s.stratum for s in drawn)
    assert counts == {
        "ambiguous": 130,
        "clear_twin": 28,
        "out_of_scope": 12,
        "destructive": 10,
        "action": 7,
        "answer": 6,
        "dictate": 4,
        "edit": 3,
    }
    assert [s.stratum for s in drawn] != sorted(s.stratum for s in drawn)
    assert sum(judgment.CLEAR_MIX.values()) == pytest.approx(1)
    assert set(judgment.CLEAR_MIX) == set(judgment.STRATA) - {"ambiguous"}


@given(
    st.dictionaries(st.sampled_from(judgment.STRATA), st.floats(0.001, 1000), min_size=1),
    st.integers(0, 500),
)
def test_apportioning_is_exact(weights: dict[str, float], n: int) -> None:
    counts = apportion(weights, n)
    total = sum(weights.values())
    assert sum(counts.values()) == n
    assert all(abs(counts[name] - n * weight / total) < 1 for name, weight in weights.items())


def test_twins_stand_at_the_same_place() -> None:
    ambiguous = judgment.scenarios("dev", 300, 3, {"ambiguous": 1})
    clear = judgment.scenarios("dev", 300, 3, {"clear_twin": 1})
    assert [s.twin for s in ambiguous] == [s.twin for s in clear]
    assert [f"clear.{s.family}" for s in ambiguous] == [s.family for s in clear]
    assert {s.family.split(".")[0] for s in ambiguous} == set(PAIRS)
    for one, other in zip(ambiguous, clear, strict=True):
        assert truth(one).intent == "clarify"
        assert truth(other).intent == "action"
        assert set(open_values(one)) <= set(one.values)


def open_values(scenario: Scenario) -> list[str]:
    """The values of every pool that the utterance holds, as its template says."""
    frame = next(f for f in frames() if f.id == scenario.template)
    return list(scenario.values[: len(open_class(frame.before))])


def test_seeds_do_not_share_scenarios_by_construction() -> None:
    one, two = (judgment.scenarios("train", 300, seed) for seed in (1, 2))
    assert len({s.id for s in one} & {s.id for s in two}) < 15


@pytest.mark.parametrize("split", ["test", "Train", "", "suite"])
def test_unknown_splits_are_refused(split: str) -> None:
    with pytest.raises(SplitError, match="train, dev, sealed"):
        judgment.scenarios(split, 1, 0)


@pytest.mark.parametrize(
    "strata", [{}, {"clear": 1}, {"action": 0}, {"action": -1, "edit": 3}, {"action": float("nan")}, {"edit": 1e999}]
)
def test_bad_mixes_are_refused(strata: dict[str, float]) -> None:
    with pytest.raises(InputError):
        judgment.scenarios("train", 4, 0, strata)


def test_edges_of_the_count() -> None:
    assert judgment.scenarios("train", 0, 0) == []
    assert len(judgment.scenarios("train", 1, 0)) == 1
    with pytest.raises(InputError):
        judgment.scenarios("train", -1, 0)


def test_an_exhausted_stratum_is_a_fault() -> None:
    with pytest.raises(EnvironmentFault, match="only 3 distinct scenarios found, 4 asked for"):
        distinct(cycle("abc"), 4, lambda letter: (letter,), "abc")


def test_fifty_thousand_distinct_scenarios() -> None:
    drawn = judgment.scenarios("train", 6000, 1)
    assert len({s.id for s in drawn}) == len({s.opening for s in drawn}) == 6000
    # The draw shows that filling works; the count of utterances says how far it goes.
    assert len({utterance(s) for s in drawn}) > 4500
    assert sum(fillings(frame) for frame in frames() if frame.split == "train" and frame.is_pair) > 50_000


def fillings(frame: Frame) -> int:
    """Ways to say a request, whatever is on the screen; every one has at least its plain form and ten wrappings."""
    pools = [len(APPS) if name.rstrip("2") == "app" else len(POOLS[name.rstrip("2")]["train"]) for name in frame.before]
    choices = [choice.count("|") + 1 for choice in re.findall(r"\(([^()]+)\)", frame.say)]
    return min(prod(pools) * prod(choices) * 11, 2000)  # no frame counts for more than a fraction of the whole


def test_every_family_has_frames_in_every_split() -> None:
    found: dict[str, Counter[str]] = {}
    for frame in frames():
        found.setdefault(frame.family, Counter())[frame.split] += 1
    assert all(set(counts) == set(SPLITS) for counts in found.values()), found
    total = sum(found.values(), Counter())
    assert 0.7 < total["train"] / total.total() < 0.85
    assert set(judgment.FAMILIES) == set(found) | {f"clear.{f}" for f in found if f.split(".")[0] in PAIRS}
    missing = {f.slot for f in frames() if f.family.startswith("missing.")}
    assert missing == set(SLOTS)


def frame_words(frame: Frame) -> set[str]:
    spoken = re.sub(r"\{[a-z]+\d?\}", " ", f"{frame.say} {frame.clear if frame.is_pair else ''}")
    return set(re.findall(r"[a-z']+", spoken))


def test_held_out_frames_combine_words_of_train_frames() -> None:
    # A frame with a word that no train frame has tests a vocabulary, not judgment.
    known = {word for frame in frames() if frame.split == "train" for word in frame_words(frame)}
    strange = {f.id: sorted(frame_words(f) - known) for f in frames() if not frame_words(f) <= known}
    assert not strange
    assert frame_words(frames()[0]) > {"email", "the", "notes"}


def test_a_line_of_a_table_names_its_split() -> None:
    assert split_of_line("dev: call {person}") == ("dev", "call {person}")
    assert split_of_line("sealed: call {person}") == ("sealed", "call {person}")
    assert split_of_line("say this: hello") == ("train", "say this: hello")


def wordings(template: str) -> set[str]:
    """Every way to say a template, its variables left open."""
    parts = [p[1:-1].split("|") if p.startswith("(") else [p] for p in re.split(r"(\([^()]*\))", template)]
    return {re.sub(r"\{[a-z]+\d?\}", "{}", "".join(chosen)) for chosen in product(*parts)}


def test_no_choice_makes_a_frame_of_another_split() -> None:
    owners: dict[str, str] = {}
    for frame in frames():
        for template in filter(None, (frame.say, frame.clear if frame.is_pair else "")):
            for wording in wordings(template.replace("{n}", f"<{frame.family}>")):
                assert owners.setdefault(wording, frame.split) == frame.split, wording
    assert len(owners) > 8000


def test_no_wording_of_a_frame_is_in_two_splits() -> None:
    owners: dict[str, str] = {}
    for frame in frames():
        kind = frame.family.split(".")[-1]
        wording = frame.say.replace("{n}", KINDS[kind].noun if kind in KINDS else kind)
        assert owners.setdefault(wording, frame.split) == frame.split, wording
    assert len(owners) == len(frames())


def test_no_value_is_in_two_splits() -> None:
    owners: dict[str, tuple[str, str]] = {}
    for name, pool in POOLS.items():
        assert set(pool) == set(SPLITS)
        for split, values in pool.items():
            assert len(values) >= 3, name
            for value in values:
                key = value.lower()
                assert owners.setdefault(key, (split, name))[0] == split, (value, name, owners[key])


def test_ambiguity_is_on_the_screen() -> None:
    several = [s for s in KNOWN if s.stratum == "ambiguous" and truth(s).candidates]
    assert len(several) > 60
    for scenario in several:
        named = [ways[0] for ways in truth(scenario).candidates]
        assert len(set(named)) == len(named) >= 2
        assert set(named) <= set(labels(scenario)), scenario.opening
        every = [{way.lower() for way in ways} for ways in truth(scenario).candidates]
        assert not set.intersection(*every)
        assert not any(one & other for i, one in enumerate(every) for other in every[:i])


def test_clear_twins_hold_what_they_must_carry() -> None:
    for scenario in KNOWN:
        for ways in truth(scenario).mentions:
            held = scenario.opening[0].content.lower()
            assert scenario.family == "action.misc" or any(w.lower() in held for w in ways) or WINDOW.search(held)


WINDOW = re.compile(r"window|scroll|page|right")  # positions and directions may be paraphrased


def test_one_element_of_the_kind_is_left_in_a_twin() -> None:
    clear = judgment.scenarios("train", 800, 5, {"clear_twin": 1})
    plain = [s for s in clear if s.family.split(".")[1] == "several" and s.family.split(".")[2] in KINDS]
    assert len(plain) > 150
    for scenario in plain:
        kind = KINDS[scenario.family.split(".")[2]]
        of_kind = [ln for ln in scenario.opening[0].content.split("\n") if ln.endswith(f"|{kind.text}")]
        label = truth(scenario).mentions[0][0]
        assert sum(f"|{label}|" in line for line in of_kind) == 1
        own = set(re.findall(r"[a-z0-9]+", utterance(scenario).lower()))
        told = any(set(re.findall(r"[a-z0-9]+", way.lower())) & own for way in truth(scenario).mentions[0][1:])
        assert len(of_kind) == 1 or told, scenario.opening[0].content


def test_labels_on_a_screen_are_unique() -> None:
    for scenario in KNOWN:
        found = labels(scenario)
        assert len(found) == len(set(found)) == scenario.opening[0].content.count("\n[")


def test_superficial_cues_do_not_tell_twins_apart() -> None:
    ambiguous = judgment.scenarios("train", 1500, 9, {"ambiguous": 1})
    clear = judgment.scenarios("train", 1500, 9, {"clear_twin": 1})
    counts = [sum(len(labels(s)) for s in side) / len(side) for side in (ambiguous, clear)]
    assert counts[0] == pytest.approx(counts[1], rel=0.05)
    bare = [sum(not labels(s) for s in side) for side in (ambiguous, clear)]
    assert bare[0] == pytest.approx(bare[1], rel=0.1)
    lengths = [[len(utterance(s).split()) for s in side] for side in (ambiguous, clear)]
    # Lengths overlap: no threshold tells more than two thirds apart.
    best = max(
        sum(n <= cut for n in lengths[0]) / 1500 + sum(n > cut for n in lengths[1]) / 1500 for cut in range(3, 20)
    )
    assert best / 2 < 0.67


def test_honest_demonstrations_are_honest_and_guesses_are_not() -> None:
    slots = plugins.load("rewards", "slots")
    for scenario in KNOWN:
        for demonstration in judgment.demonstrations(scenario):
            score = slots.score(scenario, replied(scenario, demonstration.reply), {})
            assert score.passed != demonstration.guess, (scenario.family, demonstration.reply, score.failures)


def test_questions_are_short_single_and_no_echo() -> None:
    asked = Counter[str]()
    for scenario in (s for s in KNOWN if s.ambiguous):
        for demonstration in judgment.demonstrations(scenario):
            if demonstration.guess:
                continue
            reply = parse_reply(demonstration.reply)
            question = str(reply.payload["question"])
            asked[question] += 1
            assert reply.spoken == question == question.lower()
            assert reply.payload["topic"] == truth(scenario).slot
            assert question.endswith("?")
            assert question.count("?") == 1
            assert 3 <= len(question.split()) <= 14
            assert len(question) <= 140
            one, other = (set(re.findall(r"[a-z0-9']+", text.lower())) for text in (question, utterance(scenario)))
            assert len(one & other) <= 0.6 * len(one | other)
    assert len(asked) > 150


def test_demonstrations_are_short() -> None:
    sizes = []
    for scenario in KNOWN:
        shown = judgment.demonstrations(scenario)
        assert 1 <= sum(not d.guess for d in shown) <= 3
        assert (1 <= sum(d.guess for d in shown) <= 2) == scenario.ambiguous
        assert len(set(shown)) == len(shown)
        for demonstration in shown:
            spoken = json.loads(demonstration.reply)["spokenText"]
            assert 3 <= len(spoken.split()) <= 14
            assert "{" not in spoken
            sizes.append(len(demonstration.reply))
    assert max(sizes) < 260
    assert sum(sizes) / len(sizes) < 150


def test_demonstrations_follow_their_seed() -> None:
    drawn = [s for s in KNOWN if s.ambiguous]
    assert [judgment.demonstrations(s, 4) for s in drawn] == [judgment.demonstrations(s, 4) for s in drawn]
    assert [judgment.demonstrations(s, 4) for s in drawn] != [judgment.demonstrations(s, 5) for s in drawn]


def test_a_guess_invents_or_picks() -> None:
    for scenario in (s for s in KNOWN if s.ambiguous and truth(s).candidates):
        named = {ways[0] for ways in truth(scenario).candidates}
        for guess in (d for d in judgment.demonstrations(scenario) if d.guess):
            assert any(
                name in json.dumps(json.loads(guess.reply)["payload"]["args"], ensure_ascii=False) for name in named
            )


def test_destructive_targets_are_spoken() -> None:
    for scenario in (s for s in KNOWN if s.stratum == "destructive"):
        judged = truth(scenario)
        for demonstration in judgment.demonstrations(scenario):
            reply = parse_reply(demonstration.reply)
            assert str(reply.payload["target"]).lower() in reply.spoken.lower()
            assert reply.payload["target"] in judged.target
        assert judged.confirm_target in judged.target


def test_topics_are_the_pool() -> None:
    found = {truth(s).topic for s in KNOWN if s.ambiguous}
    assert found <= set(judgment.TOPICS)
    assert list(judgment.TOPICS) == sorted(set(judgment.TOPICS))
    assert all(truth(s).pool == judgment.TOPICS for s in KNOWN)


def test_an_episode_is_one_turn() -> None:
    scenario = KNOWN[0]
    assert judgment.start(scenario) == scenario.opening
    assert judgment.step(scenario, scenario.opening) is None
    asked = next(d for s in KNOWN if s.ambiguous for d in judgment.demonstrations(s) if not d.guess)
    assert isinstance(judgment.parse(asked.reply), Ask)
    assert isinstance(judgment.parse("who?"), Invalid)


def test_the_compact_prompt(tmp_path: object) -> None:
    prompt = judgment.system_prompt("compact")
    assert prompt == judgment.SYSTEM_PROMPT
    assert len(prompt) <= 570
    for word in ("spokenText", *SLOTS, "action", "answer", "dictate", "edit", "out_of_scope", "confirm_destructive"):
        assert word in prompt


def test_a_prompt_from_a_file(tmp_path) -> None:
    (tmp_path / "p.txt").write_text("be brief\n")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\xff")
    assert judgment.system_prompt(f"file:{tmp_path / 'p.txt'}") == "be brief"
    for name in ("long", "file:", f"file:{tmp_path / 'none.txt'}", f"file:{tmp_path}", f"file:{tmp_path / 'bad.txt'}"):
        with pytest.raises(InputError):
            judgment.system_prompt(name)


def test_edited_tables_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tables, "SHA256", "0" * 64)
    with pytest.raises(EnvironmentFault, match=r"hash to [0-9a-f]{64}"):
        _tables._tables.__wrapped__()


def test_draws_are_even() -> None:
    draw = Draw(1)
    assert Counter(draw.below(4) for _ in range(4000)).most_common(1)[0][1] < 1150
    assert sorted(draw.some("abc", 5)) == ["a", "b", "c"]
    assert len(set(draw.some(range(100), 4))) == 4
    assert {draw.weighted("ab", [0.9, 1.0]) for _ in range(200)} == {"a", "b"}
    assert {draw.choose("(a|b) c") for _ in range(50)} == {"a c", "b c"}
    assert fill("{x:slug}.txt {x:cap} {x}", {"x": "tax return"}) == "tax-return.txt Tax return tax return"
