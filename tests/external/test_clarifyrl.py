"""The rewards of ClarifyRL against numbers that the published environment returned, row by row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from askfirst.clarify.clarifyrl import CARD, GATE, Call, Setting, parts, replay, scope_of

DATA = Path(__file__).parents[3] / "shared" / "data" / "clarifyrl"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the folder ../shared/data/clarifyrl is not here")
NAMES = ("format", "field_match", "info_gain", "efficiency", "hallucination")


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("ascii").split("\n") if line]


def setting(row: dict[str, Any]) -> Setting:
    return Setting(
        row["hidden_profile"],
        tuple(row["critical_fields"]),
        tuple(row["required_keys"]),
        scope_of(row["family"]),
        row["max_questions"],
    )


def differing(case: str, found: dict[str, Any], wanted: dict[str, Any]) -> list[tuple[str, str, Any, Any]]:
    return [
        (case, name, found[name], value)
        for name, value in wanted.items()
        if found[name] != pytest.approx(value, abs=1e-9)
    ]


def test_every_recorded_plan_is_scored_alike() -> None:
    cases, wrong = rows("reward_cases.jsonl"), []
    assert len(cases) == 230
    gated = 0
    for row in cases:
        found = parts(setting(row), row["plan"], row["asked_fields"], row["questions_asked"])
        values = {name: getattr(found, name) for name in NAMES}
        if row["parse"].startswith("raises"):
            assert (found.format, found.code) == (0.0, 0.0)
            continue
        wanted = row["components_ungated"]
        wrong += differing(row["case"], values, wanted) + differing(
            row["case"], {"score": found.code}, {"score": row["score"]}
        )
        gated += found.format < GATE
        # The card's weights over the recorded components: what it would have paid if it had run.
        stated = sum(weight * wanted[name] for name, weight in CARD.items())
        wrong += differing(row["case"], {"card": found.card}, {"card": stated})
    assert wrong == []
    assert gated == 43


def test_every_recorded_episode_is_paid_alike() -> None:
    cases, wrong = rows("episode_cases.jsonl"), []
    assert len(cases) == 47
    for row in cases:
        calls: list[Call] = []
        known: str | None = None
        for step, detail in zip(row["steps"], row["step_details"], strict=True):
            known = detail.get("field_revealed") or known
            tells = detail.get("field_revealed") or detail.get("duplicate")  # which one again is not recorded
            calls.append(Call(step["tool"], step["arguments"], (known,) if tells and known else ()))
        found = replay(setting(row), calls, row["max_steps"])
        score = found.parts.code if found.parts else None
        wrong += differing(
            row["case"],
            {
                "rewards": [step.reward for step in found.steps],
                "done": [step.done for step in found.steps],
                "failed": [step.failed for step in found.steps],
                "revealed": sorted(found.revealed),
                "asked": found.asked,
            },
            {
                "rewards": row["step_rewards"],
                "done": row["done_flags"],
                "failed": [detail["tool_error"] for detail in row["step_details"]],
                "revealed": row["fields_revealed"],
                "asked": row["questions_asked"],
            },
        )
        assert (score is None) == (row["final_score"] is None), row["case"]
        assert score is None or score == pytest.approx(row["final_score"], abs=1e-9), row["case"]
    assert wrong == []
