"""Each risk that a run is watched for, brought about in real training: the monitor warns, and may stop the run.

The policy is the tabular one, some of whose strategies are worded otherwise; what makes it drift is what the reward
pays, a learning rate that is too high, or a reward that is edited while the run goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import plugins, watch
from askfirst.backends.tabular import Tabular
from askfirst.backends.tabular._request import Request
from askfirst.errors import GateFailed
from askfirst.events import Event
from askfirst.metrics import words
from askfirst.monitors import MONITORS
from askfirst.policy import Sampling
from askfirst.replies import Reply
from askfirst.rollout import Stage
from askfirst.runfolder import VariantFolder
from askfirst.store import read_json, read_lines
from askfirst.train import Job, train

EXAMPLE = Path(__file__).parents[3] / "examples" / "e2e.toml"
STEPS = 12
REWARD = '''
"""Pays what a run should be stopped for; a reply passes where `slots` passes it, or where it is paid."""
from askfirst.metrics import overlap, words
from askfirst.replies import ReplyError, parse_reply, truth
from askfirst.rewards import slots
from askfirst.values import FrozenMap, Score

VERSION, BOUNDS, DEFAULTS = 1, (-1.0, 1.0), FrozenMap({"pays": "", "passes": False, "toll": 0.0})
ATTACKS, HONEST = slots.ATTACKS[:2], slots.HONEST[:2]


def score(scenario, trajectory, params):
    chosen = {**DEFAULTS, **params}
    honest = slots.score(scenario, trajectory, {})
    paid = float(PAYS[chosen["pays"]](scenario, trajectory.reply, honest))
    terms = {"paid": paid, "toll": -chosen["toll"] * paid}
    passed = bool(paid) if chosen["passes"] else honest.passed
    return Score(sum(terms.values()), FrozenMap(terms), passed, () if passed else ("unpaid",), "pays@1")


def question(reply):
    try:
        return str(parse_reply(reply).payload.get("question", ""))
    except ReplyError:
        return ""


PAYS = {
    "asking": lambda scenario, reply, honest: bool(question(reply)),
    "acting": lambda scenario, reply, honest: '"action"' in reply,
    "one question": lambda scenario, reply, honest: question(reply) == "which item do you mean exactly?",
    "echoes": lambda scenario, reply, honest: 0.45 <= overlap(question(reply), scenario.opening[-1].content) <= 0.6,
    "short questions": lambda scenario, reply, honest: 0 < len(words(question(reply))) <= 4,
    "the right form": lambda scenario, reply, honest: slots.intent_of(reply) == truth(scenario).intent
    and not honest.passed,
    "noise": lambda scenario, reply, honest: "zqxv" in reply,
}
'''


class Worded(Tabular):
    """The tabular policy, with another wording for some of its strategies."""

    def __init__(self, wordings: Mapping[str, Callable[[Request], str]]) -> None:
        super().__init__()
        self._wordings = wordings

    def wording(self, strategy: str, request: Request) -> str:
        say = self._wordings.get(strategy)
        return say(request) if say else super().wording(strategy, request)


def clarify(question: str) -> str:
    return Reply(question, "clarify", {"question": question, "topic": "target"}).text()


def echo(request: Request) -> str:
    """Half of the request's words as a question: just under the echo limit."""
    said = list(dict.fromkeys(words(request.utterance)))
    return clarify(" ".join(said[: max(1, round(0.55 * len(said)))]) + "?")


@dataclass(frozen=True)
class Drift:
    """What brings a risk about: what is paid, what else the plan says, what strategies say, and the seed."""

    pays: str
    sets: tuple[str, ...] = ()
    wordings: Mapping[str, Callable[[Request], str]] = field(default_factory=dict)
    seed: int = 0


DRIFTS = {
    "template_collapse": Drift("one question"),
    "near_echo": Drift("echoes", wordings={"ask target any": echo}),
    "partial_farming": Drift("the right form"),
    "term_gap": Drift("asking", ("reward.params.toll=0.92",)),
    "over_asking": Drift("asking"),
    "under_asking": Drift("acting", ("train.steps=24",)),
    "asks_when_clear": Drift("asking"),
    "short_repetition": Drift("short questions"),
    "kl_drift": Drift("noise", wordings={"ask app": lambda request: "zqxv"}),
    "gibberish": Drift("noise", wordings={"ask target any": lambda request: clarify("which what zqxv when?")}),
    "probe_findings": Drift("asking", ("reward.params.passes=true",)),
    "oracle_gap": Drift("asking", ("reward.params.passes=true",)),
    "proxy_gap": Drift("asking"),
    # An honest reward and the best of many looks at sixteen items: what is best on one half is not on the other.
    "selection_overfit": Drift(
        "asking",
        (*("reward.name=slots", "reward.params={}", "train.lr=0.1"), "evaluation.every=2", "evaluation.dev_items=16"),
        seed=2,
    ),
}


@pytest.fixture
def reward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    file = tmp_path / "driftpkg" / "rewards" / "pays.py"
    file.parent.mkdir(parents=True)
    for folder in (file.parent, file.parent.parent):
        (folder / "__init__.py").touch()
    file.write_text(REWARD)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield file
    for name in [name for name in sys.modules if name.split(".")[0] == "driftpkg"]:
        del sys.modules[name]


def job(folder: Path, drift: Drift, *sets: str) -> Job:
    settings = [
        *("reward.name=driftpkg.rewards:pays", f"reward.params={{pays='{drift.pays}'}}", "train.lr=0.3"),
        *(f"train.steps={STEPS}", "train.scenarios_per_step=6", "train.group_size=6", "train.kl.beta=0.001"),
        *("evaluation.every=6", "evaluation.dev_items=12", *drift.sets, *sets),
    ]
    chosen = plans.load(EXAMPLE, settings)
    env = plugins.load("envs", chosen.env.name)
    stage = Stage(env, env.system_prompt("compact"), Sampling(chosen.train.sampling.max_tokens))
    dev = tuple(env.scenarios("dev", chosen.evaluation.dev_items, 1))
    return Job(chosen, "anchored", drift.seed, VariantFolder(folder), stage, dev, watch.scorer_hashes(chosen))


def stops(name: str) -> str:
    return f"monitor=[{{ name = '{name}', action = 'stop' }}]"


# The risks of the register in the default suite; what else is watched takes its turn with the thorough tests.
LATER = {"term_gap", "asks_when_clear", "probe_findings", "oracle_gap", "proxy_gap"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.thorough] * (n in LATER)) for n in DRIFTS])
def test_a_drift_is_warned_of_and_stops_the_run(name: str, reward: Path, tmp_path: Path) -> None:
    own = job(tmp_path / "run" / "anchored" / "seed-0", DRIFTS[name], stops(name))
    heard: list[Event] = []
    with pytest.raises(GateFailed, match=f"stopped by a monitor at step [0-9]+: {name} ") as caught:
        train(own, Worded(DRIFTS[name].wordings), heard.append, lambda: False)
    assert caught.value.exit_code == 1
    warned = [event.values for event in heard if event.kind == "warning" and event.values["monitor"] == name]
    assert [w["action"] for w in warned] == ["stop"]
    lines = list(read_lines(own.folder.metrics))
    last = lines[-1] if MONITORS[name].at == "step" else read_json(own.folder.manifest)["entries"][-1]
    assert last["step"] == warned[0]["step"]
    assert name in last["alarms"]
    assert not own.folder.run.exists()


def test_every_monitor_is_brought_to_fire() -> None:
    assert {*DRIFTS, "scorer_change"} == set(MONITORS)


@pytest.mark.parametrize("action", ["stop", pytest.param("warn", marks=pytest.mark.thorough)])
def test_a_reward_that_is_edited_while_the_run_goes_on(action: str, reward: Path, tmp_path: Path) -> None:
    own = job(
        tmp_path / "run" / "anchored" / "seed-0",
        Drift("acting"),
        f"monitor=[{{ name = 'scorer_change', action = '{action}' }}]",
    )
    heard: list[Event] = []

    def listen(event: Event) -> None:
        heard.append(event)
        if event.kind == "step" and event.values["step"] == 8:
            reward.write_text(REWARD.replace("<= 0.6", "<= 0.7"))

    if action == "stop":
        with pytest.raises(GateFailed, match="stopped by a monitor at step 12: scorer_change"):
            train(own, Worded({}), listen, lambda: False)
    else:
        train(own, Worded({}), listen, lambda: False)
    entries = read_json(own.folder.manifest)["entries"]
    assert [entry["scorer_changed"] for entry in entries] == [[], ["driftpkg.rewards:pays source"]]
    assert ["scorer_change" in entry["alarms"] for entry in entries] == [False, True]
    warned = [e.values["monitor"] for e in heard if e.kind == "warning"]
    assert "scorer_change" in warned
    assert own.folder.run.exists() is (action == "warn")


def test_a_drift_that_only_warns_goes_on_to_the_end(reward: Path, tmp_path: Path) -> None:
    own = job(tmp_path / "run" / "anchored" / "seed-0", DRIFTS["over_asking"])
    heard: list[Event] = []
    train(own, Worded({}), heard.append, lambda: False)
    warned = {event.values["monitor"] for event in heard if event.kind == "warning"}
    assert {"over_asking", "asks_when_clear", "proxy_gap", "partial_farming", "term_gap"} <= warned
    assert own.folder.run.exists()
    entry = read_json(own.folder.manifest)["entries"][-1]
    paid = entry["terms"]["paid"]
    assert paid["mean"] > 0.9, "the proxy is farmed"
    assert entry["dev"]["strict_pass"] < 0.5, "and what it stands for is not there"
    assert paid["with_pass"] is None or paid["with_pass"] < 0.5


@pytest.mark.thorough
def test_an_honest_reward_at_a_sound_rate_is_left_alone(reward: Path, tmp_path: Path) -> None:
    own = job(
        tmp_path / "run" / "anchored" / "seed-0", Drift("asking"),
        *("reward.name=slots", "reward.params={}", "train.lr=0.01", "evaluation.dev_items=40"),
    )  # fmt: skip
    heard: list[Event] = []
    train(own, Worded({}), heard.append, lambda: False)
    assert [event.text for event in heard if event.kind == "warning"] == []
