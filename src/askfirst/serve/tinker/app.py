"""The Tinker API as an ASGI application: routes, bodies and errors around a `Service`."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel, ValidationError
from tinker import types

from askfirst.errors import AskfirstError
from askfirst.serve.tinker.held import Busy, Gone
from askfirst.serve.tinker.jobs import JSON
from askfirst.serve.tinker.rest import Rest
from askfirst.serve.tinker.service import Service

PATIENCE = 20.0  # seconds that a client is kept waiting before it must ask again; it gives up after 45
BODY = 64 << 20  # bytes of a request
TIDY_EVERY = 5.0  # seconds
V1 = "/api/v1"


class Refused(Exception):
    """A request that is answered with a status and a reason at once."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def application(service: Service) -> FastAPI:
    """The application of a service. Closing it ends the thread that works."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tidy = asyncio.create_task(_tidy(service))
        yield
        tidy.cancel()
        await asyncio.to_thread(service.work.close)

    app = FastAPI(title="askfirst serve tinker", lifespan=life, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(Refused, lambda _, error: _said(getattr(error, "status", 500), str(error)))
    app.add_exception_handler(Gone, lambda _, error: _said(404, str(error)))
    app.add_exception_handler(Busy, lambda _, error: _said(429, str(error)))
    app.add_exception_handler(AskfirstError, lambda _, error: _said(400, str(error)))
    app.add_exception_handler(ValidationError, lambda _, error: _said(400, _first(error)))
    _configure(app)
    _talk(app, service)
    _train(app, service)
    _look(app, Rest(service))

    @app.api_route(V1 + "/{rest:path}", methods=["GET", "POST", "PUT", "DELETE", "PATCH"])
    async def nothing(request: Request) -> Response:
        return _said(400, f"this server does not offer {request.method} {request.url.path}")

    return app


async def _tidy(service: Service) -> None:
    while True:
        await asyncio.sleep(TIDY_EVERY)
        service.end_idle()


async def _body(request: Request) -> bytes:
    """A request's body. A key is asked for, whichever: a page in a browser cannot send one unasked."""
    if "x-api-key" not in request.headers:
        raise Refused(401, "send any X-API-Key, such as TINKER_API_KEY=tml-local")
    if request.headers.get("content-encoding", "identity") != "identity":
        raise Refused(400, "bodies are read uncompressed only")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BODY:
            raise Refused(413, f"a request may have {BODY} bytes")
    return body


def _post(app: FastAPI, path: str, kind: type[BaseModel] | None, answer: Callable[[Any], Any]) -> None:
    """A route that reads one of the SDK's requests, or any JSON object, and answers JSON."""

    async def handle(request: Request) -> Response:
        body = await _body(request)
        if kind is not None:
            given: Any = kind.model_validate_json(body)
        else:
            given = _object(body)
        return _json(answer(given))

    app.post(V1 + path)(handle)


def _configure(app: FastAPI) -> None:
    """Health, configuration and what a client tells of itself, which is not kept."""
    app.get(V1 + "/healthz")(lambda: {"status": "ok"})
    _post(app, "/client/config", None, lambda _: {"pjwt_auth_enabled": False, "sample_no_retries": False})
    _post(app, "/client/dynamic_config", None, lambda _: {"refresh_interval_sec": 300})
    _post(app, "/telemetry", None, lambda _: {"status": "accepted"})


def _talk(app: FastAPI, service: Service) -> None:
    """Sessions, and answers that are fetched."""

    def heartbeat(given: Any) -> dict[str, str]:
        try:
            service.heartbeat(str(given.get("session_id")))
        except Gone as error:
            raise Refused(410, str(error)) from error  # the SDK then stops to say that it is there
        return {"type": "session_heartbeat"}

    app.get(V1 + "/get_server_capabilities")(lambda: _json(service.capabilities()))
    _post(app, "/create_session", types.CreateSessionRequest, service.create_session)
    _post(app, "/session_heartbeat", None, heartbeat)

    @app.post(V1 + "/sessions/{session_id}/finish")
    async def finish(session_id: str, request: Request) -> Response:
        await _body(request)
        service.finish(session_id)
        return Response(status_code=204)

    @app.get(V1 + "/sessions/{session_id}")
    async def session(session_id: str) -> Response:
        return _json(service.session_info(session_id))

    @app.post(V1 + "/retrieve_future")
    async def retrieve(request: Request) -> Response:
        given = types.FutureRetrieveRequest.model_validate_json(await _body(request))
        future = service.work.future(given.request_id)
        if future is None:
            raise Gone(f"no request is called {given.request_id!r}, or its answer is no longer kept")
        service.session(given.request_id.partition(":")[0])
        await asyncio.wait([asyncio.wrap_future(future)], timeout=PATIENCE)
        if not future.done():
            if not service.work.alive:
                raise Refused(400, "the server's worker has ended; start it again and go on from a saved state")
            return JSONResponse({"queue_state": "active"}, status_code=408)
        answer = future.result()
        service.work.fetched(given.request_id)
        return Response(answer.body, media_type=answer.media)


def _train(app: FastAPI, service: Service) -> None:
    """Models and sampling clients."""
    _post(app, "/create_model", types.CreateModelRequest, service.create_model)
    _post(app, "/get_info", types.GetInfoRequest, lambda given: service.get_info(given.model_id))
    _post(app, "/optim_step", types.OptimStepRequest, service.optim_step)
    _post(app, "/load_weights", types.LoadWeightsRequest, service.load_weights)
    _post(app, "/save_weights", types.SaveWeightsRequest, service.save_weights)
    _post(app, "/save_weights_external", types.SaveWeightsExternalRequest, service.save_weights_external)
    _post(app, "/save_weights_for_sampler", types.SaveWeightsForSamplerRequest, service.save_weights_for_sampler)
    _post(app, "/create_sampling_session", types.CreateSamplingSessionRequest, service.create_sampling_session)
    _post(app, "/asample", types.SampleRequest, service.sample)
    _post(
        app,
        "/join_sampling_session",
        types.JoinSamplingSessionRequest,
        lambda given: {"client_counter": service.join_sampling_session(given.sampling_session_id)},
    )

    @app.post(V1 + "/forward_backward")
    async def forward_backward(request: Request) -> Response:
        return _json(service.run_pass(await _body(request)))

    @app.get(V1 + "/samplers/{sampler_id}")
    async def sampler(sampler_id: str) -> Response:
        found = service.sampler(sampler_id)
        return _json({"sampler_id": found.id, "base_model": found.base_model, "model_path": found.model_path})


def _look(app: FastAPI, rest: Rest) -> None:
    """Training runs and checkpoints."""
    runs = V1 + "/training_runs/{model_id}"
    _post(app, "/weights_info", None, lambda given: rest.weights_info(str(given.get("tinker_path"))))

    @app.get(runs)
    async def training_run(model_id: str) -> Response:
        return _json(rest.training_run(model_id))

    @app.get(runs + "/checkpoints")
    async def checkpoints(model_id: str) -> Response:
        return _json(rest.checkpoints(model_id))

    @app.get(runs + "/checkpoints/{kind}/{name}/external_weights_urls")
    async def urls(model_id: str, kind: str, name: str, request: Request) -> Response:
        return _json(rest.urls(model_id, f"{kind}/{name}", str(request.base_url).rstrip("/")))

    @app.delete(runs + "/checkpoints/{kind}/{name}")
    async def delete(model_id: str, kind: str, name: str, request: Request) -> Response:
        await _body(request)
        rest.delete(model_id, f"{kind}/{name}")
        return Response(status_code=204)

    @app.put(runs + "/checkpoints/{kind}/{name}/ttl")
    async def expire(model_id: str, kind: str, name: str, request: Request) -> Response:
        rest.expire(model_id, f"{kind}/{name}", _object(await _body(request)).get("ttl_seconds"))
        return Response(status_code=204)

    @app.get(V1 + "/files/{model_id}/{name}/{file}")
    async def download(model_id: str, name: str, file: str) -> Response:
        return FileResponse(rest.file(model_id, name, file))


def _object(body: bytes) -> dict[str, Any]:
    try:
        given = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"not JSON: {error}") from error
    if not isinstance(given, dict):
        raise Refused(400, "not a JSON object")
    return given


def _json(value: Any) -> Response:
    body = value.model_dump_json() if isinstance(value, BaseModel) else json.dumps(value)
    return Response(body, media_type=JSON)


def _said(status: int, reason: str) -> Response:
    return JSONResponse({"detail": reason}, status_code=status)


def _first(error: ValidationError) -> str:
    first = error.errors()[0]
    return f"{first['msg']} at {'.'.join(map(str, first['loc'])) or 'the top'}"
