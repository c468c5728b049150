"""The page of a run under watch: a small server for this machine alone, which gives away nothing but its records."""

from __future__ import annotations

import importlib.resources
import json
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

from askfirst.errors import InputError
from askfirst.report.live import Watched
from askfirst.report.terminal import facts
from askfirst.store import plain

HOST = "127.0.0.1"
# What the page may load: its own data. What a model said reaches it as JSON and is shown as text.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"


def server(watched: Watched, port: int) -> ThreadingHTTPServer:
    """A server at a port of this machine, 0 for a free one, ready for `serve_forever`. Raises InputError."""
    page, lock = _page(), Lock()

    class Handler(BaseHTTPRequestHandler):
        """`/` is the page, `/frame.json` what it shows, `/report.html` the report where there is one."""

        def do_GET(self) -> None:
            # A page of somebody else's may resolve its own name to this address: only our own names are answered.
            if self.headers.get("Host", "").rpartition(":")[0] not in (HOST, "localhost"):
                self._give(HTTPStatus.FORBIDDEN, "text/plain", b"this server answers to 127.0.0.1 and localhost")
            elif self.path == "/":
                self._give(HTTPStatus.OK, "text/html", page)
            elif self.path == "/frame.json":
                self._give(*_frame(watched, lock))
            elif self.path == "/report.html" and watched.run.report.is_file():
                self._give(HTTPStatus.OK, "text/html", watched.run.report.read_bytes(), policy="")
            else:
                self._give(HTTPStatus.NOT_FOUND, "text/plain", b"nothing here")

        def _give(self, status: HTTPStatus, kind: str, body: bytes, policy: str = POLICY) -> None:
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            if policy:  # the report brings its own
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: every look is a request."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise InputError(
            f"cannot listen: {error.strerror}", where=f"{HOST}:{port}", hint="choose another --serve PORT"
        ) from error


def _frame(watched: Watched, lock: Lock) -> tuple[HTTPStatus, str, bytes]:
    try:
        with lock:
            frame = watched.frame(time.time())
    except InputError as error:
        return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", str(error).encode()
    body = {**plain(frame), "facts": facts(frame), "report": watched.run.report.is_file()}
    return HTTPStatus.OK, "application/json", json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _page() -> bytes:
    own = importlib.resources.files("askfirst.report")
    style = own.joinpath("page.css").read_text("utf-8")
    return own.joinpath("live.html").read_text("utf-8").replace("/* page.css */", style).encode()
