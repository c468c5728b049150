"""TRL's own trainer takes the environment, the data set and the reward function: two optimiser steps each."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from askfirst.desk import Desk
from askfirst.exports import trl as ours

BUDGET = 700  # tokens of a completion, one a byte


def tokenizer() -> Any:
    """One token a byte, with the chat template of Qwen 2.5, whose tool calls TRL can parse."""
    import trl
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={letter: n for n, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    template = Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja"
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=template.read_text("utf-8"),
    )


def tiny(words: int, eos: int) -> Any:
    """A random Qwen 2 of one layer."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=words,
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=8192,
        eos_token_id=eos,
        tie_word_embeddings=True,
    )
    return Qwen2ForCausalLM(config)


def trainer(kind: Any, folder: Path, budget: int) -> Any:
    import trl

    words = tokenizer()
    settings = trl.GRPOConfig(
        output_dir=str(folder),
        max_steps=2,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=budget,
        learning_rate=1e-2,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        bf16=False,
        use_cpu=True,
        seed=1,
    )
    return kind(
        model=tiny(len(words), words.eos_token_id),
        args=settings,
        processing_class=words,
        train_dataset=ours.dataset("train", 8),
        environment_factory=ours.ClarifyEnv,
        reward_funcs=ours.reward_function("utility"),
    )


@pytest.mark.thorough
@pytest.mark.filterwarnings("default")
def test_two_steps_of_a_random_model_and_of_one_that_calls_the_tools(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="needs the extra trl")
    import trl

    class Told(trl.GRPOTrainer):
        """Samples what it is told: in a group an optimal episode and an empty plan by turns."""

        def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
            said = [self._say(self.processing_class.decode(ids), n) for n, ids in enumerate(prompt_ids)]
            return [self.processing_class.encode(text + "<|im_end|>") for text in said], None

        def _say(self, prompt: str, place: int) -> str:
            scenario = next(s for s in SCENARIOS if s.opening[0].content in prompt)
            replies, answers = DESK.env.optimal(scenario), prompt.count("<tool_response>\n")
            if "The task is over." in prompt or answers >= len(replies):
                return "done"
            if place % 2 and not answers:
                replies = ('{"name": "propose_plan", "arguments": {"plan": {}}}',)
            return f"<tool_call>\n{replies[answers]}\n</tool_call>"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        blind = trainer(trl.GRPOTrainer, tmp_path / "random", 24)
        blind.train()
        assert [log["reward"] for log in blind.state.log_history if "reward" in log] == pytest.approx([0, 0])
        told = trainer(Told, tmp_path / "told", BUDGET)
        before = [p.detach().clone() for p in told.model.parameters()]
        told.train()
    logs = [log for log in told.state.log_history if "reward" in log]
    assert len(logs) == 2
    for log in logs:
        assert log["rewards/utility/mean"] == pytest.approx(0.5, abs=1e-6)  # of 1, 0, 1, 0
        assert log["tools/call_frequency"] >= 1
        assert log["tools/failure_frequency"] == 0
        assert log["utility/passed"] == 0.5
    assert any((p.detach() != q).any() for p, q in zip(told.model.parameters(), before, strict=True))


DESK = Desk.named()
SCENARIOS = [DESK.task("train", seed) for seed in range(8)]


def test_the_calls_of_the_test_are_what_a_row_names() -> None:
    rows = ours.rows("train", 8)
    assert [row["scenario_id"] for row in rows] == [s.id for s in SCENARIOS]
    assert all(json.loads(DESK.env.optimal(s)[-1])["name"] == "propose_plan" for s in SCENARIOS)
