"""The scripted policy says its lines and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askfirst.backends import _text, scripted
from askfirst.errors import BackendFault, InputError, ModelError
from askfirst.policy import ModelSpec, SampleRequest, Sampling, StepSettings
from askfirst.values import Message, StopReason

LINES = [scripted.Line("timer", "how long?"), scripted.Line("", "done ✓")]


def say(policy: scripted.Scripted, text: str, budget: int = 64) -> tuple[str, StopReason]:
    request = SampleRequest(policy.encode([Message("user", text)]), (1, 2))
    [[one, two]] = policy.sample([request], Sampling(budget))
    assert one == two
    assert len(one.logprobs) == len(one.token_ids)
    return policy.decode(one.token_ids), one.stop


def test_the_first_line_that_fits_speaks() -> None:
    policy = scripted.Scripted(LINES)
    assert say(policy, "set a timer") == ("how long?", StopReason.END)
    assert say(policy, "open mail") == ("done ✓", StopReason.END)
    assert say(policy, "open mail", budget=1) == ("done \ufffd", StopReason.LENGTH)


def test_a_prompt_without_a_line_is_a_fault() -> None:
    with pytest.raises(BackendFault, match="no line"):
        say(scripted.Scripted(LINES[:1]), "open mail")


def test_it_cannot_learn() -> None:
    policy = scripted.Scripted(LINES)
    with pytest.raises(BackendFault, match="cannot learn"):
        policy.update([], lambda i, lp: (0.0, np.zeros(0)), StepSettings(0.1))


def test_open_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text('{"contains": "", "reply": "hi"}\n')
    assert say(scripted.open_policy(ModelSpec(str(path)), 0), "hello")[0] == "hi"


@pytest.mark.parametrize("body", ["", '{"contains": ""}\n', '{"contains": "", "reply": 3}\n', "[]\n", "{\n"])
def test_open_refuses_what_is_no_script(tmp_path: Path, body: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(body)
    with pytest.raises(InputError):
        scripted.open_policy(ModelSpec(str(path)), 0)
    with pytest.raises(ModelError, match="no script"):
        scripted.open_policy(ModelSpec(str(tmp_path / "absent.jsonl")), 0)


def test_the_fingerprint_is_of_the_lines() -> None:
    assert scripted.Scripted(LINES).fingerprint() != scripted.Scripted(LINES[::-1]).fingerprint()


@pytest.mark.parametrize("text", ["", "a", "abcdef", "abcdefg", "naïve 日本語 🎉", "\x00\x01{}\n"])
def test_tokens_spell_the_text(text: str) -> None:
    assert _text.unpack(_text.pack(text)) == text
    assert all(token >= _text.FIRST_TEXT for token in _text.pack(text))


def test_tokens_spell_the_chat() -> None:
    chat = [Message("system", "s"), Message("user", "hello there"), Message("assistant", "hm?"), Message("user", "ünï")]
    assert _text.messages_of(_text.chat(chat)) == chat
    with pytest.raises(BackendFault, match="tool"):
        _text.chat([Message("tool", "x")])
