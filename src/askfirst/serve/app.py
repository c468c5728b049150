"""The application that serves a desk, and the server that runs it."""

from __future__ import annotations

import itertools
import socket
from dataclasses import dataclass
from typing import Any

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import ConcurrencyConfig

from askfirst.desk import Desk
from askfirst.errors import InputError
from askfirst.serve.environment import DeskEnvironment, DeskState, TaskObservation


@dataclass(frozen=True, slots=True)
class Limits:
    """How many sessions may be open, and after how many idle seconds one ends."""

    sessions: int = 64
    idle_seconds: float = 600.0


def application(desk: Desk, limits: Limits = Limits()) -> Any:
    """The ASGI application of a desk: WebSocket `/ws`, MCP `/mcp`, HTTP. Each session has an environment of its own."""
    serial = itertools.count()

    def environment() -> DeskEnvironment:
        return DeskEnvironment(desk, serial)

    return create_app(
        environment,
        CallToolAction,
        CallToolObservation,
        env_name=desk.name,
        concurrency_config=ConcurrencyConfig(max_concurrent_envs=limits.sessions, session_timeout=limits.idle_seconds),
        state_cls=DeskState,
        reset_observation_cls=TaskObservation,
    )


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
