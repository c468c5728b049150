"""A talk is an episode of the run's own kind: same prompts, same tokens, same end, same score."""

from pathlib import Path

import pytest

from askfirst import plan as plans
from askfirst import plugins
from askfirst.cases import play
from askfirst.demo import pieces
from askfirst.demo.exhibit import BASE, Exhibit
from askfirst.demo.talk import answer, begin, chat, judged, speak, words_of
from askfirst.errors import InputError, ModelError, SplitError
from askfirst.policy import ModelSpec, Sampling
from askfirst.rollout import Draw, Scorer, Stage, rollouts
from askfirst.runfolder import RunFolder
from askfirst.store import write_json, write_lines
from askfirst.values import Score, StopReason

CLARIFY = plugins.load("envs", "clarify")
ASK = '{"name": "ask_question", "arguments": {"question": "What is the date?"}}'


@pytest.fixture
def scripted(tmp_path):
    """Opens a policy that says these replies: the first to a prompt without an answer, the second afterwards."""

    def opened(*replies: str):
        script = tmp_path / "script.jsonl"
        marks = ["questions left:", ""] if len(replies) == 2 else [""]
        ordered = list(reversed(replies))
        write_lines(script, [{"contains": m, "reply": r} for m, r in zip(marks, ordered, strict=True)])
        return plugins.load("backends", "scripted").open_policy(ModelSpec(str(script)), 0)

    return opened


@pytest.fixture
def scene():
    """A scenario of two turns, its optimal calls, and a stage without a system prompt."""
    found = CLARIFY.scenarios("dev", 60, 3)
    scenario = next(s for s in found if len(CLARIFY.optimal(s, by_name=True)) == 2)
    return scenario, CLARIFY.optimal(scenario, by_name=True), Stage(CLARIFY, "", Sampling(500, 0.0))


def last(stream):
    *_, end = stream
    return end


def test_an_episode_by_turns_is_the_episode_of_a_rollout(scripted, scene) -> None:
    scenario, calls, stage = scene
    policy, scorer = scripted(*calls), Scorer.named("utility")
    talk = last(speak(stage, policy, begin(stage, policy, scenario, ""), 0))
    assert talk.waits
    assert judged(scorer, talk) == "no score yet: the episode goes on"
    assert answer(stage, policy, talk, "").messages[-1].content.splitlines()[-1] == "questions left: 5"
    talk = last(speak(stage, policy, answer(stage, policy, talk, ""), 0))
    (group,) = rollouts(stage, policy, scorer, [scenario], Draw(0, 0, 1)).groups
    assert talk.messages == group.rollouts[0].trajectory.messages
    assert talk.token_ids == tuple(t for s in group.rollouts[0].trajectory.segments for t in s.token_ids)
    assert talk.stop is StopReason.END
    assert judged(scorer, talk) == group.rollouts[0].score
    assert judged(scorer, talk) == scorer.score(scenario, play(CLARIFY, scenario, calls))
    assert not talk.waits


def test_own_words_reach_the_model_and_no_reward(scripted, scene) -> None:
    scenario, calls, stage = scene
    policy = scripted(*calls)
    asked = last(speak(stage, policy, begin(stage, policy, scenario, ""), 0))
    told = answer(stage, policy, asked, "  whatever you like ")
    assert told.messages[-1].content == "whatever you like\nquestions left: 5"
    assert told.own
    end = last(speak(stage, policy, told, 0))
    assert end.stop is StopReason.END
    assert "your own words" in str(judged(Scorer.named("utility"), end))


def test_a_request_of_ones_own_goes_on_while_the_model_asks(scripted) -> None:
    stage = Stage(CLARIFY, "rules", Sampling(500, 0.0))
    policy = scripted(ASK)
    talk = last(speak(stage, policy, begin(stage, policy, None, "book a table"), 0))
    assert [m.role for m in talk.messages] == ["system", "user", "assistant"]
    assert talk.waits
    assert answer(stage, policy, talk, " ") == talk  # nobody else could answer
    again = answer(stage, policy, talk, "tomorrow")
    assert again.messages[-1].content == "tomorrow"
    assert not again.waits
    assert chat(again.messages) == [
        {"role": "user", "content": "book a table"},
        {"role": "assistant", "content": ASK},
        {"role": "user", "content": "tomorrow"},
    ]
    assert "nobody knows the right reply" in str(judged(Scorer.named("utility"), again))
    policy = scripted('{"name": "propose_plan", "arguments": {"plan": {"decline": "no task of mine"}}}')
    assert last(speak(stage, policy, begin(stage, policy, None, "sing"), 0)).stop is StopReason.END


def test_a_reply_that_is_cut_off_ends_the_talk(scripted, scene) -> None:
    scenario, calls, _ = scene
    stage, policy = Stage(CLARIFY, "", Sampling(4, 0.0)), scripted(calls[0])
    talk = last(speak(stage, policy, begin(stage, policy, scenario, ""), 0))
    assert talk.stop is StopReason.LENGTH
    score = judged(Scorer.named("utility"), talk)
    assert isinstance(score, Score)
    assert not score.passed


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (ASK, "asks: What is the date?"),
        ('{"name": "propose_plan", "arguments": {"plan": {"date": "x"}}}', 'acts: propose_plan plan {"date": "x"}'),
        ('{"name": "propose_plan", "arguments": {"plan": {"decline": "no"}}}', "refuses: no"),
        ("hello", "breaks the protocol: not one JSON object: Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_what_a_reply_does_is_said_in_words(reply: str, words: str) -> None:
    assert words_of(CLARIFY.parse(reply)) == words


# ---- a run


@pytest.fixture
def exhibit(tmp_path, scripted, scene):
    """A run of a scripted model on `clarify`, with a checkpoint that says something else."""
    _, calls, _ = scene
    script = tmp_path / "base.jsonl"
    write_lines(script, [{"contains": "", "reply": calls[1]}])
    sets = (f'model.name="{script}"', 'model.backend="scripted"', 'env.name="clarify"', 'reward.name="utility"',
            "reward.params={}", "train.kl.beta=0.0", "train.sampling.max_tokens=500", 'arm=[{name="anchored"}]',
            'decision.treatment="anchored"')  # fmt: skip
    plan = plans.load(Path("examples/e2e.toml"), sets)
    run = RunFolder(tmp_path / "played")
    write_json(run.lock, plans.lock(plan, {}, ()))
    folder = run.variant("anchored", 0)
    scripted(ASK).save((folder.checkpoint(3).mkdir(parents=True), folder.checkpoint(3))[1])
    write_json(folder.manifest, {"version": 1, "entries": [{"step": 3, "checkpoint": "checkpoints/step-00003"}]})
    return Exhibit.of(run.root)


def test_both_models_speak_side_by_side_and_each_is_answered_for_itself(exhibit) -> None:
    assert [each.name for each in exhibit.speakers] == [BASE, "last checkpoint, anchored/seed-0@3"]
    task = exhibit.task("dev", 0)
    talks = last(exhibit.speak(exhibit.begin(exhibit.request(task), task), 0.0, 0))
    assert [talk.waits for talk in talks] == [False, True]  # one has proposed a plan, the other asks
    assert talks[0].scenario is talks[1].scenario is task
    after = exhibit.answer(talks, "")
    assert after[0] is talks[0]
    assert after[1].messages[-1].role == "user"
    again = last(exhibit.speak(after, 0.0, 0))
    assert again[0] is talks[0]
    assert again[1].replies == 2
    edited = exhibit.begin(exhibit.request(task) + "!", task)
    assert {talk.scenario for talk in edited} == {None}  # no longer the task that was drawn


def test_what_cannot_be_is_said(exhibit) -> None:
    for request in (" ", "x" * 20_001):
        with pytest.raises(InputError):
            exhibit.begin(request, None)
    with pytest.raises(SplitError):
        exhibit.task("sealed", 0)
    with pytest.raises(InputError):
        exhibit.task("dev", -1)
    Path(exhibit.plan.model.name).unlink()
    with pytest.raises(ModelError, match="no script"):
        _ = exhibit.speakers
    with pytest.raises(InputError, match="not a run folder"):
        Exhibit.of(exhibit.run.root / "anchored")


EVIL = "<img src=x onerror=1>${1}{{2}}"


def test_what_models_and_plans_say_is_escaped(recorded, exhibit, monkeypatch) -> None:
    monkeypatch.setattr(pieces, "CURVES", ("reward",))
    shown = Exhibit.of(recorded(says=EVIL, sets=(f'title="{EVIL}"',)).root)
    pages = [pieces.verdict(shown.records), pieces.heading(shown.plan.title), *map(pieces.rollout, shown.rollouts)]
    talk = last(exhibit.speak(exhibit.begin(EVIL, None), 0.0, 0))[1]
    pages.append(pieces.reply(exhibit.stage, exhibit.speakers[1].policy, talk, EVIL))
    assert not [page for page in pages if "<img" in page]
    assert sum("&lt;img src=x onerror=1&gt;" in page for page in pages) >= 3


def test_the_pieces_say_what_is_on_record(recorded, monkeypatch) -> None:
    monkeypatch.setattr(pieces, "CURVES", ("reward",))
    shown = Exhibit.of(recorded().root)
    page = pieces.verdict(shown.records)
    for words in ("INCONCLUSIVE", "opened once", "1 of 1 gates passed", "✓ holds", "Before and after", "<svg"):
        assert words in page
    entry = next(e for e in shown.rollouts if e["source"].startswith("sealed") and e["outcome"] == "win")
    page = pieces.rollout(entry)
    assert page.index("before training") < page.index("failed</b>") < page.index("intent mismatch")
    assert page.index(">after<") < page.index("passed</b>")
    own = next(e for e in shown.rollouts if e["logprobs"])
    assert pieces.rollout(own).count("<i style=") == 2
    assert '--heat:0.393" title="token 1: -0.50 nats"' in pieces.rollout(own)
    assert pieces.choice(own).startswith("failed 0.00 · request 0 · anchored/seed-0/step-6/s-0/0")


def test_a_talks_tokens_are_shaded_by_how_likely_they_were(exhibit) -> None:
    talk = last(exhibit.speak(exhibit.begin("anything", None), 0.0, 0))[1]
    page = pieces.reply(exhibit.stage, exhibit.speakers[1].policy, talk, "why not")
    assert "asks: What is the date?" in page
    assert page.count("<span style=") == len(talk.said.token_ids) - 1  # the end token has no text
    assert "why not" in page
