"""A socket to listen on, and the server that runs an application behind it."""

from __future__ import annotations

import socket
from typing import Any

from askfirst.errors import InputError


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InputError where the place is taken or no place of this machine."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise InputError(
            f"cannot listen: {error.strerror or error}", where=f"{host}:{port}", hint="choose another --port or --host"
        ) from error


def run(app: Any, listening: socket.socket) -> None:
    """Serve until the process is told to stop."""
    import uvicorn

    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
