"""A sentence model from a local folder, for comparing texts by meaning. Needs the extra `hf`; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from askfirst.audit.fuzzy import Embedder
from askfirst.errors import ModelError
from askfirst.values import Floats

AT_ONCE = 64
TOKENS = 256  # of a text; what follows is not read


def sentence_model(folder: Path) -> Embedder:
    """Texts → vectors of length 1: the mean of the last hidden states, as the all-MiniLM models were trained for.

    Raises ModelError for a folder that holds no such model.
    """
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError as error:
        raise ModelError("a sentence model needs the extra hf", hint="pip install 'askfirst[hf]'") from error
    if not (folder / "config.json").is_file():
        raise ModelError("no sentence model is here: there is no config.json", where=str(folder))
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        model = AutoModel.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False).eval()
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(
            f"the sentence model does not load: {str(error).splitlines()[0]}", where=str(folder)
        ) from error

    def embed(texts: Sequence[str]) -> Floats:
        parts = []
        for start in range(0, len(texts), AT_ONCE):
            chunk = list(texts[start : start + AT_ONCE])
            read = tokenizer(chunk, padding=True, truncation=True, max_length=TOKENS, return_tensors="pt")
            with torch.no_grad():
                states = model(**read).last_hidden_state  # (N, T, D)
            mask = read["attention_mask"].unsqueeze(-1).to(states.dtype)
            parts.append(((states * mask).sum(1) / mask.sum(1)).double().numpy())
        vectors = np.concatenate(parts)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float64)

    return embed
