"""Redaction: what may be secret is taken out of what is written down."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic_core import from_json, to_json

REDACTED = "[redacted]"

HEADERS = frozenset(
    {
        *("accept", "content-length", "content-type", "host", "idempotency-key", "traceparent"),
        *("user-agent", "x-batch-errors", "x-request-id"),
    }
)
"""The only headers that are ever written down."""

_SECRET = re.compile(
    r"(?:^|[_.-])(?:api[_-]?keys?|apikey|x[_-]api[_-]key|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|tokens?|password|passwd|pwd|passphrase|authorization|secrets?|credentials?|cookie|bearer|signature|sig)$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?:max|min|num|n|total|completion|prompt|input|output|new)[_-]?tokens?$", re.IGNORECASE
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HINT = re.compile(rb"key|token|passw|pwd|passphrase|auth|secret|credential|cookie|bearer|sig", re.IGNORECASE)
_INLINE = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")


def is_secret_name(name: str) -> bool:
    """Whether what has this name looks like a secret.

    >>> [is_secret_name(name) for name in ("api_key", "openaiApiKey", "X-Api-Key", "max_tokens", "key")]
    [True, True, True, False, False]
    """
    if not isinstance(name, str):
        return False
    text = _HUMP.sub("_", name.strip())
    return _SECRET.search(text) is not None and _COUNTED.search(text) is None


def redacted_path(path: str) -> str:
    """A path with its query, whose secret values are taken out.

    >>> redacted_path("/score?api_key=s3cret&verbose=1")
    '/score?api_key=[redacted]&verbose=1'
    """
    head, mark, query = path.partition("?")
    if not mark:
        return path
    return head + mark + "&".join(map(_redacted_pair, query.split("&")))


def _redacted_pair(pair: str) -> str:
    from urllib.parse import unquote_plus

    name, equals, value = pair.partition("=")
    plain = unquote_plus(name)
    return f"{name}={REDACTED}" if equals and value and (plain == "key" or is_secret_name(plain)) else pair


def redacted_text(text: str) -> str:
    """Free text, of a message or a traceback, without what follows the word Bearer.

    >>> redacted_text("refused: Authorization: Bearer abc.def.ghi")
    'refused: Authorization: Bearer [redacted]'
    """
    return _INLINE.sub(rf"\1 {REDACTED}", text)


def redacted_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Of raw headers, names in lower case, those that are known to hold no secret."""
    return {
        text: value.decode("latin-1")
        for name, value in headers
        if (text := name.decode("latin-1").lower()) in HEADERS
    }


def redacted_body(body: bytes) -> bytes:
    """A JSON body in which the values of secret names are ``"[redacted]"``; what is not JSON is left out.

    >>> redacted_body(b'{"metadata": {"api_key": "s3cret", "level": 2}}')
    b'{"metadata":{"api_key":"[redacted]","level":2}}'
    """
    if not body:
        return body
    try:
        value = from_json(body)
    except ValueError:
        return to_json({"unreadable": len(body)})
    if _HINT.search(body) is None and b"\\u" not in body:
        return body
    cleaned, changed = _cleaned(value)
    return to_json(cleaned, inf_nan_mode="constants") if changed else body


def _cleaned(value: Any) -> tuple[Any, bool]:
    if isinstance(value, dict):
        pairs = {
            name: (REDACTED, True) if _hides(name, item) else _cleaned(item) for name, item in value.items()
        }
        changed = any(new for _, new in pairs.values())
        return ({name: item for name, (item, _) in pairs.items()}, True) if changed else (value, False)
    if isinstance(value, list):
        items = [_cleaned(item) for item in value]
        changed = any(new for _, new in items)
        return ([item for item, _ in items], True) if changed else (value, False)
    return value, False


def _hides(name: str, item: Any) -> bool:
    # A number or a yes or no is no secret: {"tokens": 12}, {"secret": true}.
    return item is not None and not isinstance(item, bool | int | float) and is_secret_name(name)
