"""The name of a variant: read back it is the variant, and no other text is a name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askfirst.errors import InputError
from askfirst.runfolder import variant_name, variant_parts
from askfirst.slugs import CURRICULA, Cell, parse, slug

# Plugin names, and whatever else a reward could be called; some of it looks like the rest of a slug.
REWARDS = st.one_of(
    st.sampled_from(["slots", "ours.rewards:static", "x_static_seed-1_g-2_kl-0", "a_arm-b", "%2D", "é", "-", "_"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)
CELLS = st.builds(
    Cell,
    REWARDS,
    st.sampled_from(CURRICULA),
    st.integers(1, 10**9),
    st.floats(min_value=0, allow_infinity=False),
    st.from_regex(r"[a-z0-9][a-z0-9-]{0,6}", fullmatch=True),
)


@given(CELLS, st.integers(-(10**20), 10**20))
def test_a_slug_reads_back_as_its_variant(cell: Cell, seed: int) -> None:
    text = slug(cell, seed)
    assert parse(text) == (cell, seed)
    assert re.fullmatch(r"[A-Za-z0-9_.%+-]+", text), "a folder on every system"


@given(CELLS, st.integers(-(10**20), 10**20))
def test_the_name_without_the_seed_and_the_seed_are_in_the_folder(cell: Cell, seed: int) -> None:
    assert variant_parts(variant_name(cell.name, seed)) == (cell.name, seed)


def test_the_published_example() -> None:
    cell = Cell("reward_v0_correctness", "static", 4, 0.02)
    assert slug(cell, 20260601) == "reward_v0_correctness_static_seed-20260601_g-4_kl-0.02"
    assert slug(Cell("theirs.rewards:ours", "informative", 8, 0, "warm"), -3) == (
        "theirs.rewards%3Aours_informative_seed--3_g-8_kl-0_arm-warm"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slots_static_seed-1_g-4_kl-0.02_static",  # the curriculum twice, as in the requirement
        "slots_static_seed-1_g-4_kl-0.020",
        "slots_static_seed-1_g-04_kl-0",
        "slots_static_seed-+1_g-4_kl-0",
        "slots_static_seed-1_g-4_kl-0_arm-main",
        "slots_random_seed-1_g-4_kl-0",
        "slots_static_seed-1_g-0_kl-0",
        "slots_static_seed-1_g-4_kl-1e999",
        "slots_static_seed-1_g-4_kl-..",
        "a-b_static_seed-1_g-4_kl-0",
        "%C3_static_seed-1_g-4_kl-0",
        "anchored/seed-0",
        "slots_static_seed-１_g-4_kl-0",
    ],
)
def test_what_no_variant_is_called_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not the name of a variant"):
        parse(text)


@pytest.mark.parametrize("wrong", [("", "static", 4, 0.0), ("a", "b", 4, 0.0), ("a", "static", 4, float("nan"))])
def test_what_is_no_point_of_a_matrix_is_refused(wrong: tuple[str, str, int, float]) -> None:
    with pytest.raises(ValueError, match="not a point"):
        Cell(*wrong)


@pytest.mark.parametrize("name", ["anchored/seed-0", "free/seed--7"])
def test_a_plan_without_axes_keeps_its_folders(name: str) -> None:
    assert variant_name(*variant_parts(name)) == name
    with pytest.raises(ValueError, match="invalid literal"):
        variant_parts("elsewhere")
