"""The OpenAPI page: FastAPI's own, with the rewards that are served and the formats' requests and responses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from guerdon.serve.formats import FORMATS
from guerdon.serve.http.examples import columns_of, example_bodies, reward_root
from guerdon.serve.worker.describe import Description

_REF = "#/components/schemas/{model}"


Rewards = Sequence[tuple[str, Description | None]]
_MARKS = re.compile(r"([\\`*_{}\[\]()<>#+!|~&-])")


def add_openapi(app: FastAPI, rewards: Callable[[], Rewards], *, needs_key: bool) -> None:
    """Add to FastAPI's page what its routing does not know: the rewards, once they are loaded, and the bodies.

    The page needs no key. Where there are keys it describes the first reward only, as ``/info`` does.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is not None:
            return app.openapi_schema
        served = rewards()
        text = f"{_overview(served, needs_key)}\n\n{app.description}"
        page = get_openapi(title=app.title, version=app.version, description=text, routes=app.routes)
        first = served[0][1]
        _add_formats(page, needs_key, {} if first is None else example_bodies(first))
        page["tags"] = [{"name": name} for name in (*(f.name for f in FORMATS), "rewards", "health")]
        if all(description is not None for _, description in served):
            app.openapi_schema = page
        return page

    app.openapi = openapi  # type: ignore[method-assign]


def _overview(served: Rewards, needs_key: bool) -> str:
    """The served rewards, in Markdown."""
    lines = ["## Served here", ""]
    for number, (name, description) in enumerate(served[:1] if needs_key else served):
        root = reward_root(name, first=number == 0) or "/"
        lines.append(f"- **{_escaped(name)}** at `{root}`{_summary(name, description)}")
    if needs_key and len(served) > 1:
        lines.append("- others; [the server's own page](./) shows them to callers with a key")
    else:
        lines += ["", "[The server's own page](./) has a form to try a reward, and curl lines."]
    return "\n".join(lines)


def _summary(name: str, description: Description | None) -> str:
    if description is None:
        return ", still being loaded"
    columns = columns_of(description)
    needed, optional = ([c["name"] for c in columns if c["required"] is known] for known in (True, False))
    text = description.info.get("description", "")
    reads = "".join(
        f"; {title} {_escaped(', '.join(names))}"
        for title, names in (("reads", needed), ("optional:", optional))
        if names
    )
    return f", version {_escaped(description.version)}{reads}" + (
        f": {_escaped(text)}" if text != name else ""
    )


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _add_formats(page: dict[str, Any], needs_key: bool, examples: Mapping[str, tuple[str, Any]]) -> None:
    models: dict[type[BaseModel], None] = {}
    for format in FORMATS:
        for route in format.routes:
            models.update(dict.fromkeys((route.request, *route.or_requests, route.response)))
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
    bodies = dict(examples.values())
    for root in ("", "/rewards/{reward}"):
        for path, entries in routes.items():
            full = (root + path).rstrip("/") or "/"
            operation = _operation(entries, keys, bool(root))
            if path in bodies:
                operation["requestBody"]["content"]["application/json"]["example"] = bodies[path]
            page["paths"].setdefault(full, {})["post"] = operation


def _operation(entries: list[tuple[str, Any]], keys: Mapping[Any, Any], named: bool) -> dict[str, Any]:
    forms = [form for _, route in entries for form in (route.request, *route.or_requests)]
    requests = list({str(s := keys[form]): s for form in forms}.values())
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
