"""Redaction: secrets are removed from what is logged and recorded."""

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
    r"(?:^|[_.-])(?:api[_-]?keys?|access[_-]?key|secret[_-]?key|private[_-]?key|token|password|passwd|pwd"
    r"|passphrase|authorization|secrets?|credentials?|cookie|bearer)$",
    re.IGNORECASE,
)
_IN_QUERIES = frozenset({"key", "sig", "signature"})
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_HINTS = (
    *(b"key", b"token", b"passw", b"pwd", b"passphrase", b"authorization", b"secret"),
    *(b"credential", b"cookie", b"bearer", b"\\u"),
)
_INLINE = re.compile(r"(?i)\b(bearer|basic) +[\w.~+/=-]{6,}")


def is_secret_name(name: str) -> bool:
    """Whether what has this name looks like a secret.

    >>> [is_secret_name(name) for name in ("api_key", "openaiApiKey", "X-Api-Key", "max_tokens", "monkey")]
    [True, True, True, False, False]
    """
    return _SECRET.search(_HUMP.sub("_", name.strip())) is not None


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

    name, equals, _ = pair.partition("=")
    plain = unquote_plus(name)
    return f"{name}={REDACTED}" if equals and (plain in _IN_QUERIES or is_secret_name(plain)) else pair


def redacted_text(text: str) -> str:
    """Free text, of a message or a traceback, without what follows the word Bearer.

    >>> redacted_text("refused: Authorization: Bearer abc.def.ghi")
    'refused: Authorization: Bearer [redacted]'
    """
    if " " not in text:  # most of what is logged, for which the expression takes a while
        return text
    return _INLINE.sub(rf"\1 {REDACTED}", text)


def redacted_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Of raw headers, names in lower case, those that are known to hold no secret."""
    return {
        text: value.decode("latin-1")
        for name, value in headers
        if (text := name.decode("latin-1").lower()) in HEADERS
    }


def redacted_body(body: bytes) -> bytes:
    """A JSON body in which the values of secret names are ``"[redacted]"``.

    A body that may hold a secret and is not JSON is left out but for its length.

    >>> redacted_body(b'{"metadata": {"api_key": "s3cret", "level": 2}}')
    b'{"metadata":{"api_key":"[redacted]","level":2}}'
    """
    lower = body.lower()
    if not any(hint in lower for hint in _HINTS):  # a tenth of what a regular expression takes
        return body
    try:
        value = from_json(body)
    except ValueError:
        return to_json({"unreadable": len(body)})
    # Written again even if nothing is taken out: of a name given twice, only the last one was looked at.
    return to_json(_cleaned(value), inf_nan_mode="constants")


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: REDACTED if _hides(n, item) else _cleaned(item) for n, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value


def _hides(name: str, item: Any) -> bool:
    # A number or a yes or no is no secret: {"token": 12}, {"secret": true}.
    return item is not None and not isinstance(item, bool | int | float) and is_secret_name(name)
