"""Work done on a Ray cluster, on the terms of `workers`: events on the way, one way to stop, errors as they came up.

Every item is a task of its own with declared CPUs and GPUs. A worker that is lost is replaced and its item begun again,
so an item must go on from what it wrote. Needs the extra `ray`.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from askfirst.errors import AskfirstError, BackendFault, InputError, Interrupted
from askfirst.events import Event, Listener

T = TypeVar("T")
Stop = Callable[[], bool]
Work = Callable[[T, Listener, Stop], None]
LOOK_SECONDS = 0.2  # how often events are fetched
LOST = 5  # workers in a row that may be lost on an item of which nothing was heard in between
STORE_BYTES = 100 * 2**20  # of a cluster on this machine; what is sent is small
HERE = "local"  # the address of a cluster on this machine that ends with the run


@dataclass(frozen=True, slots=True)
class Place:
    """A cluster by its address, and what each item is given there."""

    address: str = HERE
    cpus: float = 1.0
    gpus: float = 0.0


def spread(work: Work[T], items: Sequence[T], place: Place, listen: Listener, stop: Stop) -> None:
    """Do `work(item, listen, stop)` for every item, as many at a time as the cluster has room for.

    `work` is a function at the top of a module; items can be pickled and may have a `name`. After a stop or an error
    nothing new begins and what runs is asked to stop; then the error is raised, or Interrupted. Raises BackendFault for
    an item on which LOST + 1 workers in a row were lost, or that raises what it should not.
    """
    ray = _ray()
    with _connected(ray, place):
        task = ray.remote(num_cpus=place.cpus, num_gpus=place.gpus, max_retries=0)(attend)
        errors = _Spread(ray, task, work, items, listen).run(stop)
    if errors:
        raise next((e for e in errors if not isinstance(e, Interrupted)), errors[0])


class Mailbox:
    """An actor: what workers say to the process that started the run, and its word that they should stop."""

    def __init__(self) -> None:
        self._said: list[tuple[int, Event]] = []
        self._halted = False

    def say(self, index: int, event: Event) -> None:
        """Keep an event of an item until it is fetched."""
        self._said.append((index, event))

    def take(self) -> list[tuple[int, Event]]:
        """What was said since the last call."""
        said, self._said = self._said, []
        return said

    def halt(self) -> None:
        """Ask everything to stop."""
        self._halted = True

    def halted(self) -> bool:
        """Whether everything should stop."""
        return self._halted


@dataclass(slots=True)
class _Spread:
    """Items on their way through a cluster that is connected."""

    ray: Any
    task: Any
    work: Work[Any]
    items: Sequence[Any]
    listen: Listener
    lost: Counter[int] = field(default_factory=Counter)

    def run(self, stop: Stop) -> list[AskfirstError]:
        """See every item to its end; the errors that came up."""
        home = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            self.ray.get_runtime_context().get_node_id(), soft=True
        )
        mailbox = self.ray.remote(Mailbox).options(
            num_cpus=0, max_restarts=-1, max_task_retries=-1, scheduling_strategy=home
        )
        box = mailbox.remote()
        running = {self._begin(index, box): index for index in range(len(self.items))}
        errors, halted = list[AskfirstError](), False
        while running:
            ended, _ = self.ray.wait(list(running), timeout=LOOK_SECONDS)
            self._hear(box)  # everything that an ended item said is there
            for task in ended:
                index = running.pop(task)
                error = self._outcome(task, index)
                if error is None and self.lost[index] and not halted:
                    running[self._begin(index, box)] = index
                elif error is not None:
                    errors.append(error)
            if halted or stop() or errors:
                halted = True
                box.halt.remote()  # again and again: a mailbox that was lost has forgotten it
        return errors

    def _begin(self, index: int, box: Any) -> Any:
        item = self.items[index]
        return self.task.options(name=self._called(index)).remote(self.work, item, index, box, os.getcwd())

    def _called(self, index: int) -> str:
        return str(getattr(self.items[index], "name", f"item {index}"))

    def _hear(self, box: Any) -> None:
        for index, event in self.ray.get(box.take.remote()):
            self.lost[index] = 0
            self.listen(event)

    def _outcome(self, task: Any, index: int) -> AskfirstError | None:
        """What an ended task raised. None where it raised nothing, and where its worker was lost and counted."""
        raised = self.ray.exceptions
        try:
            error: AskfirstError | None = self.ray.get(task)
        except raised.RayTaskError as fault:
            return BackendFault(f"a worker raised {fault.cause!r}", where=self._called(index))
        except (
            raised.WorkerCrashedError,
            raised.NodeDiedError,
            raised.OutOfMemoryError,
            raised.ObjectLostError,
        ) as loss:
            self.lost[index] += 1
            words = str(loss).partition("\n")[0]
            if self.lost[index] > LOST:
                return BackendFault(f"{LOST + 1} workers in a row were lost: {words}", hint="--resume goes on")
            self.listen(Event("lost", self._called(index), f"a worker was lost and is replaced: {words}"))
            return None
        except raised.RayError as fault:
            return BackendFault(f"the cluster failed: {fault}", hint="--resume goes on")
        self.lost[index] = 0
        return error


def attend(work: Work[Any], item: Any, index: int, box: Any, folder: str) -> AskfirstError | None:
    """What a worker does with an item; the error it raised, as a value, so that it arrives as it was."""
    ray = _ray()
    if Path(folder).is_dir():
        os.chdir(folder)  # relative paths mean what they mean where the run was started

    def listen(event: Event) -> None:
        box.say.remote(index, event)

    def stop() -> bool:
        return bool(ray.get(box.halted.remote()))

    try:
        if stop():
            return Interrupted("stopped between phases; everything so far is kept")
        work(item, listen, stop)
    except AskfirstError as error:
        return error
    finally:
        stop()  # calls of one worker are answered in their order: what was said before has arrived
    return None


@contextlib.contextmanager
def _connected(ray: Any, place: Place) -> Iterator[None]:
    """Within this context Ray is connected; a connection that was there before is used and left alone.

    Raises InputError where there is no cluster, or none on this machine that has what an item is given.
    """
    if ray.is_initialized():
        yield
        return
    here = place.address == HERE
    started: dict[str, Any] = {"address": place.address, "log_to_driver": False, "logging_level": logging.ERROR}
    if here:
        started |= {"include_dashboard": False, "object_store_memory": STORE_BYTES, "num_cpus": os.cpu_count()}
    try:
        ray.init(**started)
    except (ConnectionError, RuntimeError, ValueError) as error:
        words = str(error).partition("\n")[0]
        raise InputError(f"no Ray cluster there: {words}", where=place.address, hint="ray start --head") from error
    try:
        room = ray.cluster_resources()
        for name, wanted in (("CPU", place.cpus), ("GPU", place.gpus)) if here else ():
            if wanted > room.get(name, 0.0):
                raise InputError(f"a variant is to have {wanted:g} {name}, and this machine has {room.get(name, 0):g}")
        yield
    finally:
        ray.shutdown()


def _ray() -> Any:
    try:
        import ray
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise InputError("Ray is not installed", hint="pip install 'askfirst[ray]'") from error
    return ray
