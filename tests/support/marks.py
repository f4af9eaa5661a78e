"""Marks for some of a test's parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def some_of(cases: Iterable[Any], *quick: Any, seconds: float) -> list[Any]:
    """The cases as parameters, all but the ``quick`` ones marked slow, with what each takes."""
    return [
        pytest.param(case, marks=() if case in quick else pytest.mark.slow(seconds=seconds)) for case in cases
    ]
