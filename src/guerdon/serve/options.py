"""ServeOptions: all settings of a server."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

from guerdon.errors import InputError

MEGABYTE = 1_000_000
_HOST = re.compile(r"[a-z0-9._-]+|[0-9a-f:.]+")
_MONTH = 30 * 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeOptions:
    """How rewards are served. Raises InputError for values that exclude each other."""

    host: str = "127.0.0.1"
    port: int = 8000
    """0 takes a free port."""
    api_key: str | Iterable[str] | None = None
    """One key or several; callers must send one of them."""
    api_keys_file: str | None = None
    """A file with one key per line; it is read again when it changes."""
    allowed_host: str | Iterable[str] | None = None
    """Host names besides its own by which the server may be called, one or several, as behind a reverse proxy.

    A server on a loopback address without keys answers to no others, and a server that is given some neither.
    """
    allow_anonymous: bool = False
    """Serve without a key on an address that other machines can reach."""
    workers: int | None = None
    """Worker processes for each reward; by default one per processor for sync rewards, one for async ones."""
    concurrency: int | None = None
    """Samples of an async reward in flight at once in each worker, 64 by default."""
    timeout: float | None = None
    """Seconds that one sample may take; by default as the reward says, or 10."""
    request_timeout: float = 300.0
    """Seconds that a request may take, waiting included."""
    max_memory: int | str | None = None
    max_body: int = 64 * MEGABYTE
    """Bytes of a request's body."""
    max_queue: int = 1024
    """Requests that may wait or run, for each reward."""
    max_connections: int = 4096
    """Connections at once, WebSockets included; fewer where the process may not open as many files."""
    max_buffered: int = 1000 * MEGABYTE
    """Bytes of requests, and of responses that are not read, over all connections; at least ``max_body``."""
    drain: float = 30.0
    """How many seconds a stopping server waits for the requests in flight."""
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_key_password: str | None = None
    journal: str | None = None
    """A SQLite file that records requests and responses."""
    journal_bytes: int = 256 * MEGABYTE
    access_log: bool = False
    """Log every request, not only refused, failed and slow ones."""
    quiet: bool = False
    """Log no request."""
    log_format: Literal["text", "json"] = "text"

    def __post_init__(self) -> None:
        if isinstance(self.port, bool) or not isinstance(self.port, int) or not 0 <= self.port <= 65535:
            raise InputError(f"port must be a whole number from 0 to 65535, not {self.port!r}")
        if self.log_format not in ("text", "json"):
            raise InputError(f'log_format must be "text" or "json", not {self.log_format!r}')
        if self.access_log and self.quiet:
            raise InputError("access_log logs every request and quiet none; give one of them")
        for name in ("max_body", "max_queue", "max_connections", "max_buffered", "journal_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} must be a whole number of 1 or more, not {value!r}")
        for name, least in (("request_timeout", 0.001), ("drain", 0.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= _MONTH:
                raise InputError(f"{name} must be a positive number of seconds, not {value!r}")
        _ = self.allowed_hosts
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("TLS needs both a certificate and its key: tls_cert and tls_key")
        for name in ("tls_cert", "tls_key"):
            path = getattr(self, name)
            if path is not None and not os.path.isfile(path):
                raise InputError(f"{name}: there is no file {path}")
        if not (is_loopback(self.host) or self.keys or self.api_keys_file or self.allow_anonymous):
            raise InputError(
                f"{self.host} can be reached from other machines: set an API key (--api-key, GUERDON_API_KEY), "
                "or give --allow-anonymous"
            )
        if self.is_open_to_all and self.journal is not None:
            raise InputError(
                f"without a key everyone who reaches {self.host} could read the journal at /requests: "
                "set an API key (--api-key), or leave out --journal"
            )

    @property
    def is_open_to_all(self) -> bool:
        """Whether anyone who reaches this machine may call, since there is no key."""
        return not (is_loopback(self.host) or self.keys or self.api_keys_file)

    @property
    def sends_keys_in_clear(self) -> bool:
        """Whether keys travel without TLS over a network, unless a proxy in front adds it."""
        return not is_loopback(self.host) and self.tls_cert is None and not self.is_open_to_all

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The given host names, without duplicates. Raises InputError for what is no host name."""
        given = [self.allowed_host] if isinstance(self.allowed_host, str) else list(self.allowed_host or ())
        return tuple(dict.fromkeys(map(_host_name, given)))

    @property
    def keys(self) -> tuple[str, ...]:
        """The given keys, without duplicates."""
        given = [self.api_key] if isinstance(self.api_key, str) else list(self.api_key or ())
        return tuple(dict.fromkeys(given))

    def __repr__(self) -> str:
        secret = {"api_key", "tls_key_password"}
        shown = (f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.name not in secret)
        return f"ServeOptions({', '.join(shown)})"

    @classmethod
    def of(cls, options: dict[str, Any]) -> ServeOptions:
        """Raises InputError for an unknown option."""
        known = {f.name for f in fields(cls)}
        unknown = [name for name in options if name not in known]
        if unknown:
            raise InputError(
                f"a server has no option {unknown[0]!r}; it has {', '.join(sorted(known))}", option=unknown[0]
            )
        return cls(**options)


def _host_name(given: str) -> str:
    """A host name as a Host header has it, in lower case and without a port."""
    name = host_of(given) if isinstance(given, str) else ""
    if not name or not _HOST.fullmatch(name):
        raise InputError(
            f"allowed_host must be a host name or an address, such as rewards.example, not {given!r}"
        )
    return name


def host_of(value: str) -> str:
    """The host of a Host header, without its port, its brackets and a dot at the end, in lower case.

    >>> [host_of(value) for value in ("Rewards.Example:8000", "[::1]:80", "::1", "localhost.")]
    ['rewards.example', '::1', '::1', 'localhost']
    """
    value = value.strip().lower()
    if value.startswith("["):
        return value[1:].partition("]")[0]
    name, colon, port = value.rpartition(":")
    if colon and ":" not in name and (not port or port.isdigit()):
        value = name
    return value.removesuffix(".")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
