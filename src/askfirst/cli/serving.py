"""`askfirst serve`: an environment, or models in training, behind a port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from askfirst import store
from askfirst.desk import Desk
from askfirst.errors import InputError


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server listens."""

    host: str
    port: int


def serve(desk: Desk, place: Place, sessions: int, idle_seconds: float) -> None:
    """Serve a desk until Ctrl-C. Raises InputError where the extra is not installed."""
    try:
        from askfirst.serve import app, listening
    except ModuleNotFoundError as error:
        raise InputError(
            f"no module {error.name!r}", where="askfirst serve", hint="pip install 'askfirst[serve]'"
        ) from error
    socket = listening.listen(place.host, place.port)
    print(f"{desk.name} with reward {desk.reward} at http://{place.host}:{place.port}, {sessions} sessions", flush=True)
    listening.run(app.application(desk, app.Limits(sessions, idle_seconds)), socket)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many sessions may be open, and after how many idle seconds one ends."""

    sessions: int
    idle_seconds: float


def serve_tinker(model: str, aliases: Sequence[str], place: Place, folder: Path, bounds: Bounds) -> None:
    """Serve the Tinker API until Ctrl-C. Raises InputError where the extra is not installed or the folder is held."""
    from askfirst.serve import listening

    with store.held(folder):
        socket = listening.listen(place.host, place.port)
        try:
            from askfirst.serve.tinker import app, opening
            from askfirst.serve.tinker.held import Limits
        except ModuleNotFoundError as error:
            raise InputError(
                f"no module {error.name!r}", where="askfirst serve tinker", hint="pip install 'askfirst[hf,tinker]'"
            ) from error
        limits = Limits(sessions=bounds.sessions, idle_seconds=bounds.idle_seconds)
        service = opening.service(model, aliases, folder, limits)
        url = f"http://{place.host}:{socket.getsockname()[1]}"
        print(f"{', '.join(service.served.names)} at {url}, checkpoints in {folder}", flush=True)
        print(f"export TINKER_BASE_URL={url} TINKER_API_KEY=tml-local", flush=True)
        listening.run(app.application(service), socket)
