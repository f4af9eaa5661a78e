"""The streaming half of the Connect protocol, as JSON, which E2B's daemon uses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from guerdon.sandbox.providers.transport import ServiceError, ServiceResponse, TransientError

CONTENT_TYPE = "application/connect+json"
LAST = 0b10
COMPRESSED = 0b01
LARGEST = 4 << 20


class ConnectError(ServiceError):
    """The stream ended with an error; ``code`` is Connect's word for it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code


def enveloped(message: Mapping[str, Any]) -> bytes:
    """One message as it goes over the wire: flags, length, JSON.

    >>> enveloped({})
    b'\\x00\\x00\\x00\\x00\\x02{}'
    """
    data = json.dumps(message).encode()
    return bytes([0]) + len(data).to_bytes(4, "big") + data


def messages(answer: ServiceResponse) -> Iterator[dict[str, Any]]:
    """The messages of a stream, as they come.

    Raises ConnectError where the stream ends with an error, TransientError where it breaks off.
    """
    buffer = bytearray()
    while True:
        while len(buffer) >= 5:
            size = int.from_bytes(buffer[1:5], "big")
            if size > LARGEST or buffer[0] & COMPRESSED:
                raise ServiceError("the stream is not a Connect stream of JSON")
            if len(buffer) < 5 + size:
                break
            flags, data = buffer[0], bytes(buffer[5 : 5 + size])
            del buffer[: 5 + size]
            message = _object(data)
            if flags & LAST:
                _raise(message.get("error"))
                return
            yield message
        chunk = answer.chunk()
        if not chunk:
            raise TransientError("the stream broke before its end")
        buffer += chunk


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ServiceError("the stream holds something other than JSON objects")
    return value


def _raise(error: object) -> None:
    if isinstance(error, dict):
        message = error.get("message")
        raise ConnectError(str(error.get("code")), message[:200] if isinstance(message, str) else "")
