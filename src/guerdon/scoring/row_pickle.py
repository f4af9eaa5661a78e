"""Rows as bytes, on their way to a worker process."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

import cloudpickle

from guerdon.errors import InputError
from guerdon.scoring.outcome import Outcome, failure
from guerdon.types import Sample


def row_bytes(row: Mapping[str, Any] | Sample) -> bytes | Outcome:
    """A row as bytes, or the failure of its sample where no pickle takes it."""
    try:
        body = pickle.dumps(row, 5)
        # A worker has no __main__ to find a class in, so that one travels as a whole.
        if b"__main__" not in body:
            return body
    except Exception:
        body = b""  # what pickle does not take, cloudpickle may
    try:
        return bytes(cloudpickle.dumps(row, 5))
    except Exception as error:  # whatever the row's objects raise
        return failure(InputError.kind, f"the row cannot travel to a worker: {error}")
