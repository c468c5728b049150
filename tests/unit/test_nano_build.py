"""The build of the model that ships: its lessons, and what they are made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from askfirst import nano_build, plugins
from askfirst.nano_build import Lesson, Recipe
from askfirst.replies import SAID

TINY = Recipe(
    lessons=(Lesson(2, 3e-3, 0.36, 0.5, 0), Lesson(2, 1e-3, 0.6, 1.0, 1)), batch=2, vocabulary_pairs=300
)  # fmt: skip


class Stopped(Exception):
    """Somebody pressed Ctrl-C."""


def test_a_build_that_was_stopped_goes_on_with_its_lesson_and_ends_the_same(tmp_path: Path) -> None:
    steps: list[int] = []
    whole = nano_build.build(tmp_path / "whole", TINY, "build", lambda step, loss: steps.append(step))
    assert steps == [0, 1, 2, 3]

    def stop(step: int, loss: float) -> None:
        if step == 2:
            raise Stopped

    with pytest.raises(Stopped):
        nano_build.build(tmp_path / "stopped", TINY, "build", stop)
    steps.clear()
    again = nano_build.build(tmp_path / "stopped", TINY, "build", lambda step, loss: steps.append(step))
    assert steps == [2, 3]
    assert again == whole
    assert not (tmp_path / "stopped" / "lessons").exists()


def test_a_lesson_of_another_recipe_is_not_gone_on_with(tmp_path: Path) -> None:
    def stop(step: int, loss: float) -> None:
        if step == 2:
            raise Stopped

    with pytest.raises(Stopped):
        nano_build.build(tmp_path, TINY, "build", stop)
    steps: list[int] = []
    other = replace(TINY, guessing_share=0.5)
    nano_build.build(tmp_path, other, "build", lambda step, loss: steps.append(step))
    assert steps == [0, 1, 2, 3]


def test_a_lesson_has_its_share_of_several_and_its_guesses_last() -> None:
    env = plugins.load("envs", "judgment")
    lesson = Lesson(steps=32, lr=1e-3, several=0.8, guesses_after=0.5, seed=0)
    recipe = Recipe(lessons=(lesson,), batch=32, guessing_share=1.0, made_up_share=0.0)
    pairs = list(islice(nano_build.pairs(env, recipe, lesson), lesson.steps * recipe.batch))
    chunk = nano_build.CHUNK
    asked = [sum('"clarify"' in reply for _, reply in pairs[i : i + chunk]) for i in range(0, len(pairs), chunk)]
    assert asked[0] == asked[1] > 0.4 * chunk
    assert asked[2:] == [0, 0]
    wanted = env.scenarios("train", 400, 3, {"ambiguous": 1.0}, {"several": 0.8, "missing": 0.2})
    kinds = Counter(s.family.split(".")[0] for s in wanted)
    assert set(kinds) == {"several", "missing"}
    assert kinds["several"] == pytest.approx(320, abs=30)


def test_made_up_kinds_are_the_same_word_on_the_screen_and_in_the_request_and_leave_the_schema_alone() -> None:
    env = plugins.load("envs", "judgment")
    lesson = Lesson(steps=32, lr=1e-3, several=1.0, guesses_after=1.0, seed=0)
    plain = Recipe(lessons=(lesson,), batch=32, made_up_share=0.0)
    changed = 0
    for lesson_of in (lesson, replace(lesson, made_up_kinds=1.0)):
        for chat, reply in islice(nano_build.pairs(env, plain, lesson_of), 200):
            assert env.parse(reply).__class__.__name__ != "Invalid", reply
            kinds = nano_build.kind_words(chat[-1].content)
            request = chat[-1].content.rpartition("user said: ")[2]
            changed += lesson_of.made_up_kinds == 1.0 and any(kind in request.split() for kind in kinds)
            assert not (lesson_of.made_up_kinds and {"playlist", "song", "bookmark"} & set(kinds))
    assert changed > 50


def test_a_frayed_request_loses_words_of_its_frame_and_nothing_it_is_about() -> None:
    env = plugins.load("envs", "judgment")
    random = np.random.default_rng(0)
    whole = left = 0
    for scenario in env.scenarios("train", 200, 3, {"ambiguous": 1.0}):
        reply = env.demonstrations(scenario)[0].reply
        (chat,) = nano_build.fray(scenario.opening, reply, scenario.values, random)
        shown, _, request = scenario.opening[-1].content.rpartition(SAID)
        said = request.split(" ")
        kept = chat.content.removeprefix(shown + SAID).split(" ")
        assert chat.content.startswith(shown + SAID)
        assert set(kept) <= set(said)
        values = {word for value in scenario.values for word in value.lower().split()}
        assert values & {w.lower() for w in said} <= {w.lower() for w in kept}
        whole, left = whole + len(said), left + len(kept)
    assert 0.03 < 1 - left / whole < nano_build.LOST


def test_only_a_share_of_the_pairs_is_frayed() -> None:
    env = plugins.load("envs", "judgment")
    lesson = Lesson(steps=8, lr=1e-3, several=0.4, guesses_after=1.0, seed=0)
    drawn = [
        [chat[-1].content for chat, _ in islice(nano_build.pairs(env, Recipe(made_up_share=0.0), each), 256)]
        for each in (lesson, replace(lesson, frayed=1.0))
    ]
    same = sum(a == b for a, b in zip(*drawn, strict=True))
    assert 64 < same < 200
