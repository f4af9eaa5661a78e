"""The structure of JSON beside that of a schema: which paths hold which types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

Paths = dict[str, frozenset[str]]
"""Types by path, such as ``user.tags[]``; a path without types may hold any."""

_MAX_DEPTH = 16
_MAX_PATHS = 5_000
_REFERENCES = 20


def paths_of(value: Any) -> Paths:
    """The paths of a value and the types that they hold; the items of a list share one path."""
    found: dict[str, set[str]] = {}
    level: list[tuple[str, Any]] = [("", value)]
    for _ in range(_MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for path, outer in level:
            for inner, item in _members(path, outer):
                if inner in found or len(found) < _MAX_PATHS:
                    found.setdefault(inner, set()).add(_type(item))
                    below.append((inner, item))
        level = below
    return {path: frozenset(types) for path, types in found.items()}


def _members(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"{path}.{name}" if path else name, item) for name, item in value.items())
    elif isinstance(value, list):
        yield from ((f"{path}[]", item) for item in value)


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def paths_of_schema(schema: Any, required_only: bool = False) -> Paths:
    """The paths that a schema describes, or those that it requires, without alternatives it leaves open."""
    found: dict[str, set[str] | None] = {}
    level = [("", schema)]
    for _ in range(_MAX_DEPTH):
        below: list[tuple[str, Any]] = []
        for path, outer in level:
            for part in _parts(outer, schema, required_only):
                for inner, member in _described(path, part, required_only):
                    if inner not in found and len(found) >= _MAX_PATHS:
                        continue
                    types = _types(member, schema)
                    known = found.get(inner, set())
                    found[inner] = None if types is None or known is None else known | types
                    below.append((inner, member))
        # Branches that refer to the same schema describe the same.
        level = list({(path, id(member)): (path, member) for path, member in below}.values())[:_MAX_PATHS]
    return {path: frozenset(types or ()) for path, types in found.items()}


def _described(path: str, part: Mapping[str, Any], required_only: bool) -> Iterator[tuple[str, Any]]:
    properties, items = part.get("properties"), part.get("items")
    properties = properties if isinstance(properties, dict) else {}
    names = part.get("required") if required_only else properties
    for name in names if isinstance(names, list | dict) else ():
        yield (f"{path}.{name}" if path else str(name)), properties.get(name, True)
    if isinstance(items, dict) and not (required_only and not part.get("minItems")):
        yield f"{path}[]", items


def _parts(schema: Any, root: Any, required_only: bool = False) -> list[dict[str, Any]]:
    """The schema with what it refers to and is combined of, alternatives too unless they are left open."""
    combined = ("allOf",) if required_only else ("allOf", "anyOf", "oneOf")
    found: list[dict[str, Any]] = []
    waiting = [schema]
    while waiting and len(found) < _REFERENCES:
        part = waiting.pop(0)
        if not isinstance(part, dict) or any(part is other for other in found):
            continue
        found.append(part)
        if isinstance(reference := part.get("$ref"), str) and reference.startswith("#"):
            waiting.append(_target(root, reference))
        for keyword in combined:
            if isinstance(branches := part.get(keyword), list):
                waiting.extend(branches)
    return found


def _target(root: Any, reference: str) -> Any:
    for step in reference.removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        root = root.get(step) if isinstance(root, dict) else None
    return root


def _types(schema: Any, root: Any) -> set[str] | None:
    """The types that a schema allows; None where it says nothing of them."""
    found: set[str] = set()
    for part in _parts(schema, root):
        types = part.get("type")
        named = [types] if isinstance(types, str) else types if isinstance(types, list) else []
        if not named and isinstance(
            values := part.get("enum", [part["const"]] if "const" in part else None), list
        ):
            named = [_type(value) for value in values]
        if not named and "properties" in part:
            named = ["object"]
        found.update("number" if name == "integer" else str(name) for name in named)
    return found or None


def similarity(wanted: Paths, there: Paths) -> float:
    """The Jaccard index of paths with their types: shared ones among all; 1 where there are none at all."""
    shared = sum(_fits(types, there[path]) for path, types in wanted.items() if path in there)
    every = len(wanted) + len(there) - shared
    return shared / every if every else 1.0


def share(wanted: Paths, there: Paths) -> float:
    """The share of the wanted paths that are there with a type that is wanted; 1 where none is wanted."""
    if not wanted:
        return 1.0
    return sum(_fits(types, there.get(path, frozenset({""}))) for path, types in wanted.items()) / len(wanted)


def _fits(wanted: frozenset[str], there: frozenset[str]) -> bool:
    return there != {""} and (not wanted or there <= wanted)
