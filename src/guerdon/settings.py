"""One table of settings: each has a default, an environment variable and a sentence of help.

The command line takes its defaults, its environment variables and its help from the same table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_DURATIONS = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600}
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off", ""}


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print a whole number of thousands of digits
        return f"a huge {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "…"


def parse_bytes(value: str | int) -> int:
    """A number of bytes from ``"512MB"``, ``"2GiB"`` or a whole number.

    >>> parse_bytes("1.5GB"), parse_bytes(2048)
    (1500000000, 2048)
    """
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    text = "" if isinstance(value, int) else str(value)
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([kmg]?i?b?)\s*", text, re.IGNORECASE)
    unit = match.group(2).lower() if match else None
    if unit in ("k", "m", "g"):
        unit += "b"
    amount = int(float(match.group(1)) * _UNITS[unit]) if match and unit in _UNITS else 0
    if amount < 1:
        raise InputError(f"{_shown(value)} is not an amount of memory; write it as 512MB or 2GiB")
    return amount


def parse_seconds(value: str | float) -> float:
    """A positive number of seconds, also from text such as ``"500ms"``, ``"30s"``, ``"2m"`` or ``"1h"``.

    >>> parse_seconds("2.5"), parse_seconds("2m")
    (2.5, 120.0)
    """
    match = (
        re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*(ms|s|m|min|h)\s*", value)
        if isinstance(value, str)
        else None
    )
    try:
        seconds = float(match[1]) * _DURATIONS[match[2]] if match else float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = float("nan")
    if not 0 < seconds < float("inf") or isinstance(value, bool):
        raise InputError(
            f"{_shown(value)} is not a number of seconds; give a positive number such as 10 or 2m"
        )
    return seconds


def parse_count(value: str | float) -> int:
    """A whole number, zero or more, also from text."""
    try:
        count = int(value)
    except (TypeError, ValueError, OverflowError):
        count = -1
    if count < 0 or isinstance(value, bool) or (isinstance(value, float) and value != count):
        raise InputError(f"{_shown(value)} is not a count; give a whole number of 0 or more")
    return count


def parse_positive(value: str | float) -> int:
    """A whole number of at least 1, also from text."""
    if (count := parse_count(value)) < 1:
        raise InputError(f"{_shown(value)} is too small; give a whole number of 1 or more")
    return count


def parse_bool(value: str | bool) -> bool:
    """A yes or no, also from ``1``, ``true``, ``no``, …"""
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise InputError(f"{_shown(value)} is neither yes nor no; write 1 or 0")


@dataclass(frozen=True, slots=True)
class EnvironmentSetting:
    """One row of the table."""

    name: str
    parse: Callable[[Any], Any]
    default: Any
    help: str

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"GUERDON_{self.name.upper()}"


SETTINGS: Mapping[str, EnvironmentSetting] = {
    s.name: s
    for s in (
        EnvironmentSetting("timeout", parse_seconds, 10.0, "Seconds that one sample may take."),
        EnvironmentSetting("workers", parse_count, None, "Worker processes; 0 scores in this process."),
        EnvironmentSetting("concurrency", parse_positive, 64, "Calls of an async reward in flight at once."),
        EnvironmentSetting(
            "max_memory", parse_bytes, 4 * 2**30, "Memory that one worker may grow by, such as 2GB."
        ),
        EnvironmentSetting(
            "load_timeout", parse_seconds, 120.0, "Seconds that a worker may take to load a reward."
        ),
        EnvironmentSetting(
            "base_url", str.strip, None, "Address of the reward server, such as http://host:8000."
        ),
        EnvironmentSetting("api_key", str.strip, None, "Key that reward servers are called with."),
        EnvironmentSetting(
            "say_after", parse_seconds, 1.5, "Seconds after which a command says what it is doing."
        ),
        EnvironmentSetting("debug", parse_bool, False, "Show tracebacks of errors."),
    )
}


def setting(name: str, given: Any = None) -> Any:
    """The value of a setting: what was given, else its environment variable, else its default.

    Raises InputError that names the environment variable if what it holds is unusable.
    """
    row = SETTINGS[name]
    if given is not None:
        return row.parse(given)
    text = os.environ.get(row.variable)
    if text is None or not text.strip():
        return row.default
    try:
        return row.parse(text)
    except InputError as error:
        raise InputError(f"{row.variable}: {error}") from None
