"""The ASGI application: the server's description, the OpenAPI page, and every endpoint for other ASGI servers."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from pydantic_core import from_json
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from guerdon._version import __version__
from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.base import json_bytes
from guerdon.serve.formats.openenv import StateResponse
from guerdon.serve.http.callers import wait_with_caller
from guerdon.serve.http.endpoints import RewardEndpoint, wants_lines
from guerdon.serve.http.examples import reward_root
from guerdon.serve.http.home_page import home_page, page_headers, url_of
from guerdon.serve.http.journal_routes import add_journal_routes
from guerdon.serve.http.openapi import add_openapi
from guerdon.serve.http.pipeline import RequestPipeline
from guerdon.serve.http.replies import HttpReply, error_reply
from guerdon.serve.http.streaming import AsgiRequest, HeldBody, StreamedLines, start_stream
from guerdon.serve.models import ServerInfo
from guerdon.serve.worker.describe import Description

_REQUEST_ID = "guerdon.request_id"
_KINDS = {401: "key", 403: "key", 404: "not_found", 405: "method"}


def create_app(pipeline: RequestPipeline) -> FastAPI:
    """The ASGI application for a pipeline's rewards."""
    # Its page of documentation brings its own scripts: a cluster for training may have no way to the internet.
    app = FastAPIOffline(
        title="Guerdon reward server",
        version=__version__,
        description="Rewards for training language models, in the wire formats of trainers and clients.",
        redoc_url=None,
    )
    app.add_exception_handler(StarletteHTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(Exception, _internal_error)
    app.add_middleware(_RequestIdMiddleware, pipeline=pipeline)
    app.add_middleware(_OriginMiddleware, pipeline=pipeline)
    _add_home_page(app, pipeline)
    _add_health_routes(app, pipeline)
    _add_overview_routes(app, pipeline)
    if pipeline.journal is not None:
        add_journal_routes(app, pipeline, pipeline.journal, partial(require_key, pipeline))
    for root in ("", "/rewards/{reward}"):
        _add_reward_routes(app, pipeline, root)
        _add_scoring_routes(app, pipeline, root)
    add_openapi(app, partial(_rewards, pipeline), needs_key=len(pipeline.admission.keys) > 0)
    return app


class _OriginMiddleware:
    """Refuses what a page of another host asks for, whatever it is."""

    def __init__(self, app: ASGIApp, pipeline: RequestPipeline) -> None:
        self._app, self._pipeline = app, pipeline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = scope["headers"]
            reply = self._pipeline.admission.page_refusal(headers, dict(headers))
            if reply is not None:
                await _response(reply)(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)
    detail = error.detail
    if error.status_code == 404 and detail == "Not Found":
        detail = f"nothing is served at {request.url.path}; /docs lists what is"
    reply = error_reply(error.status_code, _KINDS.get(error.status_code, "input"), str(detail))
    response = _response(reply)
    response.headers.update(error.headers or {})
    return response


async def _internal_error(request: Request, error: Exception) -> Response:
    response = _response(error_reply(500, "error", "the server failed on this request; see its log"))
    response.headers["x-request-id"] = request.scope[_REQUEST_ID]
    return response


class _RequestIdMiddleware:
    """Gives every response the id of its request."""

    def __init__(self, app: ASGIApp, pipeline: RequestPipeline) -> None:
        self._app, self._pipeline = app, pipeline

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        identity = scope[_REQUEST_ID] = self._pipeline.request_id(dict(scope["headers"]).get(b"x-request-id"))

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"x-request-id", identity.encode("latin-1"))]
            await send(message)

        await self._app(scope, receive, send_with_id)


async def _validation_error(request: Request, error: Exception) -> Response:
    """A path or a query that does not fit, handler in the form of every other refusal."""
    assert isinstance(error, RequestValidationError)
    problems = [{name: item.get(name) for name in ("type", "loc", "msg", "input")} for item in error.errors()]
    message = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    return Response(
        json_bytes({"detail": problems, "error": {"kind": "input", "message": message}}),
        422,
        media_type="application/json",
    )


def _response(reply: HttpReply) -> Response:
    response = Response(reply.body, reply.status)
    for name, value in reply.headers:
        response.headers[name.decode("latin-1")] = value.decode("latin-1")
    return response


def require_key(pipeline: RequestPipeline, request: Request) -> None:
    """Raise HTTPException for a caller without a key, where there are keys."""
    reply = pipeline.admission.refusal(request.scope["headers"], None)
    if reply is not None:
        headers = {name.decode(): value.decode() for name, value in reply.headers if name != b"content-type"}
        raise HTTPException(reply.status, from_json(reply.body)["detail"], headers)


def _dispatcher(pipeline: RequestPipeline, reward: str | None) -> Dispatcher:
    """Raises HTTPException that lists the rewards there are."""
    if reward is None:
        return next(iter(pipeline.dispatchers.values()))
    if reward not in pipeline.dispatchers:
        raise HTTPException(
            404, f"no reward {reward!r} is served here; there are: {', '.join(pipeline.dispatchers)}"
        )
    return pipeline.dispatchers[reward]


# The server's description.


def _rewards(pipeline: RequestPipeline) -> list[tuple[str, Description | None]]:
    return [(name, dispatcher.description) for name, dispatcher in pipeline.dispatchers.items()]


def _add_home_page(app: FastAPI, pipeline: RequestPipeline) -> None:
    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    async def home(request: Request) -> HTMLResponse:
        needs_key = len(pipeline.admission.keys) > 0
        headers = request.headers
        has_key = "authorization" in headers or "x-api-key" in headers
        if has_key:  # a wrong one is refused; without any, the page asks for it
            require_key(pipeline, request)
        url = url_of(request.url.scheme, headers.get("host", ""))
        page = home_page(_rewards(pipeline), url, needs_key=needs_key, shows=has_key or not needs_key)
        return HTMLResponse(page, headers=page_headers())


def _add_health_routes(app: FastAPI, pipeline: RequestPipeline) -> None:
    first = next(iter(pipeline.dispatchers))

    @app.get("/health", tags=["health"], summary="Whether the server runs, in Reward Kit's form")
    async def health() -> dict[str, str]:
        return {"status": "ok", "reward_function": first}

    @app.get("/health/live", tags=["health"], summary="Whether the process runs")
    async def live() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/health/ready",
        tags=["health"],
        summary="Whether requests are answered",
        responses={503: {"description": "Stopping, or a reward cannot be loaded or does not answer"}},
    )
    async def ready() -> Response:
        each = pipeline.dispatchers.items()
        reasons = [f"{name}: {dispatcher.load_error}" for name, dispatcher in each if dispatcher.load_error]
        reasons += [f"{name}: no worker" for name, dispatcher in each if not dispatcher.workers]
        reasons += [f"{name}: {stalled}" for name, dispatcher in each if (stalled := dispatcher.stalled)]
        if pipeline.admission.draining:
            reasons.append("the server is stopping")
        body = {"status": "not ready" if reasons else "ok", "reasons": reasons}
        return Response(json_bytes(body), 503 if reasons else 200, media_type="application/json")


def _add_overview_routes(app: FastAPI, pipeline: RequestPipeline) -> None:
    @app.get("/metrics", tags=["health"], summary="Metrics for Prometheus", response_class=Response)
    async def metrics(request: Request) -> Response:
        require_key(pipeline, request)
        body, media_type = pipeline.metrics.render(request.headers.get("accept", ""))
        return Response(body, media_type=media_type)

    @app.get("/rewards", tags=["rewards"], summary="The rewards that are served")
    async def rewards(request: Request) -> list[dict[str, Any]]:
        require_key(pipeline, request)
        return [_summary(name, dispatcher) for name, dispatcher in pipeline.dispatchers.items()]


def _summary(name: str, dispatcher: Dispatcher) -> dict[str, Any]:
    description = dispatcher.description
    if description is None:
        return {"name": name}
    return {
        "name": name,
        "version": description.version,
        "description": description.info["description"],
        "parameters": dict(description.parameters),
        "path": reward_root(name, first=False),
    }


def _add_reward_routes(app: FastAPI, pipeline: RequestPipeline, root: str) -> None:
    rewards: dict[str, Any] = {"tags": ["rewards"]}

    async def info(request: Request, reward: str | None = None) -> ServerInfo:
        if reward is not None and reward not in pipeline.dispatchers:
            require_key(pipeline, request)  # before the answer lists those there are
        return ServerInfo(**_description(pipeline, reward).info)

    async def metadata_schema(request: Request, reward: str | None = None) -> dict[str, Any]:
        require_key(pipeline, request)
        return dict(_description(pipeline, reward).schema())

    async def v1_info(request: Request, reward: str | None = None) -> dict[str, Any]:
        require_key(pipeline, request)
        dispatcher, description = _dispatcher(pipeline, reward), _description(pipeline, reward)
        every = {"rewards": list(pipeline.dispatchers)} if reward is None else {}
        return {
            **every,
            "name": description.name,
            "version": description.version,
            "parameters": dict(description.parameters),
            "description": description.info["description"],
            "guerdon": __version__,
            "formats": [format.name for format in FORMATS],
            "is_batch": description.is_batch,
            "metadata_required": bool(description.schema().get("required")),
            "timeout": dispatcher.limits.timeout,
            "limits": {"max_body": pipeline.admission.max_body, "max_queue": dispatcher.limits.max_queue},
        }

    async def v1_schema(request: Request, reward: str | None = None) -> dict[str, Any]:
        require_key(pipeline, request)
        description = _description(pipeline, reward)
        return {"metadata": description.metadata_schema, "parameters": list(description.columns)}

    async def state(request: Request, reward: str | None = None) -> StateResponse:
        require_key(pipeline, request)
        _dispatcher(pipeline, reward)
        return StateResponse()

    for path, handler, summary in (
        ("/state", state, "The state of a fresh environment, in OpenEnv's form"),
        ("/info", info, "A reward's description, in Adaptive's form"),
        ("/metadata_schema", metadata_schema, "The JSON Schema of a request's metadata"),
        ("/v1/info", v1_info, "What is served, and its limits"),
        ("/v1/schema", v1_schema, "What a request's metadata must hold"),
    ):
        endpoint = handler if root else _without_reward(handler)
        app.add_api_route(root + path, endpoint, methods=["GET"], summary=summary, **rewards)


def _without_reward(handler: Any) -> Any:
    """The same at the root, where no reward is named: a parameter left out would become a query."""

    async def at_root(**arguments: Any) -> Any:
        return await handler(**arguments)

    signature = inspect.signature(handler, eval_str=True)
    kept = [p for name, p in signature.parameters.items() if name != "reward"]
    at_root.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    at_root.__name__ = handler.__name__
    return at_root


def _description(pipeline: RequestPipeline, reward: str | None) -> Any:
    description = _dispatcher(pipeline, reward).description
    if description is None:
        raise HTTPException(503, "the reward is still being loaded")
    return description


# Requests to be scored that the fast protocol leaves to the application.


def _add_scoring_routes(app: FastAPI, pipeline: RequestPipeline, root: str) -> None:
    async def score(request: Request) -> Response:
        path = request.scope["path"].rstrip("/") or "/"
        endpoint = pipeline.endpoints.get(path)
        if endpoint is None:
            require_key(pipeline, request)
            _dispatcher(pipeline, request.path_params.get("reward"))
            raise HTTPException(404)
        return await _score(pipeline, endpoint, request)

    for path in dict.fromkeys(route.path for format in FORMATS for route in format.routes):
        full = (root + path).rstrip("/") or "/"
        app.add_api_route(full, score, methods=["POST"], include_in_schema=False)


async def _score(pipeline: RequestPipeline, endpoint: RewardEndpoint, request: Request) -> Response:
    headers = request.scope["headers"]
    request_id = request.scope[_REQUEST_ID]
    client = f"{request.client.host}:{request.client.port}" if request.client else ""
    admission = pipeline.admission
    refusal = admission.refusal(headers, endpoint)
    held = HeldBody(admission)
    try:
        if refusal is None:
            refusal = await held.read(request)
        if refusal is None:
            inbound = AsgiRequest(pipeline, endpoint, "POST", headers, request_id, client, held.body)
            return await _answer(pipeline, inbound, request, held)
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it
    finally:
        if not held.is_streamed:
            held.release()
    pipeline.record_refusal("POST", endpoint.path, refusal, request_id, client)
    return _response(refusal)


async def _answer(
    pipeline: RequestPipeline, inbound: AsgiRequest, request: Request, held: HeldBody
) -> Response:
    if inbound.endpoint.streams and wants_lines(inbound.headers):
        started = await start_stream(pipeline, inbound, request)
        if not isinstance(started, HttpReply):
            held.is_streamed = True
            return StreamedLines(started, inbound, held)
        return _response(started)
    pipeline.begin(inbound, dict(inbound.headers))
    await wait_with_caller(request, inbound.future, inbound.abandon)
    return _response(inbound.future.result())
