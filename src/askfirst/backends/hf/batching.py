"""Which rows are trained together, and which of their tokens are computed only once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from askfirst.errors import BackendFault
from askfirst.values import Row

GROUP_ROOM = 2  # times the budget that the rows of one prompt may take: cut, the prompt would be computed again
Ids = tuple[int, ...]
Span = tuple[int, int]  # places from … up to … in the packed line


@dataclass(frozen=True, slots=True)
class Block:
    """Runs of tokens that all follow the same tokens: `children`, side by side, after the spans of `chain`."""

    chain: tuple[Span, ...]
    children: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """Rows computed in one pass over `ids` (lines, length) at `positions` of the same shape.

    Packed, one line holds every token once, and `blocks`, in the order of the line, say what follows what.
    Otherwise each row has a line of its own, padded on the right, where a causal model never looks.
    `where` are the places in the flattened ids that predict the masked tokens, row after row.
    """

    rows: tuple[int, ...]
    ids: np.ndarray
    positions: np.ndarray
    where: np.ndarray
    blocks: tuple[Block, ...] = ()


def micro_batches(rows: Sequence[Row], budget: int, pack: bool) -> list[MicroBatch]:
    """All rows with a masked token, in micro-batches of at most `budget` token positions (one row at least; packed,
    the rows of one prompt may take GROUP_ROOM times as many).

    Raises BackendFault for a row whose first token is masked: nothing predicts it.
    """
    trained = [i for i, row in enumerate(rows) if row.mask.any()]
    for i in trained:
        if rows[i].mask[0]:
            raise BackendFault(f"row {i}: its first token is masked, but nothing comes before it to predict it")
    if pack:
        # Prompts that begin alike side by side.
        order = sorted(trained, key=lambda i: (_head(rows[i]), i))
        return list(_fill(order, rows, (budget, GROUP_ROOM * budget), _pack))
    order = sorted(trained, key=lambda i: (len(rows[i].token_ids), _head(rows[i]), i))
    return list(_fill(order, rows, (budget, budget), _pad))


Maker = Callable[[Sequence[Row], tuple[int, ...]], MicroBatch]


def _fill(order: list[int], rows: Sequence[Row], budgets: tuple[int, int], make: Maker) -> Iterator[MicroBatch]:
    """`budgets`: of rows of different prompts, and of those of one."""
    batch: MicroBatch | None = None
    for _, group in itertools.groupby(order, key=lambda i: _head(rows[i])):
        # A prompt's rows stay together where they fit: split, the prompt would be computed twice.
        for part in _parts(tuple(group), rows, budgets[1], make):
            together = make(rows, (*batch.rows, *part.rows)) if batch else part
            if batch and together.ids.size > budgets[0]:
                yield batch
                together = part
            batch = together
    if batch:
        yield batch


def _parts(group: tuple[int, ...], rows: Sequence[Row], budget: int, make: Maker) -> Iterator[MicroBatch]:
    """The rows of one prompt, cut into as few micro-batches as the budget allows."""
    whole = make(rows, group)
    if len(group) == 1 or whole.ids.size <= budget:
        yield whole
        return
    half = len(group) // 2
    yield from _parts(group[:half], rows, budget, make)
    yield from _parts(group[half:], rows, budget, make)


def _head(row: Row) -> Ids:
    """What may be shared of a row: all before the token that predicts the first masked one."""
    return tuple(row.token_ids[: int(row.mask.argmax()) - 1].tolist())


@dataclass(slots=True)
class _Line:
    """The packed line in the making, and for each row the places of its tokens."""

    ids: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)

    def add(self, ids: Sequence[int], position: int) -> Span:
        start = len(self.ids)
        self.ids.extend(ids)
        self.positions.extend(range(position, position + len(ids)))
        return start, len(self.ids)


def _pack(rows: Sequence[Row], part: tuple[int, ...]) -> MicroBatch:
    """A tree of three levels: what all prompts begin with, the rest of each prompt, the replies to it.

    A prompt with a single reply has no level of its own.
    """
    line, spans = _Line(), dict[int, tuple[Span, ...]]()
    prompts: dict[Ids, list[int]] = {}
    for i in part:
        prompts.setdefault(_head(rows[i]), []).append(i)
    common = _common_prefix(tuple(prompts)) if len(part) > 1 else ()
    trunk = (line.add(common, 0),) if common else ()
    blocks = [Block((), trunk)] if trunk else []
    rest: dict[Ids, Span] = {}
    for head, mine in prompts.items():
        alone = len(mine) == 1
        ids = tuple(rows[mine[0]].token_ids.tolist()) if alone else head
        if alone or len(head) > len(common):
            rest[head] = line.add(ids[len(common) :], len(common))
        if alone:
            spans[mine[0]] = (*trunk, rest[head])
    if rest:
        blocks.append(Block(trunk, tuple(rest.values())))
    for head, mine in prompts.items():
        if len(mine) > 1:
            chain = (*trunk, rest[head]) if head in rest else trunk
            replies = [line.add(rows[i].token_ids[len(head) :].tolist(), len(head)) for i in mine]
            blocks.append(Block(chain, tuple(replies)))
            spans |= {i: (*chain, reply) for i, reply in zip(mine, replies, strict=True)}
    where = [np.concatenate([np.arange(*s) for s in spans[i]])[np.flatnonzero(rows[i].mask) - 1] for i in part]
    ids_array, positions = np.array([line.ids]), np.array([line.positions])
    return MicroBatch(part, ids_array, positions, np.concatenate(where), tuple(blocks))


@dataclass(frozen=True, slots=True)
class PromptLine:
    """Some prompts in one packed line, and the places of each one's tokens in it."""

    ids: np.ndarray
    positions: np.ndarray
    blocks: tuple[Block, ...]
    places: tuple[np.ndarray, ...]


def prompt_lines(prompts: Sequence[Ids], budget: int) -> Iterator[PromptLine]:
    """All prompts in order, in lines of at most `budget` tokens (one prompt at least)."""
    common = _common_prefix([p[:-1] for p in prompts]) if len(prompts) > 1 else ()
    part: list[Ids] = []
    size = len(common)
    for prompt in prompts:
        more = len(prompt) - len(common)
        if part and size + more > budget:
            yield _prompt_line(common, part)
            part, size = [], len(common)
        part.append(prompt)
        size += more
    yield _prompt_line(common, part)


def _prompt_line(common: Ids, prompts: Sequence[Ids]) -> PromptLine:
    line = _Line()
    trunk = (line.add(common, 0),) if common else ()
    rest = [line.add(prompt[len(common) :], len(common)) for prompt in prompts]
    blocks = [Block((), trunk)] if trunk else []
    blocks.append(Block(trunk, tuple(rest)))
    places = tuple(np.concatenate([np.arange(*span) for span in (*trunk, own)]) for own in rest)
    return PromptLine(np.array([line.ids]), np.array([line.positions]), tuple(blocks), places)


def _pad(rows: Sequence[Row], part: tuple[int, ...]) -> MicroBatch:
    longest = max(len(rows[i].token_ids) for i in part)
    ids = np.zeros((len(part), longest), dtype=np.int64)
    for line, i in enumerate(part):
        ids[line, : len(rows[i].token_ids)] = rows[i].token_ids
    where = [line * longest + np.flatnonzero(rows[i].mask) - 1 for line, i in enumerate(part)]
    return MicroBatch(part, ids, np.tile(np.arange(longest), (len(part), 1)), np.concatenate(where))


def _common_prefix(prompts: Sequence[Ids]) -> Ids:
    first, last = min(prompts), max(prompts)  # in sorted order these two differ earliest
    shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return tuple(token for token, _ in shared)
