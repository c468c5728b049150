"""A merged model as one GGUF file, for llama.cpp and what is built on it.

The layout is that of the `gguf` package: names from its tensor map of architecture `llama`; queries and keys with the
two halves of each head interleaved, as llama.cpp rotates neighbouring pairs where transformers rotates halves.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf.quants import quantize
from numpy.typing import NDArray
from tokenizers import Regex, Tokenizer, pre_tokenizers

from askfirst.backends._chat import Chat
from askfirst.backends.hf.models import Loaded
from askfirst.errors import InputError, ModelError, StorageFault
from askfirst.exports.weights import require_new

KINDS: Mapping[str, tuple[gguf.GGMLQuantizationType, gguf.LlamaFileType]] = {
    "f32": (gguf.GGMLQuantizationType.F32, gguf.LlamaFileType.ALL_F32),
    "f16": (gguf.GGMLQuantizationType.F16, gguf.LlamaFileType.MOSTLY_F16),
    "q8_0": (gguf.GGMLQuantizationType.Q8_0, gguf.LlamaFileType.MOSTLY_Q8_0),
}
ARCHITECTURE = "LlamaForCausalLM"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
# How llama.cpp cuts text before it merges bytes: name → its regular expressions, each applied to what is left whole.
SPLITS: Mapping[str, tuple[str, ...]] = {
    "smollm": (r"\p{N}", _GPT2),
    "gpt-2": (_GPT2,),
    "llama-bpe": (
        r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    "deepseek-coder": (r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"),
}
# What two ways of cutting text would cut apart, if anything.
SAMPLE = (
    "'save' it\n'tell' them\n'revert'\n'declare'\n"
    "Don't say 'tomorrow', we'll  see:\n\n\tsend 3 files (2026-07-31, 12345 kB) to Zoë's team!!\r\n"
    '{"spokenText": "Which draft?", "intent": "clarify", "payload": {"question": "a—b … c", "topic": "target"}}\n'
    "[1] button|120,40|Delete|report draft  \n  naïve ÉTÉ ﬁ 東京タワー 서울 😀👍🏽 `x += y**2` # end   "
)


def write_gguf(whole: Loaded, name: str, kind: str, out: Path) -> Path:
    """Write a model with its tokenizer and chat template. Matrices are `kind`, vectors f32; `name` is its title.

    Raises ModelError for an architecture, a rotation or a tokenizer that has no place in the file, InputError for an
    unknown kind and where the file is there already.
    """
    require_new(out)
    if kind not in KINDS:
        raise InputError(f"no type of weights is called {kind!r} here", hint=f"choose one of: {', '.join(KINDS)}")
    config = whole.model.config
    if config.architectures != [ARCHITECTURE] or config.rope_parameters.get("rope_type") != "default":
        what = f"{', '.join(config.architectures or ['no architecture'])}, {config.rope_parameters}"
        raise ModelError(
            f"no GGUF layout is known here for {what}", where=name,
            hint=f"only {ARCHITECTURE} with plain rotary positions; askfirst export merged, then llama.cpp's converter",
        )  # fmt: skip

    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
            _write(Path(folder) / out.name, whole, name, kind)
            os.replace(Path(folder) / out.name, out)
    except OSError as error:
        raise StorageFault(f"cannot write: {error.strerror or error}", where=str(out)) from error
    return out


def _write(path: Path, whole: Loaded, name: str, kind: str) -> None:
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.LLAMA])
    _shape(writer, whole.model.config, name, kind)
    _tokenizer(writer, whole, name)
    for title, values in _tensors(whole.model, kind):
        # The writer knows the type of floats; bytes are blocks of the wanted kind.
        writer.add_tensor(title, values, raw_dtype=KINDS[kind][0] if values.dtype == np.uint8 else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _shape(writer: Any, config: Any, name: str, kind: str) -> None:
    writer.add_name(name)
    writer.add_file_type(KINDS[kind][1])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(_head(config))
    writer.add_value_length(_head(config))
    writer.add_rope_dimension_count(_head(config))
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)


def _head(config: Any) -> int:
    return int(getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads)


def _tensors(model: Any, kind: str) -> Iterator[tuple[str, NDArray[Any]]]:
    """Every weight under the name and in the layout of llama.cpp."""
    config = model.config
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    tied = config.tie_word_embeddings
    for full, weight in model.state_dict().items():
        if tied and full == "lm_head.weight":
            continue
        title = names.get_name(full, try_suffixes=(".weight", ".bias"))
        if title is None:
            raise ModelError(f"the weight {full} has no place in a GGUF file of architecture llama")
        values = weight.detach().to(torch.float32).cpu().numpy()
        rotated = heads.get(full.split(".")[-2])
        if rotated:
            halves = values.reshape(rotated, 2, values.shape[0] // rotated // 2, *values.shape[1:])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        yield title, _stored(np.ascontiguousarray(values), kind)


def _stored(values: NDArray[np.float32], kind: str) -> NDArray[Any]:
    """Matrices in the wanted kind; vectors, and rows that do not fill the blocks of a quantisation, wider."""
    if values.ndim < 2 or kind == "f32":
        return values
    if kind == "q8_0" and values.shape[-1] % gguf.GGML_QUANT_SIZES[KINDS[kind][0]][0] == 0:
        blocks: NDArray[Any] = quantize(values, KINDS[kind][0])
        return blocks
    return values.astype(np.float16)


def _tokenizer(writer: Any, whole: Loaded, name: str) -> None:
    own, core = whole.tokenizer, json.loads(whole.tokenizer.backend_tokenizer.to_str())
    pre = pre_tokenizer(whole.tokenizer, name)
    vocabulary = {index: text for text, index in own.get_vocab().items()}
    added = {token["id"]: token for token in core["added_tokens"]}
    tokens, types = [], []
    for index in range(whole.model.config.vocab_size):
        token = added.get(index)
        tokens.append(vocabulary.get(index, f"[PAD{index}]"))
        if index not in vocabulary:
            types.append(gguf.TokenType.UNUSED)
        elif token is None:
            types.append(gguf.TokenType.NORMAL)
        else:
            types.append(gguf.TokenType.CONTROL if token["special"] else gguf.TokenType.USER_DEFINED)
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in core["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(Chat(own, name, whole.end_ids).end_id)
    if own.bos_token_id is not None:
        writer.add_bos_token_id(own.bos_token_id)
    if own.pad_token_id is not None:
        writer.add_pad_token_id(own.pad_token_id)
    writer.add_add_bos_token(own("a")["input_ids"][:1] == [own.bos_token_id])
    writer.add_chat_template(own.chat_template)


def pre_tokenizer(tokenizer: Any, name: str) -> str:
    """Which of llama.cpp's ways to cut text gives the tokens of this tokenizer. Raises ModelError for none."""
    text = tokenizer.backend_tokenizer.to_str()
    core = json.loads(text)["model"]
    if core["type"] != "BPE" or core.get("byte_fallback") or json.loads(text).get("normalizer"):
        raise ModelError("only a byte-level BPE tokenizer without a normaliser has a place in the file", where=name)
    expected = tokenizer.backend_tokenizer.encode(SAMPLE, add_special_tokens=False).ids
    for pre, patterns in SPLITS.items():
        other = Tokenizer.from_str(text)
        cuts = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]
        other.pre_tokenizer = pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(False, use_regex=False)])
        if other.encode(SAMPLE, add_special_tokens=False).ids == expected:
            return pre
    raise ModelError("llama.cpp would cut text into other tokens than this tokenizer", where=name)
