"""`nano` with further tokens: parts of the episodes of one environment, and words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer
from torch import Tensor, nn

from askfirst.backends.hf.nano import load_nano, wrapped

# A head passes on 32 numbers: to write a word again is learnt sooner where words differ in few more directions.
WORD_RANK = 48
# In what the layers have added so far, a word is told from others sooner where its vector is longer than other tokens'.
WORD_LENGTH = 3.0


def widened(folder: Path, parts: Sequence[str], words: Sequence[str] = ()) -> tuple[Any, Any]:
    """The (model, tokenizer) of a folder in which further fixed parts, and further words, are one token each.

    A part is a token wherever it stands; a word is, where it is all of a run of letters. A part starts as the mean of
    those it stands for, so that the model reads it much as it read them. A word starts at a random place, WORD_LENGTH
    as far from the mean of all as others are: means of a word's pieces lie too close to each other to be told apart.
    """
    model, tokenizer = load_nano(folder)
    texts = dict.fromkeys((*parts, *words))
    pieces = {text: tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts}
    wider = wrapped(_with_tokens(folder / "tokenizer.json", [text for text in texts if len(pieces[text]) > 1], parts))
    known = model.get_input_embeddings().weight.detach().clone()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model.resize_token_embeddings(-(-len(wider) // 64) * 64, mean_resizing=False)
        length = WORD_LENGTH * (known - known.mean(0)).norm(dim=1).mean()
        random = known.mean(0) + length * _directions(len(texts), known.shape[1])
    weights = model.get_input_embeddings().weight
    with torch.no_grad():
        for i, (text, ids) in enumerate(pieces.items()):
            if len(ids) > 1:
                weights[wider.convert_tokens_to_ids(text)] = known[ids].mean(0) if i < len(parts) else random[i]
    return model, wider


def _directions(count: int, size: int) -> Tensor:
    """Random directions (count, size) of length 1, all in WORD_RANK dimensions."""
    basis = torch.linalg.qr(torch.randn(size, WORD_RANK))[0]
    directions: Tensor = nn.functional.normalize(torch.randn(count, WORD_RANK), dim=1) @ basis.T
    return directions


def _with_tokens(file: Path, texts: Sequence[str], parts: Sequence[str]) -> Tokenizer:
    """The tokenizer of a file with `texts` as tokens; of these, `parts` are found before the text is cut into words.

    Words become entries without merges, which the tokenizer takes as they are (`ignore_merges`). Every token that is
    added is an entry too, since it would be given the next free id otherwise.
    """
    made = json.loads(file.read_text(encoding="utf-8"))
    vocabulary = made["model"]["vocab"]
    vocabulary |= {each["content"]: each["id"] for each in made["added_tokens"]}
    first = max(vocabulary.values()) + 1
    vocabulary |= {text: first + i for i, text in enumerate(texts)}
    made["model"]["ignore_merges"] = True
    core = Tokenizer.from_str(json.dumps(made))
    core.add_tokens([AddedToken(part, normalized=False, special=False) for part in parts])
    return core
