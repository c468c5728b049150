"""One thread that does one thing after another, and what came of each: the futures of the Tinker API."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from askfirst.errors import AskfirstError, InputError

JSON, PROTO = "application/json", "application/x-protobuf"
REMEMBERED = 4096  # answers that were fetched and may be asked for once more, where a connection broke
# What a request can lead to; anything else is the machine's and ends the thread.
RAISED = (
    *(AskfirstError, RuntimeError, ValueError, TypeError, LookupError, ArithmeticError),
    *(AttributeError, AssertionError, OSError, MemoryError),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of what `retrieve_future` answers."""

    body: bytes
    media: str = JSON

    @classmethod
    def of(cls, value: dict[str, Any]) -> Answer:
        """JSON types as an answer."""
        return cls(json.dumps(value).encode())

    @classmethod
    def failed(cls, error: BaseException) -> Answer:
        """What the SDK raises as RequestFailedError: the user's fault or the server's."""
        category = "user" if isinstance(error, InputError) else "server"
        words = str(error) if isinstance(error, AskfirstError) else f"{type(error).__name__}: {error}"
        return cls.of({"error": words, "category": category})


def _begun() -> Future[Answer]:
    future: Future[Answer] = Future()
    future.set_running_or_notify_cancel()  # whoever waits for it cannot cancel it
    return future


@dataclass(slots=True)
class Job:
    """Something to do: `do` takes what is given with all jobs of one kin that are ready, and answers each."""

    request_id: str
    do: Callable[[Sequence[Any]], Sequence[Answer]]
    given: Any = None
    kin: Hashable = None
    done: Future[Answer] = field(default_factory=_begun)


class Work:
    """The thread, its queue and the answers that nobody has fetched yet."""

    def __init__(self) -> None:
        self._there = threading.Condition()
        self._ready: deque[Job] = deque()
        self._futures: dict[str, Future[Answer]] = {}
        self._fetched: OrderedDict[str, None] = OrderedDict()
        self._open = True
        self._thread = threading.Thread(target=self._run, name="askfirst-tinker", daemon=True)
        self._thread.start()

    def promise(self, job: Job) -> None:
        """From here on its answer can be waited for, whenever it is done."""
        self._futures[job.request_id] = job.done

    def submit(self, job: Job) -> None:
        """Do it after what was submitted before."""
        with self._there:
            self._ready.append(job)
            self._there.notify()

    def future(self, request_id: str) -> Future[Answer] | None:
        """The answer to come; None for a request that was never made or is forgotten."""
        return self._futures.get(request_id)

    def fetched(self, request_id: str) -> None:
        """Its answer went out; it is kept until REMEMBERED later ones did too."""
        self._fetched[request_id] = None
        self._fetched.move_to_end(request_id)
        while len(self._fetched) > REMEMBERED:
            self._futures.pop(self._fetched.popitem(last=False)[0], None)

    def forget(self, prefix: str) -> None:
        """Drop the answers to all requests whose id begins so."""
        for request_id in [name for name in self._futures if name.startswith(prefix)]:
            del self._futures[request_id]
            self._fetched.pop(request_id, None)

    @property
    def alive(self) -> bool:
        """Whether the thread still works."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> int:
        """Jobs that are ready and not begun."""
        return len(self._ready)

    def close(self) -> None:
        """End the thread after what it does now."""
        with self._there:
            self._open = False
            self._there.notify()
        self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            for job, answer in zip(batch, _answers(batch), strict=True):
                job.done.set_result(answer)

    def _next(self) -> list[Job]:
        """The oldest job that is ready and all of its kin; nothing when there is no more to do."""
        with self._there:
            self._there.wait_for(lambda: self._ready or not self._open)
            if not self._open:
                return []
            first = self._ready.popleft()
            if first.kin is None:
                return [first]
            batch = [first, *(job for job in self._ready if job.kin == first.kin)]
            self._ready = deque(job for job in self._ready if job.kin != first.kin)
            return batch


def _answers(batch: Sequence[Job]) -> Sequence[Answer]:
    try:
        return batch[0].do([job.given for job in batch])
    except RAISED as error:
        if len(batch) == 1:
            return [Answer.failed(error)]
        return [answer for job in batch for answer in _answers([job])]  # one of them spoils it only for itself
