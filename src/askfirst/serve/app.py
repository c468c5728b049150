"""The application that serves a desk."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.mcp_types import CallToolAction, CallToolObservation
from openenv.core.env_server.types import ConcurrencyConfig

from askfirst.desk import Desk
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
