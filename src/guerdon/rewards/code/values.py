"""Values of test columns: JSON in strings, inputs and outputs of calls, limits with their units."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown
from guerdon.sandbox.grading.cases import CallTest, StdinTest


def plain(value: Any) -> Any:
    """A column's value in Python's own types: what is an array of numpy becomes a list."""
    tolist = getattr(value, "tolist", None)
    if callable(tolist) and not isinstance(value, str | bytes):
        value = tolist()
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, str) and type(value) is not str else value


def loaded(value: Any, what: str) -> Any:
    """The value, or what the JSON in it says where it is text. Raises InputError that names ``what``."""
    value = plain(value)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not JSON: {error}") from None


def list_of(value: Any, what: str) -> list[Any]:
    """A list. Raises InputError that names ``what`` for anything else."""
    value = plain(value)
    if not isinstance(value, list):
        raise InputError(f"{what} must be a list, not {shown(value)}")
    return value


def mapping_of(value: Any, what: str) -> Mapping[str, Any]:
    """An object. Raises InputError that names ``what`` for anything else."""
    value = plain(value)
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be an object, not {shown(value)}")
    return value


def text_of(value: Any, what: str) -> str:
    """A text. Raises InputError that names ``what`` for anything else."""
    value = plain(value)
    if not isinstance(value, str):
        raise InputError(f"{what} must be text, not {shown(value)}")
    return value


def pairs(inputs: Any, outputs: Any, what: str) -> list[tuple[Any, Any]]:
    """Inputs with their outputs. Raises InputError where there are not as many of both."""
    given, wanted = list_of(inputs, f"{what}: the inputs"), list_of(outputs, f"{what}: the outputs")
    if len(given) != len(wanted):
        raise InputError(f"{what} has {len(given)} inputs and {len(wanted)} outputs")
    return list(zip(given, wanted, strict=True))


def stdin_test(given: Any, wanted: Any, what: str) -> StdinTest:
    """A test of input and output; lists are lines."""
    return StdinTest(_lines(given, f"{what}: the input"), _lines(wanted, f"{what}: the output"))


def _lines(value: Any, what: str) -> str:
    value = plain(value)
    if isinstance(value, list):
        return "\n".join(text_of(line, what) for line in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return text_of(value, what)


def call_test(function: str, given: Any, wanted: Any, what: str) -> CallTest:
    """A test of a call; in text, each line is an argument in JSON, and the output is JSON too.

    >>> call_test("add", "1\\n2", "3", "tests[0]")
    CallTest(function='add', arguments=[1, 2], keyword_arguments={}, expected=3)
    """
    given, wanted = plain(given), plain(wanted)
    if isinstance(given, str):
        lines = [line for line in given.split("\n") if line.strip()]
        given = [loaded(line, f"{what}: an argument") for line in lines]
    if isinstance(given, Mapping):
        return CallTest(function, (), dict(given), _output(wanted, what))
    return CallTest(function, list_of(given, f"{what}: the arguments"), {}, _output(wanted, what))


def _output(value: Any, what: str) -> Any:
    return loaded(value, f"{what}: the output") if isinstance(value, str) else value


def numbered(value: Any) -> Any:
    """An object whose keys are all whole numbers in text, with the numbers as keys; JSON knows no others."""
    if isinstance(value, Mapping) and value and all(re.fullmatch(r"-?\d{1,18}", str(key)) for key in value):
        return {int(key): item for key, item in value.items()}
    return value


_UNITS = {"second": 1.0, "sec": 1.0, "s": 1.0, "millisecond": 0.001, "ms": 0.001, "minute": 60.0}


def seconds(value: Any, what: str) -> float | None:
    """A time limit in seconds: a number, ``"2.0 seconds"`` or ``{"seconds": 2, "nanos": 0}``; None for none.

    >>> seconds("2 seconds", "time_limit"), seconds({"seconds": 1, "nanos": 500000000}, "time_limit")
    (2.0, 1.5)
    """
    value = plain(value)
    if isinstance(value, Mapping):
        return seconds(float(value.get("seconds") or 0) + float(value.get("nanos") or 0) / 1e9, what)
    return _quantity(value, _UNITS, what)


_SIZES = {"megabyte": 1.0, "mb": 1.0, "mib": 1.0, "gigabyte": 1024.0, "gb": 1024.0, "kilobyte": 1 / 1024}


def megabytes(value: Any, what: str) -> int | None:
    """A memory limit in MiB, from a number of those or ``"256.0 megabytes"``; None for none."""
    size = _quantity(plain(value), _SIZES, what)
    return None if size is None else math.ceil(size)


def _quantity(value: Any, units: Mapping[str, float], what: str) -> float | None:
    factor = 1.0
    if value is None or value == "":
        return None
    if isinstance(value, str):
        parts = re.fullmatch(r"\s*([\d.]+)\s*([A-Za-z]*)\s*", value)
        unit = parts[2].lower() if parts else ""
        unit = unit if unit in units else unit.removesuffix("s")
        if parts is None or (unit and unit not in units):
            raise InputError(
                f"{what} must be a number with a unit such as {next(iter(units))}s, not {shown(value)}"
            )
        value, factor = parts[1], units.get(unit, 1.0)
    try:
        number = float(value) * factor
    except (TypeError, ValueError):
        number = math.nan
    if not 0 <= number < math.inf:
        raise InputError(f"{what} must be a number above 0, not {shown(value)}")
    return number or None
