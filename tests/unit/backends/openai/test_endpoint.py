"""A model behind a server: answered, tried again, kept and resumed; a dead server is no score. Against a real one."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from askfirst import plugins
from askfirst.errors import BackendFault, InputError, ModelError
from askfirst.policy import ModelSpec, SampleRequest, Sampling, StepSettings
from askfirst.rollout import Draw, Stage, trajectories
from askfirst.store import read_lines
from askfirst.values import Message, StopReason

openai = pytest.importorskip("askfirst.backends.openai", reason="needs the extra endpoint")
wire = pytest.importorskip("askfirst.backends.openai._wire")
FAULTS = ("500", "429", "503", "cut off", "not json", "no choices", "closed", "hang")
GREEDY = Sampling(16, 0.0)


def opened(server, kept: Path | None = None, **how):
    settings = {"concurrency": 1, "timeout_seconds": 60.0, "tries": 2, "backoff_seconds": 0.001, **how}
    return openai.Endpoint(openai.Target(server.url, "m", **settings), kept)


def ask(policy, *texts: str, sampling: Sampling = GREEDY, seeds=(1,)):
    requests = [SampleRequest(policy.encode([Message("user", text)]), tuple(seeds)) for text in texts]
    return [[(policy.decode(c.token_ids), c.stop) for c in group] for group in policy.sample(requests, sampling)]


def echo(body) -> str:
    return f"re: {body['messages'][-1]['content']}"


@pytest.mark.parametrize("fault", FAULTS)
def test_what_another_try_mends_is_tried_again(fault: str, chat_server) -> None:
    chat_server.speak, chat_server.faults = echo, [fault]
    policy = opened(chat_server, timeout_seconds=0.3 if fault == "hang" else 60.0)
    assert ask(policy, "naïve 日本") == [[("re: naïve 日本", StopReason.END)]]
    assert [(a.tries, a.prompt_tokens, a.completion_tokens) for a in policy.heard] == [(2, 7, 3)]
    assert len(chat_server.seen) == 2


def test_a_refusal_is_not_tried_again_and_tells_no_key(chat_server, tmp_path: Path) -> None:
    chat_server.faults = ["401"]
    policy = opened(chat_server, tmp_path / "kept", key="sk-secret-1")
    with pytest.raises(ModelError, match="HTTP 401") as refused:
        ask(policy, "one")
    assert "Bearer" in str(refused.value)  # the server's own words are told, and it says the key in them
    assert "sk-secret-1" not in str(refused.value) + repr(policy._target)
    ask(policy, "one")
    assert chat_server.keys == ["Bearer sk-secret-1"] * 2
    assert "sk-secret-1" not in (tmp_path / "kept").read_text()


def test_a_dead_server_stops_it_and_what_was_answered_is_kept(chat_server, tmp_path: Path) -> None:
    chat_server.speak = echo
    chat_server.faults = [*["ok"] * 3, *["500"] * 40]
    with pytest.raises(BackendFault, match="5 requests in a row were not answered, the last for HTTP 500") as dead:
        ask(opened(chat_server, tmp_path / "kept"), *map(str, range(20)))
    assert dead.value.exit_code == 3
    assert len(chat_server.seen) <= 3 + (openai.DEAD + 1) * 2  # one more may have begun
    assert len(list(read_lines(tmp_path / "kept"))) == 3
    chat_server.faults, chat_server.seen = [], []
    assert ask(opened(chat_server, tmp_path / "kept"), *map(str, range(20)))[19] == [("re: 19", StopReason.END)]
    assert [body["messages"][0]["content"] for body in chat_server.seen] == list(map(str, range(3, 20)))


def test_one_lost_request_stops_no_other_and_is_still_no_result(chat_server, tmp_path: Path) -> None:
    chat_server.faults = ["ok", "500", "500"]
    policy = opened(chat_server, tmp_path / "kept")
    with pytest.raises(BackendFault, match="1 of 4 requests were not answered"):
        ask(policy, "a", "b", "c", "d")
    assert len(chat_server.seen) == 5
    chat_server.seen = []
    ask(policy, "a", "b", "c", "d")
    assert [body["messages"][0]["content"] for body in chat_server.seen] == ["b"]


def test_losses_that_are_not_in_a_row_stop_nothing(chat_server) -> None:
    chat_server.faults = ["500", "ok"] * 6
    with pytest.raises(BackendFault, match="6 of 12 requests were not answered"):
        ask(opened(chat_server, tries=1), *map(str, range(12)))
    assert len(chat_server.seen) == 12


def test_nothing_is_asked_twice_even_after_a_line_was_cut(chat_server, tmp_path: Path) -> None:
    chat_server.speak = echo
    kept = tmp_path / "kept"
    ask(opened(chat_server, kept), "a", "b")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-9])
    chat_server.seen = []
    assert ask(opened(chat_server, kept), "a", "b") == [[("re: a", StopReason.END)], [("re: b", StopReason.END)]]
    assert [body["messages"][0]["content"] for body in chat_server.seen] == ["b"]
    kept.write_text('{"version": 1}\n')
    with pytest.raises(InputError, match=r"kept:1.*not a Answer"):
        opened(chat_server, kept)


def test_trials_are_requests_of_their_own_and_greedy_ones_are_one(chat_server) -> None:
    policy = opened(chat_server)
    ask(policy, "a", sampling=Sampling(16, 0.7), seeds=(1, 2, (1 << 62) + 1))
    assert [body["seed"] for body in chat_server.seen] == [1, 2, 1]
    chat_server.seen = []
    ask(policy, "a", seeds=(1, 2))
    assert [(body["temperature"], "seed" in body, body["max_tokens"]) for body in chat_server.seen] == [
        (0.0, False, 16)
    ]


def test_requests_go_out_side_by_side_up_to_the_limit(chat_server) -> None:
    together = threading.Barrier(3)
    chat_server.speak = lambda body: str(together.wait(5))
    ask(opened(chat_server, concurrency=3), *map(str, range(6)))
    assert chat_server.most == 3


THINKING = {
    "in its own field": ({"content": "yes", "reasoning_content": "hm"}, "stop", 8, ("yes", "hm", StopReason.END)),
    "in tags": ({"content": "<think>hm</think>\n\nyes"}, "stop", 0, ("yes", "hm", StopReason.END)),
    "opened by the template": ({"content": "hm</think>yes"}, "stop", 8, ("yes", "hm", StopReason.END)),
    "a tag in a reply": ({"content": "say </think>"}, "stop", 0, ("say </think>", "", StopReason.END)),
    "exhausted": ({"content": "<think>hm, hm"}, "length", 8, ("", "hm, hm", StopReason.THINKING)),
    "exhausted and apart": ({"content": None, "reasoning": "hm"}, "length", 8, ("", "hm", StopReason.THINKING)),
    "exhausted, not declared": ({"content": "<think>hm"}, "length", 0, ("", "hm", StopReason.THINKING)),
    "cut off behind it": ({"content": "<think>a</think>ye"}, "length", 8, ("ye", "a", StopReason.LENGTH)),
    "cut off without": ({"content": "ye"}, "length", 0, ("ye", "", StopReason.LENGTH)),
    "half a character": ({"content": "a\ud83d"}, "stop", 0, ("a\ufffd", "", StopReason.END)),
}


@pytest.mark.parametrize("name", THINKING)
def test_thinking_is_taken_apart_from_the_reply(name: str, chat_server) -> None:
    message, finish, budget, expected = THINKING[name]
    chat_server.speak = lambda body: {"message": message, "finish_reason": finish}
    policy = opened(chat_server, thinking_tokens=budget)
    ((said,),) = ask(policy, "q")
    assert (*said[:1], policy.heard[0].thinking, said[1]) == expected
    assert chat_server.seen[0]["max_tokens"] == 16 + budget


def test_an_episode_of_many_turns_goes_on_without_the_thinking(chat_server) -> None:
    env = plugins.load("envs", "clarify")
    (scenario,) = env.scenarios("dev", 1, 1, {"ambiguous": 1.0})
    demonstration = env.demonstrations(scenario)[0]
    replies = [demonstration.reply, *demonstration.then]
    chat_server.speak = lambda body: (
        f"<think>hm</think>{replies[sum(m['role'] == 'assistant' for m in body['messages'])]}"
    )
    stage = Stage(env, env.system_prompt("compact"), GREEDY)
    (((said,),),) = (trajectories(stage, opened(chat_server), [scenario], Draw(0, 0, 1)),)
    assert [m.content for m in said.messages if m.role == "assistant"] == replies
    assert len(replies) > 1
    assert [len(body["messages"]) for body in chat_server.seen] == [2 * n + 2 for n in range(len(replies))]
    assert "think" not in json.dumps(chat_server.seen)


def test_it_refuses_what_needs_weights(chat_server, tmp_path: Path) -> None:
    policy = openai.open_policy(ModelSpec(f"{chat_server.url}#m"), 0)
    for refused in (
        lambda: policy.update([], lambda i, lp: (0.0, lp), StepSettings(0.1)),
        lambda: policy.logprobs([]),
        lambda: policy.save(tmp_path),
        lambda: policy.load(tmp_path),
    ):
        with pytest.raises(BackendFault, match="an endpoint"):
            refused()
    for name in ("m", "http://x/v1#", "ftp://x/v1#m", "http://user:pw@x/v1#m", "http://x/v1?key=1#m"):
        with pytest.raises(ModelError) as wrong:
            openai.open_policy(ModelSpec(name), 0)
        assert "pw" not in str(wrong.value)


@pytest.mark.parametrize(("header", "seconds"), [("3", 3.0), ("2.5", 2.5), ("soon", 0.0), ("-4", 0.0), ("", 0.0)])
def test_the_server_is_waited_for_as_it_asks(header: str, seconds: float) -> None:
    assert wire._asked_to_wait(header) == seconds
    assert wire._asked_to_wait("Fri, 31 Dec 9998 23:59:59 GMT") > wire.LONGEST_WAIT  # which is then the most
    assert wire._asked_to_wait("Fri, 31 Dec 1999 23:59:59 GMT") == 0.0
