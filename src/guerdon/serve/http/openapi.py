"""The OpenAPI page: FastAPI's own, with the formats' requests and responses, which its routing does not know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from guerdon.serve.formats import FORMATS

_REF = "#/components/schemas/{model}"


def add_openapi(app: FastAPI, *, needs_key: bool) -> None:
    """Add to FastAPI's page what its routing does not know: the formats' bodies."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            page = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            _add_formats(page, needs_key)
            page["tags"] = [{"name": name} for name in (*(f.name for f in FORMATS), "rewards", "health")]
            app.openapi_schema = page
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add_formats(page: dict[str, Any], needs_key: bool) -> None:
    models: dict[type[BaseModel], None] = {}
    for format in FORMATS:
        for route in format.routes:
            models.update({route.request: None, route.response: None})
    definitions = models_json_schema([(model, "validation") for model in models], ref_template=_REF)
    keys = {model: value for (model, _), value in definitions[0].items()}
    components = page.setdefault("components", {})
    components.setdefault("schemas", {}).update(definitions[1].get("$defs", {}))
    if needs_key:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        }
        page["security"] = [{"bearer": []}, {"header": []}]
    routes: dict[str, list[tuple[str, Any]]] = {}
    for format in FORMATS:
        for route in format.routes:
            routes.setdefault(route.path, []).append((format.name, route))
    for root in ("", "/rewards/{reward}"):
        for path, entries in routes.items():
            full = (root + path).rstrip("/") or "/"
            page["paths"].setdefault(full, {})["post"] = _operation(entries, keys, bool(root))


def _operation(entries: list[tuple[str, Any]], keys: Mapping[Any, Any], named: bool) -> dict[str, Any]:
    requests = list({str(s := keys[route.request]): s for _, route in entries}.values())
    responses = list({str(s := keys[route.response]): s for _, route in entries}.values())
    formats = list(dict.fromkeys(name for name, _ in entries))
    parameter = {"name": "reward", "in": "path", "required": True, "schema": {"type": "string"}}
    operation: dict[str, Any] = {
        "tags": formats,
        "summary": entries[0][1].summary
        if len(entries) == 1
        else "Score; the body's shape decides the format",
        "requestBody": {"required": True, "content": {"application/json": {"schema": _any_of(requests)}}},
        "responses": {
            "200": {
                "description": "Scored",
                "content": {"application/json": {"schema": _any_of(responses)}},
            },
            **{str(status): {"description": text} for status, text in _REFUSALS.items()},
        },
    }
    if named:
        operation["parameters"] = [parameter]
    return operation


def _any_of(schemas: list[Any]) -> Any:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


_REFUSALS = {
    401: "No API key",
    403: "An unknown API key",
    404: "No such reward",
    413: "The body is too large",
    415: "The content type is not JSON",
    422: "The body does not have the format's shape, or lacks what the reward needs",
    429: "Too many requests are waiting; Retry-After says when to try again",
    500: "The reward failed on the sample",
    503: "The server is stopping, or the reward cannot be loaded",
    504: "The deadline passed",
}
