"""Work side by side: events come through, a stop stops, an error and a death are told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from askfirst.errors import BackendFault, GateFailed, Interrupted
from askfirst.events import Event, Listener
from askfirst.values import FrozenMap
from askfirst.workers import side_by_side

Stop = Callable[[], bool]


def speak(item: str, listen: Listener, stop: Stop) -> None:
    for n in range(3):
        listen(Event("step", item, values=FrozenMap({"n": n})))


def fail(item: str, listen: Listener, stop: Stop) -> None:
    if item == "bad":
        raise GateFailed("too little", where="bad", hint="more")
    wait_for_stop(item, listen, stop)


def die(item: str, listen: Listener, stop: Stop) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_stop(item: str, listen: Listener, stop: Stop) -> None:
    listen(Event("step", item))
    while not stop():
        time.sleep(0.01)
    raise Interrupted(f"{item} stopped")


def never(event: Event) -> None:
    """A listener for what must stay silent."""


def test_every_item_is_worked_on_and_its_events_come_in_order() -> None:
    heard: list[Event] = []
    side_by_side(speak, ["a", "b", "c"], 2, heard.append, lambda: False)
    for item in "abc":
        assert [e.values["n"] for e in heard if e.name == item] == [0, 1, 2]


def test_an_error_stops_the_others_and_is_raised_as_it_was() -> None:
    with pytest.raises(GateFailed, match="too little") as caught:
        side_by_side(fail, ["good", "bad", "never begun"], 2, never, lambda: False)
    assert (caught.value.where, caught.value.hint) == ("bad", "more")


def test_a_stop_stops_all() -> None:
    heard: list[Event] = []
    with pytest.raises(Interrupted):
        side_by_side(wait_for_stop, ["a", "b", "c"], 2, heard.append, lambda: len(heard) == 2)
    assert {e.name for e in heard} == {"a", "b"}


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_worker_that_dies_is_a_fault() -> None:
    with pytest.raises(BackendFault, match="-9"):
        side_by_side(die, ["a"], 2, never, lambda: False)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_no_worker_outlives_its_parent(tmp_path: Path) -> None:
    beats = tmp_path / "beats"
    script = tmp_path / "parent.py"
    script.write_text(
        "import time\n"
        "from askfirst.workers import side_by_side\n"
        "def beat(item, listen, stop):\n"
        "    while True:\n"
        "        open(item, 'a').write('.')\n"
        "        time.sleep(0.02)\n"
        "if __name__ == '__main__':\n"
        f"    side_by_side(beat, [{str(beats)!r}], 2, lambda event: None, lambda: False)\n"
    )
    with subprocess.Popen([sys.executable, str(script)]) as parent:
        while not beats.exists():
            time.sleep(0.05)
            assert parent.poll() is None
        parent.kill()
    time.sleep(0.5)
    size = beats.stat().st_size
    time.sleep(0.3)
    assert beats.stat().st_size == size
