"""The model `nano`: a Llama of about 2.7 M weights for the reply protocol alone, and its training from scratch.

Its tokenizer holds the fixed parts of a reply as one token each, so that a reply is about 30 tokens,
and the choice of intent is one token. A word has the same tokens wherever it stands, because spaces are
tokens of their own: to copy a name is to repeat tokens. Its chat template drops the system message:
the model knows one protocol and needs no explanation of it.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from askfirst import store
from askfirst.backends._chat import Chat
from askfirst.backends.hf.guided import Guide, Guiding
from askfirst.backends.hf.halfway import Halfway
from askfirst.backends.hf.models import multiplies_bf16
from askfirst.backends.hf.muon import Muon
from askfirst.errors import InputError
from askfirst.replies import PAYLOADS, SLOTS
from askfirst.values import Message

PAD, USER, ASSISTANT, END = SPECIAL = ("<|pad|>", "<|user|>", "<|assistant|>", "<|end|>")
TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] == 'user' %}{{ '<|user|>' + message['content'] }}"
    "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] + '<|end|>' }}"
    "{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
Pair = tuple[Sequence[Message], str]


@dataclass(frozen=True, slots=True)
class NanoShape:
    """Sizes of the model."""

    vocabulary: int = 2048
    hidden: int = 192
    layers: int = 6
    heads: int = 6
    key_value_heads: int = 2
    mlp: int = 512
    context: int = 1024


@dataclass(frozen=True, slots=True)
class NanoTraining:
    """How to train from scratch: Muon (Jordan et al. 2024) for the matrices inside, AdamW for the rest.

    The learning rate warms up linearly and falls to a tenth of `lr` on a cosine. A step is computed in `shards`
    side by side, one thread each: such small products gain nothing from more threads on one of them. The next batch is
    drawn meanwhile. `bf16`: products in bf16, where the processor has them. A `guide` tells heads where to look.
    """

    steps: int
    batch: int = 64
    lr: float = 3e-3
    warmup: int = 50
    weight_decay: float = 0.05
    bf16: bool = False
    shards: int = 2
    buckets: int = 16  # batches drawn together and sorted by length
    seed: int = 0
    guide: Guide | None = None


def glue() -> tuple[str, ...]:
    """The fixed parts of replies and prompts, as one JSON writer puts them; each becomes one token."""
    parts = ['{"spokenText": "', '"}}', "on-screen elements:\n", "\n\nuser said: ", "user said: "]
    for intent, fields in PAYLOADS.items():
        first, *others = fields
        parts.append(f'", "intent": "{intent}", "payload": {{"{first}": "')
        parts += [f'", "{name}": "' for name, kind in fields.items() if name in others and kind is str]
    parts += [f'", "topic": "{slot}"}}}}' for slot in SLOTS]
    parts += ['", "args": {}}}', '", "args": {"', '"}}}', '", "argument": "', '": "', '", "']
    parts += [f"[{n}] " for n in range(1, 10)]
    return tuple(dict.fromkeys(parts))


def make_tokenizer(texts: Iterable[str], vocabulary: int = 2048) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer learnt from texts; any text comes back from its tokens exactly."""
    fixed = glue()
    core = Tokenizer(models.BPE())
    apart = pre_tokenizers.Split(Regex(r"\p{L}+|\p{N}|[^\p{L}\p{N}]"), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    core.pre_tokenizer = pre_tokenizers.Sequence([apart, byte_level])
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary - len(fixed),
        special_tokens=list(SPECIAL),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    core.train_from_iterator(_without(texts, fixed), trainer)
    core.add_tokens([AddedToken(part, normalized=False, special=False) for part in fixed])
    return wrapped(core)


def wrapped(core: Tokenizer) -> PreTrainedTokenizerFast:
    """A tokenizer of the library with the chat template and the special tokens of `nano`."""
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token=PAD, eos_token=END, chat_template=TEMPLATE, clean_up_tokenization_spaces=False
    )


def make_model(tokenizer: Any, shape: NanoShape, seed: int) -> LlamaForCausalLM:
    """A model with random weights drawn from `seed`, fp32."""
    config = LlamaConfig(
        vocab_size=-(-len(tokenizer) // 64) * 64,
        hidden_size=shape.hidden,
        intermediate_size=shape.mlp,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.key_value_heads,
        max_position_embeddings=shape.context,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    # The library draws from torch's own generator; its state is put back afterwards.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def create_nano(texts: Iterable[str], seed: int, shape: NanoShape | None = None) -> tuple[Any, Any]:
    """An untrained (model, tokenizer); the tokenizer is learnt from `texts`."""
    shape = shape or NanoShape()
    tokenizer = make_tokenizer(texts, shape.vocabulary)
    return make_model(tokenizer, shape, seed), tokenizer


def train_nano(
    model: Any,
    tokenizer: Any,
    pairs: Iterable[Pair],
    settings: NanoTraining,
    progress: Callable[[int, float], None] | None = None,
    halfway: Halfway | None = None,
) -> float:
    """Train all weights on (chat, reply) pairs in place; returns the last step's loss in nats per reply token.

    `pairs` must hold at least steps × batch items; `progress` gets (step, loss).
    Where it has left its state, `halfway`, it goes on from there with the same numbers, if the pairs are the same.
    Raises InputError when the pairs run out.
    """
    chat = Chat(tokenizer, "nano")
    drawn = batches(chat, iter(pairs), settings)
    dtype = torch.bfloat16 if settings.bf16 and multiplies_bf16() else torch.float32
    optimizers = _optimizers(model, settings, dtype)
    first = halfway.read(model, optimizers) if halfway else 0
    workers = [copy.deepcopy(model).to(dtype).train() for _ in range(settings.shards)]
    threads = torch.get_num_threads()
    torch.set_num_threads(settings.shards)  # of this thread alone, which steps the weights
    loss, guide = math.nan, settings.guide
    nothing = [None] * settings.shards
    try:
        with (
            ThreadPoolExecutor(settings.shards, initializer=torch.set_num_threads, initargs=(1,)) as pool,
            ThreadPoolExecutor(1) as drawer,
        ):
            batch = drawer.submit(next, islice(drawn, first, None), None)
            for step in range(first, settings.steps):
                if (rows := batch.result()) is None:
                    raise InputError(f"the training pairs ran out at step {step} of {settings.steps}")
                if step + 1 < settings.steps:
                    batch = drawer.submit(next, drawn, None)
                for group in (g for o in optimizers for g in o.param_groups):
                    group["lr"] = settings.lr * learning_rate_factor(step, settings)
                shards = _shards(rows, settings.shards)
                left = guide.left(step / settings.steps) if guide else 0.0
                _attend(workers, plainly=left > 0 or dtype == torch.bfloat16)
                guiding = guide.of_shards([ids for ids, _, _ in shards], left) if guide and left else nothing
                loss = sum(pool.map(_shard_backward, workers, shards, guiding))
                _step(model, workers, optimizers)
                if halfway and halfway.due(step + 1) and step + 1 < settings.steps:
                    halfway.write(step + 1, model, optimizers)
                if progress is not None:
                    progress(step, loss)
    finally:
        torch.set_num_threads(threads)
    model.set_attn_implementation("sdpa")
    model.eval()
    return loss


def reply_loss(model: Any, ids: Tensor, replies: Tensor, tokens: int, attentions: list[Tensor] | None = None) -> Tensor:
    """Negative logprob in nats of the reply tokens of ids (rows, length), summed and divided by `tokens`.

    `replies` (rows, length) is True on reply tokens; logits are computed for these alone. A list of `attentions` gets
    those of all layers, (rows, heads, length − 1, length − 1) each.
    """
    wanted = replies[:, 1:].flatten()
    out = model.get_decoder()(input_ids=ids[:, :-1], use_cache=False, output_attentions=attentions is not None)
    if attentions is not None:
        attentions += out.attentions
    hidden = out.last_hidden_state.flatten(0, 1)[wanted]
    logits = model.get_output_embeddings()(hidden).float()
    return nn.functional.cross_entropy(logits, ids[:, 1:].flatten()[wanted], reduction="sum") / tokens


def _attend(workers: Sequence[Any], *, plainly: bool) -> None:
    """Compute attention by the plain products or by the fused ones.

    In bf16 the backward pass of the fused attention was measured at three times the plain one; in fp32 it is faster.
    And attention that is guided has to be there to be read.
    """
    wanted = "eager" if plainly else "sdpa"
    for worker in workers:
        if worker.config._attn_implementation != wanted:
            worker.set_attn_implementation(wanted)


Shard = tuple[Tensor, Tensor, int]


def _shards(batch: tuple[Tensor, Tensor], count: int) -> list[Shard]:
    """Every `count`-th row to the same shard, each with the number of reply tokens of the whole batch."""
    ids, replies = batch
    return [(ids[i::count], replies[i::count], int(replies.sum())) for i in range(count)]


def _shard_backward(worker: Any, shard: Shard, guiding: Guiding | None) -> float:
    """The shard's gradient, left on the worker, and its part of the loss of replies."""
    worker.zero_grad()
    attentions: list[Tensor] = []
    loss = reply_loss(worker, *shard, attentions if guiding else None)
    torch.autograd.backward(loss + guiding(attentions) if guiding else loss)
    return float(loss.detach())


def _optimizers(model: Any, settings: NanoTraining, dtype: torch.dtype) -> list[torch.optim.Optimizer]:
    inside = {id(p) for p in model.get_decoder().layers.parameters() if p.ndim > 1}
    matrices = [p for p in model.parameters() if id(p) in inside]
    others = [p for p in model.parameters() if id(p) not in inside]
    return [
        Muon(matrices, settings.lr, settings.weight_decay, dtype),
        torch.optim.AdamW(others, settings.lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]


def _step(model: Any, workers: Sequence[Any], optimizers: Sequence[torch.optim.Optimizer]) -> None:
    """One optimiser step on the fp32 weights with the workers' gradients; the workers get the new weights."""
    for weight, *copies in zip(model.parameters(), *(w.parameters() for w in workers), strict=True):
        weight.grad = sum(c.grad.float() for c in copies)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        optimizer.step()
    with torch.no_grad():
        for weight, *copies in zip(model.parameters(), *(w.parameters() for w in workers), strict=True):
            for copied in copies:
                copied.copy_(weight)


def learning_rate_factor(step: int, settings: NanoTraining) -> float:
    """Share of the peak learning rate at a step: linear warm-up, then cosine down to 0.1."""
    if step < settings.warmup:
        return (step + 1) / settings.warmup
    done = (step - settings.warmup) / max(1, settings.steps - settings.warmup)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * done))


def save_nano(model: Any, tokenizer: Any, folder: Path, build: str) -> str:
    """Write the model as bf16 with its tokenizer and nano.json; returns the sha256 of the weights.

    `build` is the command that made it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    parameters = sum(p.numel() for p in model.parameters())
    record = {"version": 1, "build": build, "weights_sha256": digest, "parameters": parameters}
    store.write_json(folder / "nano.json", record)
    return digest


def load_nano(folder: Path) -> tuple[Any, Any]:
    """The (model, tokenizer) that `save_nano` wrote, weights in fp32."""
    model = LlamaForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    return model, wrapped(Tokenizer.from_file(str(folder / "tokenizer.json")))


def is_saved(folder: Path, build: str) -> bool:
    """Whether `folder` holds a whole model that was made by `build`."""
    record, weights = folder / "nano.json", folder / "model.safetensors"
    if not record.is_file() or not weights.is_file():
        return False
    found = store.read_json(record)
    return isinstance(found, dict) and (found.get("build"), found.get("weights_sha256")) == (
        build,
        hashlib.sha256(weights.read_bytes()).hexdigest(),
    )


def _without(texts: Iterable[str], fixed: Sequence[str]) -> Iterator[str]:
    """The texts without the parts that are tokens already: merges are spent on words."""
    longest_first = sorted(fixed, key=len, reverse=True)
    for text in texts:
        rest = text
        for part in longest_first:
            rest = rest.replace(part, "\n")
        yield rest


def batches(chat: Chat, pairs: Iterator[Pair], settings: NanoTraining) -> Iterator[tuple[Tensor, Tensor]]:
    """Padded ids, and where the replies are (batch, length). Pairs of similar length share a batch, in any order."""
    order = store.generator("nano batches", settings.seed)
    while drawn := list(islice(pairs, settings.batch * settings.buckets)):
        rows = [dialogue_tokens(chat, tuple(messages), reply) for messages, reply in drawn]
        rows.sort(key=lambda row: len(row[0]))
        full = [rows[i : i + settings.batch] for i in range(0, len(rows), settings.batch)]
        for i in order.permutation(len(full)):
            if len(full[i]) == settings.batch:
                yield _pad(full[i], chat.tokenizer.pad_token_id)


def dialogue_tokens(chat: Chat, messages: tuple[Message, ...], reply: str) -> tuple[list[int], list[bool]]:
    """Tokens of a dialogue that ends with `reply`, as they are sampled turn by turn, and which the assistant says."""
    turns = [i for i, m in enumerate(messages) if m.role == "assistant"]
    ids = list(chat.encode(messages[: turns[0]] if turns else messages))
    said = [False] * len(ids)
    for i, end in zip(turns, [*turns[1:], len(messages)], strict=False):
        for tokens, own in ((chat.encode_reply(messages[i].content), True), (chat.encode_next(messages[:end]), False)):
            ids += tokens
            said += [own] * len(tokens)
    last = chat.encode_reply(reply)
    return [*ids, *last], [*said, *[True] * len(last)]


def _pad(rows: list[tuple[list[int], list[bool]]], pad: int) -> tuple[Tensor, Tensor]:
    """Padding goes to the right, where causal attention never looks."""
    length = max(len(own) for own, _ in rows)
    ids = torch.full((len(rows), length), pad)
    replies = torch.zeros((len(rows), length), dtype=torch.bool)
    for i, (own, said) in enumerate(rows):
        ids[i, : len(own)] = torch.tensor(own)
        replies[i, : len(own)] = torch.tensor(said)
    return ids, replies
