"""Work done side by side in processes of its own, with events on the way and one way to stop.

A worker never outlives the process that started it, whatever ends that one.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from askfirst.errors import AskfirstError, BackendFault, Interrupted
from askfirst.events import Event, Listener

T = TypeVar("T")
Stop = Callable[[], bool]
Work = Callable[[T, Listener, Stop], None]
LOOK_SECONDS = 0.2  # how often the workers are told of a stop
# A forked torch may hang once it has computed something. So workers are forked from a server that has only imported
# it, or, where there is none, started from nothing.
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()
_WORKERS: Any = multiprocessing.get_context("forkserver" if _FORKS else "spawn")


@dataclass(frozen=True, slots=True)
class _Done:
    """A worker's last word: what it raised, if anything."""

    error: AskfirstError | None


def prepare(modules: Sequence[str]) -> None:
    """Begin to import what workers will need, beside whatever this process does next; the first call counts."""
    if _FORKS:
        from multiprocessing import forkserver

        multiprocessing.get_context("forkserver").set_forkserver_preload(list(modules))
        with _uninterrupted():
            forkserver.ensure_running()


def side_by_side(work: Work[T], items: Sequence[T], jobs: int, listen: Listener, stop: Stop) -> None:
    """Do `work(item, listen, stop)` for every item, at most `jobs` at a time.

    `work` is a function at the top of a module, items can be pickled. After a stop or an error nothing new begins
    and what runs is asked to stop; then the error is raised, or Interrupted. A worker that dies is a BackendFault.
    """
    halt = _WORKERS.Event()
    waiting, running = deque(items), dict[Connection, Any]()
    errors: list[AskfirstError] = []
    try:
        while running or (waiting and not halt.is_set()):
            while waiting and len(running) < jobs and not halt.is_set():
                here, there = _WORKERS.Pipe(duplex=False)
                process = _WORKERS.Process(target=_worker, args=(work, waiting.popleft(), there, halt))
                with _uninterrupted():
                    process.start()
                there.close()
                running[here] = process
            ready = wait(list(running), LOOK_SECONDS)
            for wire in [w for w in running if w in ready]:
                said = _receive(wire, running[wire])
                if isinstance(said, Event):
                    listen(said)
                    continue
                running.pop(wire).join()
                if said.error is not None:
                    errors.append(said.error)
            if stop() or errors:
                halt.set()
    finally:
        for process in running.values():
            process.kill()
    if errors:
        raise next((e for e in errors if not isinstance(e, Interrupted)), errors[0])
    if waiting:
        raise Interrupted("stopped between phases; everything so far is kept")


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """What is started here is not reached by Ctrl-C: the process that started it says when to stop."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # it unblocks the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what is blocked here stays so in a child
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _receive(wire: Any, process: Any) -> Event | _Done:
    try:
        said: Event | _Done = wire.recv()
    except EOFError:
        process.join()
        return _Done(BackendFault(f"a worker ended with exit code {process.exitcode}", hint="--resume goes on"))
    return said


def _worker(work: Work[Any], item: Any, wire: Connection, halt: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work(item, wire.send, halt.is_set)
    except AskfirstError as error:
        wire.send(_Done(error))
    else:
        wire.send(_Done(None))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
