"""Samples and requests as JSON, on their way to a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from guerdon.errors import InputError
from guerdon.types import Sample

if TYPE_CHECKING:
    from guerdon.serve.models import Request


def sample_bytes(sample: Sample | Mapping[str, Any]) -> bytes:
    """A sample, or a row in chat form, as v1 writes it. Raises InputError where it is none, or no JSON.

    >>> sample_bytes({"messages": [{"role": "assistant", "content": "4"}], "answer": "4"})
    b'{"messages":[{"role":"assistant","content":"4"}],"answer":"4"}'
    """
    return json_of((sample if isinstance(sample, Sample) else Sample.from_row(sample)).to_row())


def request_bytes(request: Request) -> bytes:
    """A Request as Adaptive's format writes it. Raises InputError where it is none, or its metadata is not JSON."""
    try:
        return request.model_dump_json().encode()
    except (AttributeError, ValueError) as error:
        raise InputError(f"a request must be a guerdon.Request whose metadata can be JSON: {error}") from None


def json_of(row: Mapping[str, Any]) -> bytes:
    """A row as JSON; numpy's and torch's values as numbers and lists. Raises InputError for what JSON cannot hold."""
    try:
        return to_json(row, fallback=_plain)
    except (PydanticSerializationError, ValueError, RecursionError) as error:
        reason = str(error).removeprefix("Error calling `fallback`: ").removeprefix("InputError: ")
        raise InputError(f"the sample cannot travel to a server: {reason}") from None


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise InputError(f"JSON has no form for a {type(value).__name__}")
