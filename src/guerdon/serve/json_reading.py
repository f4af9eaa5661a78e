"""JSON from others, read in a process that must not stop or grow for it: its number of values is bounded first."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

MAX_VALUES = 200_000
"""What the server's own process reads at once, in some 50 ms; workers read what is larger."""
MAX_ANSWER_VALUES = 4_000_000
"""What a client reads of one answer, and the server to find out whose answer it is that failed."""


class TooManyValuesError(ValueError):
    """A text has more values than are read."""


def has_more_values(data: bytes | str, most: int) -> bool:
    """Whether a JSON text may have more than so many values: two bytes of it can become an object of 64 bytes."""
    if len(data) <= most:
        return False
    if isinstance(data, str):
        return sum(map(data.count, ",[{")) >= most
    return sum(map(data.count, (b",", b"[", b"{"))) >= most


def read_bounded_json(data: bytes | str, most: int = MAX_VALUES, *, allow_inf_nan: bool = True) -> Any:
    """A JSON text. Raises ValueError for what is none, and TooManyValuesError.

    >>> read_bounded_json(b'{"id": 3}')
    {'id': 3}
    >>> read_bounded_json("[{},{},{}]", 4)
    Traceback (most recent call last):
        ...
    guerdon.serve.json_reading.TooManyValuesError: it has more than 4 values
    """
    if has_more_values(data, most):
        raise TooManyValuesError(f"it has more than {most:,} values")
    return from_json(data, allow_inf_nan=allow_inf_nan)
