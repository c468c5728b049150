"""A model behind an OpenAI-compatible server (`POST URL/chat/completions`): it says things, and cannot be trained.

Requests go out side by side and are tried again where that may help. Every answer is kept in a file as it comes, by a
hash of what was asked, so that nothing is asked twice, also after the process was killed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askfirst.backends._text import END, TextTokens, messages_of, pack
from askfirst.backends.openai._wire import Answer, Target, Unanswered, ask, client
from askfirst.errors import BackendFault, InputError, ModelError
from askfirst.policy import Completion, ModelSpec, Objective, SampleRequest, Sampling, StepSettings, UpdateResult
from askfirst.store import append_line, as_record, content_hash, read_lines
from askfirst.values import Floats, Row, StopReason

__all__ = ["Answer", "Endpoint", "Target", "open_policy"]
DEAD = 5  # requests in a row that no try was answered for
SEED_BITS = 31  # that every server takes


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request by the hash of everything that its answer may depend on."""

    name: str
    body: Mapping[str, Any]


class Endpoint(TextTokens):
    """A Policy that asks a server. It knows no logprobs and refuses whatever needs weights.

    `kept` is the file of answers; without one they are remembered while this lives. `heard` are the answers that
    `sample` gave, in its order, until somebody clears it. `tell(n)` is told of every answer, how many there are.
    """

    name = "openai"

    def __init__(self, target: Target, kept: Path | None = None, tell: Callable[[int], None] = lambda n: None) -> None:
        self._target, self._kept, self._tell = target, kept, tell
        self._lock, self._over = threading.Lock(), threading.Event()
        self._answers: dict[str, Answer] = {}
        self.heard: list[Answer] = []
        if kept is not None and kept.is_file():
            for number, line in enumerate(read_lines(kept), start=1):
                answer = as_record(Answer, line, f"{kept}:{number}")
                self._answers[answer.request] = answer

    def sample(
        self, requests: Sequence[SampleRequest], sampling: Sampling, keep: bool = False
    ) -> list[list[Completion]]:
        """A completion for each request and seed, without logprobs.

        A request that stays unanswered does not stop the others, DEAD in a row do. Either way BackendFault is raised:
        a part is no result. ModelError where the server refuses.
        """
        wanted = [[self._wanted(request, seed, sampling) for seed in request.seeds] for request in requests]
        self._ask({each.name: each for group in wanted for each in group if each.name not in self._answers})
        found = [[self._answers[each.name] for each in group] for group in wanted]
        self.heard += [answer for group in found for answer in group]
        return [[_completion(answer) for answer in group] for group in found]

    def logprobs(self, rows: Sequence[Row], reference: bool = False) -> list[Floats]:
        """Always raises BackendFault."""
        raise _refusal("gives no logprobs of given tokens")

    def update(self, rows: Sequence[Row], objective: Objective, settings: StepSettings) -> UpdateResult:
        """Always raises BackendFault."""
        raise _refusal("cannot learn")

    def save(self, folder: Path) -> None:
        """Always raises BackendFault."""
        raise _refusal("has no weights to save")

    def load(self, folder: Path) -> None:
        """Always raises BackendFault."""
        raise _refusal("takes no weights")

    def fingerprint(self) -> str:
        """sha256 of the address, the model's name and its thinking budget: which weights answer, the server alone
        knows."""
        return content_hash([self._target.url, self._target.model, self._target.thinking_tokens])

    def _wanted(self, request: SampleRequest, seed: int, sampling: Sampling) -> _Wanted:
        said = [{"role": m.role, "content": m.content} for m in messages_of(request.prompt_ids)]
        budget = sampling.max_tokens + self._target.thinking_tokens
        body = {"model": self._target.model, "messages": said, "max_tokens": budget}
        body |= {"temperature": sampling.temperature}
        if sampling.temperature > 0:
            body |= {"seed": seed & ((1 << SEED_BITS) - 1)}
        # The whole seed: two trials are two requests even where the server sees the same.
        asked = [self._target.url, body, self._target.thinking_tokens, str(seed) if sampling.temperature > 0 else ""]
        return _Wanted(content_hash(asked), body)

    def _ask(self, wanted: Mapping[str, _Wanted]) -> None:
        """Ask for everything, and keep what is answered."""
        self._over.clear()
        lost, row = list[str](), 0
        with client(self._target) as http, ThreadPoolExecutor(self._target.concurrency) as pool:
            tasks = [pool.submit(self._one, http, each) for each in wanted.values()]
            try:
                for task in as_completed(tasks):
                    why = task.result()
                    row = row + 1 if why else 0
                    lost += [why] if why else []
                    if row == DEAD:
                        break
            finally:
                self._over.set()
                pool.shutdown(wait=True, cancel_futures=True)
        if lost:
            count = f"{DEAD} requests in a row were" if row == DEAD else f"{len(lost)} of {len(wanted)} requests were"
            kept = (
                f"what was answered is kept in {self._kept}; the same command asks for the rest" if self._kept else ""
            )
            raise BackendFault(f"{count} not answered, the last for {lost[-1]}", where=self._target.url, hint=kept)

    def _one(self, http: Any, wanted: _Wanted) -> str:
        """Ask for one answer and keep it; returns why there is none."""
        if self._over.is_set():
            return "nobody waiting"
        try:
            answer = ask(http, self._target, wanted.body, wanted.name, self._over.wait)
        except Unanswered as no:
            return str(no)
        with self._lock:
            if self._kept is not None:
                append_line(self._kept, answer)
            self._answers[wanted.name] = answer
            self._tell(len(self._answers))
        return ""


def open_policy(spec: ModelSpec, seed: int) -> Endpoint:
    """The model and server that `spec.name` names as URL#MODEL, without a key; the seed has no effect."""
    url, mark, model = spec.name.partition("#")
    if not mark or not model:
        raise ModelError(f"expected URL#MODEL, found {spec.name!r}", hint="such as http://127.0.0.1:8000/v1#my-model")
    try:
        return Endpoint(Target(url, model))
    except InputError as error:
        raise ModelError(error.message, where=error.where, hint=error.hint) from error


def _completion(answer: Answer) -> Completion:
    end = (END,) if answer.stop is StopReason.END else ()
    return Completion((*pack(answer.text), *end), (), answer.stop)


def _refusal(what: str) -> BackendFault:
    return BackendFault(f"an endpoint {what}", hint="it is for evaluation and generation; train with tabular or hf")
