"""Curricula: the chance that a group teaches, what is remembered, what is chosen, and a run that goes on as it was."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import plugins, train, watch
from askfirst.batches import draw_scenarios, drawable
from askfirst.curriculum import SEEN, Seen, chance_of_signal, choose, kind_of, read_seen
from askfirst.errors import InputError, Interrupted
from askfirst.policy import ModelSpec, Sampling
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.sections import CurriculumSection
from askfirst.store import TIME_FIELDS, generator, read_json, read_lines, write_json
from askfirst.values import Act, FrozenMap, Group, Message, Rollout, Scenario, Score, StopReason, Trajectory

EXAMPLE = Path(__file__).parents[2] / "examples" / "e2e.toml"
ENV = plugins.load("envs", "judgment")
INFORMATIVE = CurriculumSection(mode="informative", half_life=2.0)


def scenario(family: str, number: int = 0) -> Scenario:
    return Scenario(f"{family}-{number}", family, "ambiguous", "train", True, (Message("user", "x"),), FrozenMap())


def group(family: str, *passes: bool) -> Group:
    where, said = scenario(family), Trajectory((Message("assistant", "y"),), (), StopReason.END)
    scores = [Score(float(p), FrozenMap({"pass": float(p)}), p, () if p else ("no",), "r@1") for p in passes]
    return Group(where, tuple(Rollout(where, i, said, Act("a"), score) for i, score in enumerate(scores)))


@pytest.mark.parametrize(
    ("passes", "failures", "size", "chance"),
    [
        (1, 1, 2, 1 / 3),  # p uniform: 1 − 2/(G + 1)
        (1, 1, 4, 3 / 5),
        (2, 1, 2, 1 - 1 / 2 - 1 / 6),  # E[p²] = 2·3/(3·4), E[(1−p)²] = 1·2/(3·4)
        (5e7, 5e7, 4, 0.875),  # where p is known: 1 − p^G − (1−p)^G
        (1e7, 9e7, 4, 0.3438),
        (2e6, 98e6, 4, 0.07763168),
        (1e-9, 1e9, 8, 0.0),
    ],
)
def test_the_chance_that_a_group_tells_its_rollouts_apart(
    passes: float, failures: float, size: int, chance: float
) -> None:
    assert chance_of_signal(passes, failures, size) == pytest.approx(chance, abs=1e-6)
    assert chance_of_signal(failures, passes, size) == pytest.approx(chance_of_signal(passes, failures, size))
    assert chance_of_signal(passes, failures, size) > 0


def test_what_was_seen_counts_half_after_the_half_life() -> None:
    seen = Seen().after([group("a", True, False, False, False), group("a", True, True, True, True)], INFORMATIVE)
    assert seen.counts == {"ambiguous/a": (5, 3)}
    later = seen.after([group("b", True)], INFORMATIVE).after([], INFORMATIVE)
    assert later.counts["ambiguous/a"] == pytest.approx((2.5, 1.5))
    assert later.counts["ambiguous/b"] == pytest.approx((0.5**0.5, 0.0))
    prior = Seen().worth(scenario("a"), INFORMATIVE, 4)
    assert prior == pytest.approx(3 / 5)
    assert seen.worth(scenario("a"), INFORMATIVE, 4) > prior
    hopeless = Seen().after([group("c", *[False] * 30)], INFORMATIVE)
    assert hopeless.worth(scenario("c"), INFORMATIVE, 4) < prior / 2
    for _ in range(40):
        hopeless = hopeless.after([], INFORMATIVE)
    assert hopeless.worth(scenario("c"), INFORMATIVE, 4) == pytest.approx(prior, abs=1e-3)  # it is tried again
    assert Seen().after([group("a", True)], CurriculumSection()) == Seen()  # a static one remembers nothing


def test_the_choice_follows_the_weights_and_takes_nothing_twice() -> None:
    pool = [scenario("a", 0), scenario("a", 1), scenario("a", 0), scenario("a", 2)]
    drawn = [tuple(choose(pool, 2, [1.0, 1.0, 1.0, 50.0], generator("t", n))) for n in range(300)]
    assert all(len({pool[at].id for at in places}) == 2 for places in drawn)
    assert sum(3 in places for places in drawn) > 280
    counts = Counter(at for places in drawn for at in places if at != 3)
    assert counts[2] == 0
    assert min(counts[0], counts[1]) > 100
    assert choose(pool, 2, [1.0] * 4, generator("t", 1)) == choose(pool, 2, [1.0] * 4, generator("t", 1))
    with pytest.raises(ValueError, match="the pool has 3"):
        choose(pool, 4, [1.0] * 4, generator("t"))


def test_it_prefers_kinds_that_are_partly_solved_and_leaves_the_strata_alone() -> None:
    static = plans.load(EXAMPLE)
    plan = plans.load(EXAMPLE, ["curriculum.mode=informative"])
    kinds = sorted({kind_of(s) for step in range(5) for s in drawable(ENV, plan, 0, step) if s.ambiguous})
    half, solved = kinds[0], kinds[1:]
    seen = Seen(1, FrozenMap({half: (200.0, 200.0), **dict.fromkeys(solved, (400.0, 0.0))}))
    shares = []
    for known in (Seen(), seen):
        drawn = [draw_scenarios(ENV, plan, 0, step, known) for step in range(12)]
        shares.append(sum(kind_of(s) == half for batch in drawn for s in batch))
        for step, batch in enumerate(drawn):
            assert Counter(s.stratum for s in batch) == Counter(s.stratum for s in draw_scenarios(ENV, static, 0, step))
            assert {s.id for s in batch} <= {s.id for s in drawable(ENV, plan, 0, step)}
            assert len({s.id for s in batch}) == len(batch)
    assert shares[1] > 2 * shares[0]
    one, other = (draw_scenarios(ENV, static, 0, 3, known) for known in (Seen(), seen))
    assert one == other == drawable(ENV, static, 0, 3)


def job(folder: Path) -> train.Job:
    sets = ["curriculum.mode=informative", "train.steps=6", "train.scenarios_per_step=6", "evaluation.every=3"]
    plan = plans.load(EXAMPLE, [*sets, "evaluation.dev_items=8", "train.lr=0.1"])
    stage = Stage(ENV, ENV.system_prompt("compact"), Sampling(400))
    dev = tuple(ENV.scenarios("dev", 8, 1))
    return train.Job(plan, "anchored", 0, VariantFolder(folder / "seed-0"), stage, dev, watch.scorer_hashes(plan))


def play(own: train.Job, last: int) -> None:
    """Train until so many steps are done."""
    policy = plugins.load("backends", "tabular").open_policy(ModelSpec("tabular"), 0)
    train.train(own, policy, lambda event: None, lambda: len(list(read_lines(own.folder.metrics))) >= last)


def records(own: train.Job) -> list[dict[str, object]]:
    lines = [{k: v for k, v in line.items() if k not in TIME_FIELDS} for line in read_lines(own.folder.metrics)]
    return [{**line, "cost": None} for line in lines]


def test_a_run_that_goes_on_chooses_what_it_would_have_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, stopped, forgetful = (job(tmp_path / name) for name in ("whole", "stopped", "forgetful"))
    play(whole, 99)
    assert read_seen(whole.folder.checkpoint(6)).counts
    for own in (stopped, forgetful):
        with pytest.raises(Interrupted):
            play(own, 4)  # one step after a checkpoint: what was seen is kept at the halt too
    play(stopped, 99)
    assert records(stopped) == records(whole)
    assert read_json(stopped.folder.checkpoint(6) / SEEN) == read_json(whole.folder.checkpoint(6) / SEEN)
    monkeypatch.setattr(train, "read_seen", lambda folder: Seen())
    play(forgetful, 99)
    assert records(forgetful) != records(whole)


def test_a_checkpoint_without_its_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_seen(tmp_path)
    write_json(tmp_path / SEEN, {"version": 1, "counts": {"a/b": [1.0]}})
    with pytest.raises(InputError, match=r"curriculum\.json"):
        read_seen(tmp_path)
