"""Checks of incoming values, and the messages for invalid ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from guerdon.errors import RemoteError, RewardError

_CONNECT_SECONDS = 3.0

_NO_NUMBERS = (str, bytes, bytearray, complex)


def reason_of(error: ValidationError) -> str:
    """A pydantic error on one line, first problem first: ``messages[1].role: Field required``."""
    problems = []
    for item in error.errors(include_url=False, include_context=False):
        where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in item["loc"]).lstrip(".")
        message = item["msg"].removeprefix("Value error, ")
        problems.append(f"{where}: {message}" if where else message)
    shown = "; ".join(problems[:3])
    return shown if len(problems) <= 3 else f"{shown}; and {len(problems) - 3} more"


def text_of(error: BaseException) -> str:
    """An exception as text: its class and message, of our own family the message alone.

    >>> from guerdon.errors import InputError
    >>> text_of(KeyError("x")), text_of(ValueError()), text_of(InputError("row 3 is empty"))
    ("KeyError: 'x'", 'ValueError', 'row 3 is empty')
    """
    try:
        text = str(error)
    except Exception:  # the exception's own code: its name is left to say
        text = ""
    if isinstance(error, RewardError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def finite(value: Any, what: str = "score") -> float:
    """A number as a finite float: int, float, bool, Decimal, a numpy or torch scalar.

    Raises ValueError that names ``what`` for NaN, infinity, text, complex numbers and all else.

    >>> finite(True), finite(3)
    (1.0, 3.0)
    """
    if type(value) is float:
        number = value
    elif isinstance(value, _NO_NUMBERS) or not hasattr(value, "__float__") or _holds_no_number(value):
        raise ValueError(f"{what} must be a number, not {_shown(value)}")
    else:
        try:
            number = float(value)
        except Exception as error:  # the object's own code: whatever it raises, it gives no number
            raise ValueError(f"{what} must be a number, not {_shown(value)}: {text_of(error)}") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} must be finite, not {number}")
    return number


def refuse_unreachable(url: str, what: str) -> None:
    """Raise RemoteError where nothing listens at a URL; asked once, for a few seconds. A proxy is left to answer."""
    import socket  # here, since importing guerdon would cost more with them
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    if parts.scheme in getproxies() and not proxy_bypass(parts.hostname or ""):
        return
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), timeout=_CONNECT_SECONDS).close()
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise RemoteError(f"{what} at {parts.scheme}://{parts.netloc} cannot be reached: {reason}") from None


def _holds_no_number(value: Any) -> bool:
    """Whether a scalar of an array package is complex, text, a time or raw bytes, of which float() makes a number."""
    dtype = getattr(value, "dtype", None)
    kind = getattr(dtype, "kind", None)
    if kind == "O":  # what numpy holds as it is
        return isinstance(getattr(value, "item", lambda: None)(), _NO_NUMBERS)
    is_void = kind == "V" and getattr(getattr(dtype, "type", None), "__name__", "") == "void"
    return is_void or kind in ("c", "S", "U", "T", "M", "m") or getattr(dtype, "is_complex", False) is True


def _shown(value: Any) -> str:
    if isinstance(value, bool | int | float | str | bytes | complex):
        text = repr(value) if not isinstance(value, int) else f"a huge {type(value).__name__}"
        return text if len(text) <= 60 else text[:57] + "…"
    return f"a {type(value).__name__}"


def refuse_infinities(value: Any, what: str) -> None:
    """Raise ValueError where a number inside dicts and lists is NaN or infinite; JSON has no word for these."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{what} must be finite, not {value}")
    if isinstance(value, Mapping):
        for name, item in value.items():
            refuse_infinities(item, f"{what}.{name}")
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for i, item in enumerate(value):
            refuse_infinities(item, f"{what}[{i}]")
