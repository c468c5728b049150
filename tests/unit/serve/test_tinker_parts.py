"""The parts of the Tinker server that need neither the SDK nor a model: losses, checkpoints on disk, jobs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askfirst.errors import InputError
from askfirst.serve.tinker import losses
from askfirst.serve.tinker.jobs import Answer, Job, Work
from askfirst.serve.tinker.shelf import SAMPLER, TRAINING, About, Place, Shelf

GENERATOR = np.random.Philox  # each test draws from a stream of its own
MODEL = "session-1:train:0"
ABOUT = About(1, "nano", "hash", 4)


def inputs(name: str, stream: np.random.Generator) -> dict[str, np.ndarray]:
    """What a loss takes, for five tokens whose ratios lie on both sides of the clips."""
    drawn = {key: stream.normal(size=5) for key in losses.NEEDS[name] | (losses.TAKES[name] & {"weights"})}
    if "sequence_ratio_mask" in drawn:
        drawn["sequence_ratio_mask"] = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    return drawn


@pytest.mark.parametrize("name", sorted(set(losses.LOSSES) - {"cispo", "gspo"}))
def test_slopes_are_those_of_the_value(name: str) -> None:
    stream = np.random.Generator(GENERATOR(key=3))
    loss, settings = losses.named(name, {})
    given, at = inputs(name, stream), stream.normal(size=5)
    _, slope = loss(given, settings, at)
    for i, step in enumerate(np.eye(5) * 1e-6):
        up, down = (loss(given, settings, at + sign * step)[0] for sign in (1, -1))
        assert slope[i] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-6)


def test_losses_with_a_stopped_gradient_are_the_documented_ones() -> None:
    q, lp, a = np.zeros(4), np.log([5.0, 1.1, 0.5, 0.9]), np.array([1.0, -1.0, 1.0, 2.0])
    given = {"logprobs": q, "advantages": a}
    value, slope = losses.cispo(given, losses.DEFAULTS["cispo"], lp)
    coefficient = np.array([4.0, 1.1, 0.5, 0.9])  # only the upper side is clipped
    assert slope == pytest.approx(-coefficient * a)
    assert value == pytest.approx(-(coefficient * lp * a).sum())
    mask = np.array([0.0, 1.0, 1.0, 1.0])
    value, slope = losses.gspo(given | {"sequence_ratio_mask": mask}, losses.DEFAULTS["gspo"], lp)
    ratio = (1.1 * 0.5 * 0.9) ** (1 / 3)  # .79, below the lower clip: only what is disadvantaged is cut
    assert slope == pytest.approx([-ratio, 0.0, -ratio, -2 * ratio])
    assert value == pytest.approx(-(ratio * 4.0 - 0.8))


def test_thresholds_of_tokens_stand_before_those_of_the_call() -> None:
    given = {"logprobs": np.zeros(2), "advantages": np.ones(2), losses.HIGH: np.array([1.1, 9.0])}
    value, slope = losses.ppo(given, losses.DEFAULTS["ppo"], np.log([2.0, 2.0]))
    assert value == pytest.approx(-3.1)
    assert slope == pytest.approx([0.0, -2.0])


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("stable_reinforce", {}, "not offered"),
        ("custom", {"loss_id": "x"}, "not offered"),
        ("ppo", {"beta": 1.0}, "has no beta"),
        ("dro", {"beta": float("nan")}, "has no beta"),
        ("cispo", {losses.LOW: "low"}, "has no clip_low"),
    ],
)
def test_what_is_no_loss_is_refused(name: str, config: dict[str, float | str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        losses.named(name, config)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("ppo", ("logprobs",), "lack advantages"),
        ("cross_entropy", ("weights", "mask"), "have mask, which it does not know"),
        ("gspo", ("logprobs", "advantages"), "lack sequence_ratio_mask"),
    ],
)
def test_inputs_that_a_loss_lacks_or_would_pass_over_are_refused(name: str, given: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        losses.check(name, {key: np.zeros(2) for key in given})


@pytest.mark.parametrize(
    "uri",
    [
        "nano",
        "tinker://session-1:train:0/weights",
        "tinker://session-1:train:0/weights/..",
        "tinker://session-1:train:0/weights/a/b",
        "tinker://session-1:train:0/weights/.hidden",
        "tinker://../weights/a",
        "tinker://session-1:train:0/elsewhere/a",
        f"tinker://session-1:train:0/weights/{'a' * 201}",
    ],
)
def test_what_names_no_checkpoint_is_refused(uri: str) -> None:
    with pytest.raises(InputError):
        Place.parse(uri)


def test_a_checkpoint_is_kept_whole_until_it_expires(tmp_path: Path) -> None:
    now = [1000.0]
    shelf = Shelf(tmp_path, lambda: now[0])
    place = Place(MODEL, TRAINING, "one")
    shelf.put(place, shelf.record(ABOUT, 60, {"a": "b"}), lambda f: (f / "x").write_bytes(b"1"))
    assert Shelf(tmp_path, lambda: now[0]).find(place)[1].user_metadata == {"a": "b"}
    with pytest.raises(InputError, match="exists"):
        shelf.put(place, shelf.record(ABOUT, None, None), lambda f: None)

    def fails(folder: Path) -> None:
        (folder / "x").write_bytes(b"2")
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        shelf.put(place, shelf.record(ABOUT, 60, None), fails, overwrite=True)
    assert (shelf.find(place)[0] / "x").read_bytes() == b"1"
    now[0] += 60.0
    with pytest.raises(InputError, match="expired"):
        shelf.find(place)
    shelf.tidy()
    assert not shelf.folder(place).exists()


def test_sessions_never_share_a_name_and_leave_only_what_has_one(tmp_path: Path) -> None:
    first, second = Shelf(tmp_path), Shelf(tmp_path)
    assert [first.next_session(), second.next_session(), first.next_session()] == [f"session-{n}" for n in (1, 2, 3)]
    passing = first.pass_on(MODEL, "7", lambda f: (f / "x").write_bytes(b"1"))
    kept = Place(MODEL, SAMPLER, "kept")
    first.put(kept, first.record(ABOUT, None, None), lambda f: None)
    first.end_session("session-1")
    assert not passing.exists()
    assert first.of_model(MODEL) == [kept]


def test_jobs_of_one_kin_are_done_together_and_one_fault_stays_its_own() -> None:
    work, sizes = Work(), list[int]()

    def do(given: list[int]) -> list[Answer]:
        sizes.append(len(given))
        if 13 in given:
            raise InputError("unlucky")
        return [Answer.of({"n": n}) for n in given]

    gate = Job("gate", lambda _: [Answer.of({"opened": opened.result(10) is not None})])
    opened = Job("opens", lambda _: []).done
    jobs = [Job(f"a:{n}", do, n, "kin") for n in (1, 13, 2)]
    for job in (gate, *jobs):
        work.promise(job)
        work.submit(job)
    opened.set_result(Answer.of({}))
    bodies = [job.done.result(10).body for job in jobs]
    work.close()
    assert sizes == [3, 1, 1, 1]
    assert bodies[0] == b'{"n": 1}'
    assert b"unlucky" in bodies[1]
    assert b'"user"' in bodies[1]
    assert bodies[2] == b'{"n": 2}'
    work.forget("a:")
    assert work.future("a:1") is None
    assert work.future("gate") is gate.done
