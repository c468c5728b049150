"""Bytes of the Tinker API to arrays and back. Its messages are those of the SDK, from which they are taken."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from tinker import types
from tinker.proto import tinker_public_pb2 as pb

from askfirst.backends.hf.targets import Asked
from askfirst.errors import InputError
from askfirst.policy import Completion
from askfirst.values import Floats, StopReason

CELLS = 1 << 22  # of one tensor: what a few bytes of a sparse one may grow to
_DTYPES = {pb.DTYPE_FLOAT32: np.float32, pb.DTYPE_INT64: np.int64, pb.DTYPE_INT32: np.int32}


@dataclass(frozen=True, slots=True)
class Datum:
    """A sequence with the tokens to be scored and what the loss takes beside them, all of one shape.

    `flat`: the targets came as (N,), and so do all else; `asked` has them as (N, 1).
    """

    asked: Asked
    flat: bool
    inputs: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Pass:
    """A request for a forward pass, with or without the backward one."""

    model_id: str
    seq_id: int
    forward_only: bool
    loss_fn: str
    config: Mapping[str, float | str]
    data: Sequence[pb.Datum]


def read_pass(body: bytes) -> Pass:
    """Raises InputError for what is no such request."""
    message = pb.ForwardBackwardRequest()
    try:
        message.ParseFromString(body)
    except DecodeError as error:
        raise InputError(f"not a ForwardBackwardRequest: {error}") from error
    config: dict[str, float | str] = dict(message.loss_fn_config)
    for key, value in message.loss_fn_config_v2.items():
        config[key] = value.text if value.HasField("text") else value.number
    return Pass(message.model_id, message.seq_id, message.forward_only, message.loss_fn, config, message.data)


def read_datum(message: pb.Datum) -> Datum:
    """Raises InputError for other input than text and for tensors that do not fit each other."""
    ids = np.concatenate([_text(chunk) for chunk in message.model_input] or [np.zeros(0, np.int64)])
    tensors = {name: _tensor(name, tensor) for name, tensor in message.loss_fn_inputs.items()}
    targets = tensors.pop("target_tokens", None)
    if targets is None:
        raise InputError("loss_fn_inputs lack target_tokens")
    if targets.ndim not in (1, 2) or len(targets) != len(ids) or not targets.size:
        raise InputError(f"target_tokens have shape {targets.shape} for a model_input of {len(ids)} tokens")
    if targets.dtype.kind != "i":
        raise InputError("target_tokens are not whole numbers")
    for name, tensor in tensors.items():
        if tensor.shape != targets.shape or not np.isfinite(tensor).all():
            raise InputError(f"{name} has shape {tensor.shape} and must be finite numbers of shape {targets.shape}")
    flat = targets.ndim == 1
    wide = targets[:, None] if flat else targets
    return Datum(Asked(ids, wide.astype(np.int64)), flat, {k: v.astype(np.float64) for k, v in tensors.items()})


def _text(chunk: pb.Chunk) -> NDArray[np.int64]:
    if chunk.WhichOneof("chunk") != "encoded_text" or len(chunk.encoded_text.tokens) % 4:
        raise InputError("a model_input has another chunk than text, which is all that this server reads")
    return np.frombuffer(chunk.encoded_text.tokens, dtype=np.int32).astype(np.int64)


def _tensor(name: str, message: pb.Tensor) -> NDArray[np.float32] | NDArray[np.int64]:
    """The dense array; what a sparse one leaves out is 0."""
    dtype, shape = _DTYPES.get(message.dtype), tuple(message.shape)
    if dtype is None or any(side < 0 for side in shape) or math.prod(shape) > CELLS:
        raise InputError(f"{name}: dtype {message.dtype} with shape {shape} is not read here")
    try:
        if not message.HasField("sparse_csr"):
            values = np.frombuffer(message.dense, dtype=dtype)
            return values.reshape(shape) if shape else values
        csr = message.sparse_csr
        rows = np.frombuffer(csr.crow_indices, dtype=np.int64)
        return dense(np.frombuffer(csr.values, dtype=dtype), rows, np.frombuffer(csr.col_indices, np.int64), shape)
    except (ValueError, IndexError) as error:
        raise InputError(f"{name}: {error}") from error


def dense(
    values: NDArray[np.generic], rows: NDArray[np.int64], columns: NDArray[np.int64], shape: Sequence[int]
) -> NDArray[np.int64]:
    """A sparse matrix (compressed rows) with 0 at what it leaves out. Raises ValueError where its parts do not fit."""
    counts = np.diff(rows)
    fits = len(shape) == 2 and len(counts) == shape[0] and (counts >= 0).all() and rows[0] == 0
    if not fits or not rows[-1] == len(columns) == len(values) or (columns < 0).any():
        raise ValueError(f"a sparse tensor does not fit its shape {tuple(shape)}")
    found = np.zeros(tuple(shape), dtype=values.dtype)
    found[np.repeat(np.arange(shape[0]), counts), columns] = values
    return found


def write_pass(logprobs: Sequence[Floats], loss: float) -> bytes:
    """The answer to a pass: logprobs (N,) or (N, K) of each sequence, and the loss as `loss:sum`."""
    message = pb.ForwardBackwardOutput(loss_fn_output_type="ArrayRecord", metrics={"loss:sum": loss})
    start = 0
    while start < len(logprobs):
        shape = logprobs[start].shape[1:]  # neighbours of one width share a record
        end = next((i for i in range(start, len(logprobs)) if logprobs[i].shape[1:] != shape), len(logprobs))
        parts = [each.astype(np.float32).tobytes() for each in logprobs[start:end]]
        offsets = np.cumsum([0, *map(len, parts)]).astype(np.int64)
        tensor = pb.BatchedTensor(
            data=b"".join(parts), offsets=offsets.tobytes(), dtype=pb.DTYPE_FLOAT32, trailing_shape=shape
        )
        message.loss_fn_outputs.append(
            pb.ArrayRecord(type_tag="ArrayRecord", num_datums=end - start, fields={"logprobs": tensor})
        )
        start = end
    return bytes(message.SerializeToString())


@dataclass(frozen=True, slots=True)
class Top:
    """The likeliest tokens (n, k) of places and their logprobs (n, k)."""

    ids: NDArray[np.int64]
    logprobs: Floats


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a sampling request is answered with. Logprobs of the prompt are NaN where there are none."""

    completions: Sequence[Completion]
    top: Sequence[Top] = ()  # of each completion
    prompt: Floats | None = None
    top_prompt: Top | None = None
    targets: Floats | None = None


def write_sampled(sampled: Sampled) -> bytes:
    """The answer to a sampling request."""
    message = pb.SampleResponse()
    for completion in sampled.completions:
        message.sequences.append(
            pb.SampledSequence(
                stop_reason=pb.STOP_REASON_STOP if completion.stop is StopReason.END else pb.STOP_REASON_LENGTH,
                tokens=np.array(completion.token_ids, dtype=np.int32).tobytes(),
                logprobs=np.array(completion.logprobs, dtype=np.float32).tobytes(),
            )
        )
    for sequence, top in zip(message.sequences, sampled.top, strict=False):
        sequence.topk_sampled_logprobs.CopyFrom(_top(top))
    if sampled.prompt is not None:
        message.prompt_logprobs = sampled.prompt.astype(np.float32).tobytes()
    if sampled.top_prompt is not None:
        message.topk_prompt_logprobs.CopyFrom(_top(sampled.top_prompt))
    if sampled.targets is not None:
        message.target_prompt_logprobs.CopyFrom(
            pb.Tensor(
                dense=sampled.targets.astype(np.float32).tobytes(),
                dtype=pb.DTYPE_FLOAT32,
                shape=sampled.targets.shape,
            )
        )
    return bytes(message.SerializeToString())


def _top(top: Top) -> pb.TopkLogprobs:
    length, k = top.ids.shape
    ids, logprobs = top.ids.astype(np.int32).tobytes(), top.logprobs.astype(np.float32).tobytes()
    return pb.TopkLogprobs(token_ids=ids, logprobs=logprobs, k=k, length=length)


def prompt_of(given: types.ModelInput) -> tuple[int, ...]:
    """The tokens of a prompt. Raises InputError for other input than text."""
    if not all(isinstance(chunk, types.EncodedTextChunk) for chunk in given.chunks):
        raise InputError("a prompt has another chunk than text, which is all that this server reads")
    return tuple(given.to_ints())
