"""Whole steps of TRL's GRPOTrainer on the same work: batch 16 × 4 accumulation steps at 8 × 8, no KL."""

from __future__ import annotations

import tempfile
import time
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from benchmarks.shapes import ALPHA, LAYERS, LEARNING_RATE, RANK, Shape, library_model, prompt_ids, report, reward

ACCUMULATION = 4


class Clock(TrainerCallback):
    """Seconds of each optimiser step, rollouts included."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.start = 0.0

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        """A step begins with its rollouts."""
        self.start = time.perf_counter()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """It ends with the optimiser."""
        self.seconds.append(time.perf_counter() - self.start)


def main() -> None:
    """Measure the shape of the command line."""
    shape = Shape.from_arguments()
    model, tokenizer = library_model(shape)
    prompts = [tokenizer.decode(p) for n in range(shape.steps + 1) for p in prompt_ids(shape, tokenizer, n)]
    with tempfile.TemporaryDirectory() as out:
        clock = Clock()
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=lambda completions, **_: [reward(c) for c in completions],
            args=settings(shape, out),
            train_dataset=Dataset.from_dict({"prompt": prompts}),
            processing_class=tokenizer,
            peft_config=LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=LAYERS, task_type="CAUSAL_LM"),
            callbacks=[clock],
        )
        trainer.train()
    report(clock.seconds[1:], [])


def settings(shape: Shape, out: str) -> GRPOConfig:
    """One optimiser step a batch of rollouts, lengths forced."""
    rows = shape.prompts * shape.group
    return GRPOConfig(
        output_dir=out,
        use_cpu=not torch.cuda.is_available(),
        bf16=False,  # the weights are bf16 already; autocast on top would cast them again
        per_device_train_batch_size=rows // ACCUMULATION,
        gradient_accumulation_steps=ACCUMULATION,
        num_generations=shape.group,
        max_completion_length=shape.new_tokens,
        generation_kwargs={"min_new_tokens": shape.new_tokens},
        beta=0.0,
        learning_rate=LEARNING_RATE,
        max_steps=shape.steps + 1,
        save_strategy="no",
        report_to=[],
        logging_strategy="no",
        disable_tqdm=True,
        shuffle_dataset=False,
        gradient_checkpointing=False,
    )


if __name__ == "__main__":
    main()
