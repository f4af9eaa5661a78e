"""CallOptions: how a reward server is called."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Literal, get_args

from guerdon.errors import InputError
from guerdon.serve.client.retries import Backoff, Deadline
from guerdon.settings import parse_positive, parse_seconds, setting

TransportName = Literal["http", "websocket", "auto"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOptions:
    """How a server is called. Raises InputError for a value that does not fit."""

    api_key: str | None = field(default=None, repr=False)
    timeout: float | None = 60.0
    """Seconds that one request may take over all its tries, from the moment it is sent; None sets no limit."""
    max_connections: int = 32
    """Requests in flight at once."""
    retries: int = 5
    """How often a request is sent again after a failure that may pass."""
    transport: TransportName = "http"
    """What single requests go over; ``auto`` is a WebSocket where the server takes one."""
    ca_file: str | os.PathLike[str] | None = None
    """A file of certificates to trust in place of the system's."""
    max_response: int = 1 << 26
    """The largest response body, in bytes."""

    def __post_init__(self) -> None:
        if self.timeout is not None:
            parse_seconds(self.timeout)
        parse_positive(self.max_connections)
        Backoff(self.retries)
        if self.api_key is not None and (not self.api_key.isascii() or not self.api_key.isprintable()):
            raise InputError("the key has characters that a header cannot carry")
        if self.transport not in get_args(TransportName):
            raise InputError(f'transport must be "http", "websocket" or "auto", not {self.transport!r}')

    @property
    def key(self) -> str | None:
        """The key: the one given, else that of the setting."""
        return self.api_key if self.api_key is not None else setting("api_key")

    def deadline(self) -> Deadline:
        """The deadline of a request that starts now."""
        return Deadline(math.inf if self.timeout is None else self.timeout)
