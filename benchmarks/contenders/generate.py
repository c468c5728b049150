"""Rollouts alone by the library's own `generate`, the adapter in place."""

from __future__ import annotations

import torch
from peft import LoraConfig, get_peft_model

from benchmarks.shapes import ALPHA, LAYERS, RANK, Shape, library_model, measured, prompt_ids


def main() -> None:
    """Measure the shape of the command line."""
    shape = Shape.from_arguments()
    model, tokenizer = library_model(shape)
    model = get_peft_model(model, LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=LAYERS)).eval()

    def step(number: int) -> dict[str, float]:
        ids = torch.tensor(prompt_ids(shape, tokenizer, number)).repeat_interleave(shape.group, dim=0)
        with torch.inference_mode():
            model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=True,
                top_k=0,
                min_new_tokens=shape.new_tokens,
                max_new_tokens=shape.new_tokens,
                pad_token_id=tokenizer.eos_token_id,
            )
        return {}

    measured(step, shape)


if __name__ == "__main__":
    main()
