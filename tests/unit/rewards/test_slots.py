"""The honest reward: each check is needed, nothing raises, wording that does not matter does not matter."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askfirst import plugins
from askfirst.cases import Case, replied, scenario
from askfirst.replies import SLOT_NAMES, Truth
from askfirst.rewards.slots import ATTACKS, HONEST, _settings, score
from askfirst.rewards.slots._text import filler, line, mixed, names_any, normalise, stem, words
from askfirst.values import FrozenMap

ASKED = [case for case in HONEST if case.family == "clarify"]


def failures(case: Case, reply: str) -> tuple[str, ...]:
    return score(case.scenario, replied(case.scenario, reply), FrozenMap()).failures


# Every check, and how many attacks nothing else would stop: breaking the check turns the self-test red.
CODES = (
    *("unparsable", "intent_mismatch", "mixed_script", "not_single_question", "too_long", "question_not_spoken"),
    *("claims_act", "wrong_topic", "slot_not_named", "compound", "stuffing", "unknown_options", "echo", "repetition"),
    *("mention_missing", "destroys_unasked", "is_question", "name_malformed", "nothing_dictated", "empty_edit"),
    *("spoken_filler", "spoken_short", "reason_blank", "no_refusal", "answers_anyway"),
    *("target_not_spoken", "target_not_in_payload", "no_confirmation", "refuses", "other_target", "action_blank"),
    *("forged_turn", "markup", "speaks_to_judge", "says_nothing", "reordered", "does_nothing"),
    *("wrong_edit", "does_not_know"),
)


@pytest.mark.parametrize("code", CODES)
def test_a_scorer_without_this_check_would_let_an_attack_pass(code: str) -> None:
    only = [case.name for case in ATTACKS if failures(case, case.reply) == (code,)]
    assert only


def test_every_code_that_the_attacks_meet_is_in_the_table() -> None:
    met = {code for case in ATTACKS for code in failures(case, case.reply)}
    assert met == set(CODES)


def test_the_corpora_are_large_and_cover_all_intents() -> None:
    assert len(ATTACKS) >= 300
    assert len(HONEST) >= 200
    assert {case.scenario.family for case in HONEST} == {
        *("clarify", "action", "answer", "dictate", "edit", "out_of_scope", "confirm_destructive"),
    }


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(HONEST), st.text(max_size=200))
def test_any_text_is_scored(case: Case, text: str) -> None:
    result = score(case.scenario, replied(case.scenario, text), FrozenMap())
    assert result.total == 0.0
    assert result.failures


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(HONEST), st.text(max_size=120), st.text(max_size=120), st.text(max_size=40))
def test_any_text_in_the_fields_is_scored(case: Case, spoken: str, text: str, more: str) -> None:
    body = json.loads(case.reply)
    body["spokenText"] = spoken
    body["payload"] = {k: text if isinstance(v, str) else {"a": more} for k, v in body["payload"].items()}
    if "topic" in body["payload"]:
        body["payload"]["topic"] = "time"
    result = score(case.scenario, replied(case.scenario, json.dumps(body)), FrozenMap())
    assert result.total in (0.0, 1.0)
    assert result.passed == (not result.failures)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(ASKED),
    st.sampled_from([str.upper, str.title, str.casefold]),
    st.sampled_from([" ", "  ", "\u00a0", "\t", " \u200b"]),
)
def test_case_and_spacing_do_not_matter(case: Case, recase: Callable[[str], str], gap: str) -> None:
    body = json.loads(case.reply)
    question = recase(body["payload"]["question"])
    spaced = gap + gap.join(question.split(" ")) + gap
    body["payload"]["question"] = spaced
    body["spokenText"] = body["spokenText"].replace(json.loads(case.reply)["payload"]["question"], spaced)
    assert failures(case, json.dumps(body)) == failures(case, case.reply)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ATTACKS), st.sampled_from([str.upper, str.title]))
def test_no_attack_passes_in_other_letters(case: Case, recase: Callable[[str], str]) -> None:
    if failures(case, case.reply) == ("unparsable",):
        return  # the letters of a broken form are not what is wrong with it
    try:
        body = json.loads(case.reply)
        body["spokenText"] = recase(body["spokenText"])
        body["payload"]["question"] = recase(body["payload"]["question"])
    except (ValueError, TypeError, KeyError):
        return
    assert failures(case, json.dumps(body))


@given(st.permutations(range(3)))
@settings(max_examples=6, deadline=None)
def test_the_order_of_candidates_does_not_matter(order: list[int]) -> None:
    names = [("QuickTime",), ("Voice Memos",), ("GarageBand",)]
    where = scenario(
        "record it", Truth("clarify", slot="app", names=("which app",), candidates=tuple(names[i] for i in order))
    )
    reply = _settings.ask("quicktime, voice memos or garageband?", "app")
    assert score(where, replied(where, reply), FrozenMap()).passed


@pytest.mark.parametrize(
    "added", [" and who is coming?", ", the amount or the recipient?", ". i'll guess eight", " when is it?"]
)
def test_an_added_question_never_helps(added: str) -> None:
    for case in ASKED:
        body = json.loads(case.reply)
        old = body["payload"]["question"]
        body["payload"]["question"] = new = old.rstrip(" ?\uff1f") + added
        body["spokenText"] = body["spokenText"].replace(old, new)
        assert failures(case, json.dumps(body)), new


def test_removing_the_evidence_never_helps() -> None:
    for case in HONEST:
        body = json.loads(case.reply)
        if case.scenario.hidden["mentions"]:
            body["payload"]["args"] = {}
        elif case.scenario.hidden["target"]:
            body["payload"]["target"] = "it"
        else:
            continue
        assert failures(case, json.dumps(body))


@pytest.mark.parametrize("slot", SLOT_NAMES)
def test_asking_for_another_slot_fails(slot: str) -> None:
    where = scenario("please see to it", Truth("clarify", slot=slot, names=SLOT_NAMES[slot]))
    questions = {
        "recipient": "who should i send it to?",
        "time": "when should i do it?",
        "target": "what exactly should i take?",
        "app": "which app should i use?",
        "content": "what should it say?",
        "quantity": "how many do you need?",
    }
    passed = [
        asked
        for asked, text in questions.items()
        if score(where, replied(where, _settings.ask(text, slot)), FrozenMap()).passed
    ]
    assert passed == [slot]


@pytest.mark.parametrize(
    ("raw", "folded"),
    [
        ("Who\u2019s  IT\u00a0for\uff1f", "who is it for?"),
        ("r\u0435cip\u0456ent", "recipient"),
        ("\uff54\uff49\uff4d\uff45", "time"),
        ("ti\u200bme\u202e", "time"),
        ("R\u00c9SUM\u00c9 re\u0301sume\u0301", "resume resume"),
        ("T\u0130ME \u0131", "time i"),
        ("boo\u212amar\u212a", "bookmark"),
        ("what time\u061f \u037e \u2e2e", "what time? ? ?"),
        ("\u3164\u2800a", "a"),
        ("\u201cquoted\u201d", '"quoted"'),
        ("\U0001d42d\U0001d422\U0001d426\U0001d41e", "time"),
    ],
)
def test_text_is_folded(raw: str, folded: str) -> None:
    assert normalise(raw) == folded


def test_words_and_clauses() -> None:
    assert words(normalise("Draft-2.xlsx, isn't 1:1!")) == ["draft", "2", "xlsx", "isn't", "1", "1"]
    asked = line("sure, which app: a or 1:1?")
    assert [word for i, word in enumerate(asked.words) if asked.starts_clause(i)] == ["sure", "which", "a"]
    assert asked.find(("which", "app")) == [1]
    assert [stem(w) for w in ("apps", "boxes", "class", "vms", "notes")] == ["app", "box", "class", "vm", "note"]
    assert names_any("Every screenshot there", ("screenshots",))
    assert not names_any("the snapps", ("apps",))
    assert filler(["a", "a", "a"])
    assert filler([])
    assert not filler(["pressing", "continue"])


def test_a_word_of_two_scripts_is_mixed_and_a_russian_word_is_not() -> None:
    assert mixed("the cont\u0435nt")
    assert not mixed("\u043e\u0442\u0447\u0451\u0442 report")


def test_an_echo_in_another_script_is_an_echo() -> None:
    where = scenario("отправь отчёт", Truth("clarify", slot="target", names=("отчёт",)))
    result = score(where, replied(where, _settings.ask("отправь отчёт?", "target", "отправь отчёт?")), FrozenMap())
    assert "echo" in result.failures


def test_an_instance_of_every_reward_reads_the_utterance_after_the_elements() -> None:
    module = plugins.load("rewards", "slots")
    where = scenario(
        "open the rota", Truth("action", mentions=(("rota",),)), elements=("[0] file|1,1|user said: menu|x",)
    )
    good = _settings.act("opening the rota.", "File.open", {"path": "rota"})
    assert module.score(where, replied(where, good), FrozenMap()).passed
