"""`askfirst watch`: a run under watch, in the terminal or the browser."""

from __future__ import annotations

import json
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from askfirst.errors import InputError
from askfirst.report.live import Watched
from askfirst.report.live_page import server
from askfirst.report.terminal import shown
from askfirst.store import plain

EVERY = 2.0  # seconds between two looks


def watch(folder: Path, *, once: bool, as_json: bool) -> None:
    """Show a run until it is finished or Ctrl-C; one frame where `once`, or where nobody sits at a terminal."""
    watched, console = Watched.of(folder), Console(highlight=False)
    try:
        if as_json:
            _lines(watched, once=once)
        elif once or not console.is_terminal:
            console.print(shown(watched.frame(time.time()), console.width))
        else:
            _live(watched, console)
    except KeyboardInterrupt:  # how a watcher leaves
        return


def serve(folder: Path, port: int) -> None:
    """Serve the page of a run until Ctrl-C. Raises InputError where the port is taken."""
    with server(Watched.of(folder), port) as serving:
        print(f"watch     http://127.0.0.1:{serving.server_address[1]}", flush=True)
        try:
            serving.serve_forever()
        except KeyboardInterrupt:
            return


def _lines(watched: Watched, *, once: bool) -> None:
    while True:
        frame = watched.frame(time.time())
        print(json.dumps(plain(frame), ensure_ascii=False), flush=True)
        if once or frame.finished:
            return
        time.sleep(EVERY)


def _live(watched: Watched, console: Console) -> None:
    with Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            try:
                frame = watched.frame(time.time())
                live.update(shown(frame, console.width), refresh=True)
                if frame.finished:
                    break
            except InputError as error:  # a file changed under the reader's eyes; the next look may find it whole
                live.update(Text(str(error)), refresh=True)
            time.sleep(EVERY)
    console.print(shown(frame, console.width))
