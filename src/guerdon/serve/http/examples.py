"""An example of a request to each wire format, for the reward that is served."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from guerdon.serve.formats import FORMATS
from guerdon.serve.worker.describe import Description

PROMPT, RESPONSE = "What is 2 + 2?", "4"
TRUTHS = frozenset({"ground_truth", "answer"})
_VALUES: Mapping[str, Any] = {
    **{name: [] for name in ("list", "List", "Sequence", "tuple", "set", "array")},
    **{name: {} for name in ("dict", "Dict", "Mapping", "object")},
    **dict.fromkeys(("int", "integer"), 1),
    **dict.fromkeys(("float", "number"), 1.0),
    **dict.fromkeys(("bool", "boolean"), True),
}
"""What stands for a value of a type: of an annotation, or of a JSON Schema."""


def reward_root(name: str, *, first: bool) -> str:
    """Where a reward's paths begin; those of the first reward are at the root.

    >>> reward_root("a b", first=True), reward_root("a b", first=False)
    ('', '/rewards/a%20b')
    """
    return "" if first else f"/rewards/{quote(name, safe='')}"


def columns_of(description: Description) -> list[dict[str, Any]]:
    """The columns that a reward reads: name, required, type as a text or None."""
    schema = description.metadata_schema
    if schema is None:
        typed = not description.is_batch  # there it is the type of the list
        return [
            {"name": c["name"], "required": c["required"], "type": _short(c["annotation"]) if typed else None}
            for c in description.columns
        ]
    required = schema.get("required", [])
    properties: Mapping[str, Any] = schema.get("properties", {})
    return [
        {"name": name, "required": name in required, "type": _type_in(field)}
        for name, field in properties.items()
    ]


def is_json(column_type: str | None) -> bool:
    """Whether a column's value is written as JSON rather than as text.

    >>> is_json("list"), is_json("dict[str, int] | None"), is_json("str | None"), is_json(None)
    (True, True, False, False)
    """
    return _stand_in(column_type) is not None


def example_columns(description: Description) -> dict[str, Any]:
    """The columns that a request to a reward must have, and a ground truth where the reward reads one."""
    found: dict[str, Any] = {}
    for column in columns_of(description):
        if column["name"] in TRUTHS:
            value = _stand_in(column["type"])
            # The one stands for the other, unless a class of metadata asks for it by name.
            name = column["name"] if description.metadata_schema is not None else "ground_truth"
            found[name] = RESPONSE if value is None else value
        elif column["required"]:
            value = _stand_in(column["type"])
            found[column["name"]] = "text" if value is None else value
    return found


def example_bodies(description: Description) -> dict[str, tuple[str, Any]]:
    """By the name of each format: the path, below the reward's root, and the body of a request."""
    columns = example_columns(description)
    return {format.name: format.example(PROMPT, RESPONSE, columns) for format in FORMATS}


def curl_lines(description: Description, url: str, *, needs_key: bool) -> dict[str, str]:
    """By the name of each format: a command that scores a response at a reward's ``url``.

    The key of a server that needs one comes from the variable that ``guerdon serve`` reads, too.
    """
    key = ' -H "Authorization: Bearer $GUERDON_API_KEY"' if needs_key else ""
    return {
        name: f"curl -s {shlex.quote(url + path)}{key} -H 'Content-Type: application/json' "
        f"-d {shlex.quote(json.dumps(body))}"
        for name, (path, body) in example_bodies(description).items()
    }


def _short(annotation: str | None) -> str | None:
    """A type without the names of the modules that its parts are from."""
    return None if annotation is None else re.sub(r"\b[a-z_.]+\.(?=\w)", "", annotation)


def _stand_in(column_type: str | None) -> Any:
    """A value of a type; None for text, and where the type is unknown."""
    first = (column_type or "").partition("|")[0].partition("[")[0].strip().rpartition(".")[2]
    return _VALUES.get(first)


def _type_in(field: Mapping[str, Any]) -> str | None:
    """The first type that a property's JSON Schema names."""
    kind = field.get("type")
    if isinstance(kind, str):
        return kind
    for choice in field.get("anyOf", ()):
        if isinstance(choice, Mapping) and isinstance(kind := choice.get("type"), str):
            return kind
    return "object" if "$ref" in field else None
