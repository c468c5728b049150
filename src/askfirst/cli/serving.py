"""`askfirst serve`: an environment behind a port."""

from __future__ import annotations

from dataclasses import dataclass

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
        from askfirst.serve import app
    except ModuleNotFoundError as error:
        raise InputError(
            f"no module {error.name!r}", where="askfirst serve", hint="pip install 'askfirst[serve]'"
        ) from error
    listening = app.listen(place.host, place.port)
    print(f"{desk.name} with reward {desk.reward} at http://{place.host}:{place.port}, {sessions} sessions", flush=True)
    app.run(app.application(desk, app.Limits(sessions, idle_seconds)), listening)
