"""What `nano-clarify` learns to read from lists alone:
python -m benchmarks.reading STEPS [--one [--keys N] [--values N] [--words N]] [--guided] [--directions N] [--length L]
    [--rate R]

Lists of `specialists._lists`, 16 a step, that get hard over all steps; or, with --one, 32 a step of one word a name and
a value, asked for one fact a turn. Every EVERY steps: the share of first tokens of values, of keys, and of each list's
first key, that are the likeliest, in SHOWN lists that are not trained on. A later key may be one that is left over.

--keys, --values, --words: the lists of --one have so many keys, so many values each, and so many of the common words,
evenly spread. --guided: heads are told where to look, as in a build. --directions is `widening.WORD_RANK`, --length
`widening.WORD_LENGTH`, --rate the learning rate.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch

from askfirst.backends._chat import Chat
from askfirst.backends.hf import nano, widening
from askfirst.clarify.calls import PLAN, Call
from askfirst.replies import SAID
from askfirst.specialists._lists import in_turn
from askfirst.specialists._words import COMMON
from askfirst.specialists.clarify import CLARIFY
from askfirst.specialists.core import Pair, begin
from askfirst.store import generator
from askfirst.values import Message

EVERY, SHOWN, SAID_OF = 25, 40, 4
PRICED = "\na question: 3 (6 left, 80% answered)\n"
VALUE, KEYS = '": "', ('{"plan": {"', '", "')  # what stands before a value, and before a key
Draw = Callable[[np.random.Generator], Pair]


def one_fact_a_turn(random: np.random.Generator, known: Sequence[str], keys: int, values: int) -> Pair:
    """A list of so many keys with so many of the known words each; SAID_OF of these are said, one a turn."""
    words = [known[int(i)] for i in random.choice(len(known), keys * (values + 1), replace=False)]
    rows = [words[i::keys] for i in range(keys)]
    shown = "\n".join(f"{key} (12): {' | '.join(own)}" for key, *own in rows)
    messages: list[Message] = []
    last = ""
    for i in random.permutation(keys * values)[:SAID_OF]:
        key, *own = rows[int(i) // values]
        said = f"{SAID}{own[int(i) % values]}."
        messages += (
            [Message("assistant", last), Message("user", said)] if last else [Message("user", f"{shown}{PRICED}{said}")]
        )
        last = Call(PLAN, plan={key: own[int(i) % values]}).text()
    return tuple(messages), last


def right(model: object, chat: Chat, pair: Pair) -> tuple[list[bool], list[bool]]:
    """Of each value and each key, whether its first token is the likeliest."""
    ids, said = nano.dialogue_tokens(chat, *pair)
    with torch.no_grad():
        likeliest = model(torch.tensor([ids])).logits[0].argmax(-1).tolist()  # type: ignore[operator]
    found: tuple[list[bool], list[bool]] = ([], [])
    before = ""
    for at, (token, own) in enumerate(zip(ids, said, strict=True)):
        if own and before.endswith(VALUE):
            found[0].append(likeliest[at - 1] == token)
        elif own and before.endswith(KEYS):
            found[1].append(likeliest[at - 1] == token)
        before += chat.decode([token])
    return found


def main() -> None:
    """Train and print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int)
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--keys", type=int, default=2)
    parser.add_argument("--values", type=int, default=2)
    parser.add_argument("--words", type=int, default=len(COMMON))
    parser.add_argument("--guided", action="store_true")
    parser.add_argument("--directions", type=int, default=widening.WORD_RANK)
    parser.add_argument("--length", type=float, default=widening.WORD_LENGTH)
    parser.add_argument("--rate", type=float, default=2e-3)
    given = parser.parse_args()
    widening.WORD_RANK, widening.WORD_LENGTH = given.directions, given.length
    known = COMMON[:: len(COMMON) // given.words][: given.words]
    model, tokenizer, guide = begin(CLARIFY if given.guided else replace(CLARIFY, guide=None))
    chat, began, batch = Chat(tokenizer, "nano"), time.perf_counter(), 32 if given.one else 16
    one = partial(one_fact_a_turn, known=known, keys=given.keys, values=given.values)
    tests: dict[str, Draw] = {f"{given.keys} keys, {given.values} values each": one}
    if not given.one:
        tests = {
            f"{few} values, hard {hard:g}": partial(in_turn, few, hard) for few, hard in ((1, 0.0), (4, 0.0), (4, 1.0))
        }
    print(f"| step | seconds | loss | {' | '.join(tests)} |\n|{'---|' * (3 + len(tests))}")

    def pairs() -> Iterator[Pair]:
        random = generator("benchmarks.reading")
        for drawn in itertools.count():
            hard = drawn / (given.steps * batch)
            most = 1 + min(3, int(random.random() * (1 + 6 * hard)))
            yield one(random) if given.one else in_turn(most, min(1.0, hard), random)

    def tell(step: int, loss: float) -> None:
        if (step + 1) % EVERY:
            return
        row = [f"{step + 1} | {time.perf_counter() - began:.0f} | {loss:.2f}"]
        for draw in tests.values():
            random = generator("benchmarks.reading", "shown")
            found = [right(model, chat, draw(random)) for _ in range(SHOWN)]
            values, keys = ([each for own in found for each in own[i]] for i in (0, 1))
            first = [own[1][0] for own in found]
            row.append(f"{np.mean(values):.2f} / {np.mean(keys):.2f} / {np.mean(first):.2f}")
        print(f"| {' | '.join(row)} |", flush=True)

    settings = nano.NanoTraining(given.steps, batch, given.rate, bf16=True, buckets=2, guide=guide)
    nano.train_nano(model, tokenizer, pairs(), settings, tell)


if __name__ == "__main__":
    main()
