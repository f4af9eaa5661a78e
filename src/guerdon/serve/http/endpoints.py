"""The table of paths at which rewards are scored, for HTTP and for WebSockets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from guerdon.serve.dispatch.dispatcher import Dispatcher
from guerdon.serve.formats import FORMATS
from guerdon.serve.http.examples import reward_root
from guerdon.serve.http.replies import HeaderPairs

_LINES = (b"application/jsonl", b"application/x-ndjson")


@dataclass(frozen=True, eq=False)
class RewardEndpoint:
    """A path at which a reward scores."""

    path: str
    reward: str
    dispatcher: Dispatcher
    choices: tuple[tuple[int, str], ...]
    """The formats that the path takes, each as its index in FORMATS and its operation."""

    @cached_property
    def streams(self) -> bool:
        """Whether the path can send results as JSON lines, each when it is ready."""
        return any(FORMATS[index].name == "v1" and op == "batch_score" for index, op in self.choices)


def http_endpoints(dispatchers: Mapping[str, Dispatcher]) -> dict[str, RewardEndpoint]:
    """The endpoints of POST requests by path; those of the first reward are at the root too."""
    routes = ((index, route.path, route.op) for index, f in enumerate(FORMATS) for route in f.routes)
    return _endpoints(dispatchers, routes)


def socket_endpoints(dispatchers: Mapping[str, Dispatcher]) -> dict[str, RewardEndpoint]:
    """The endpoints of WebSockets by path, as above."""
    routes = ((index, path, op) for index, f in enumerate(FORMATS) for path, op in f.sockets.items())
    return _endpoints(dispatchers, routes)


def _endpoints(
    dispatchers: Mapping[str, Dispatcher], routes: Iterable[tuple[int, str, str]]
) -> dict[str, RewardEndpoint]:
    choices: dict[str, list[tuple[int, str]]] = {}
    for index, path, op in routes:
        choices.setdefault(path, []).append((index, op))
    found: dict[str, RewardEndpoint] = {}
    for number, (name, dispatcher) in enumerate(dispatchers.items()):
        named = {
            f"/rewards/{name}": None,
            reward_root(name, first=False): None,
        }  # as it is, and as a URL has it
        for root in ("", *named) if number == 0 else named:
            for path, formats in choices.items():
                full = (root + path).rstrip("/") or "/"
                found[full] = RewardEndpoint(full, name, dispatcher, tuple(formats))
    return found


def wants_lines(headers: HeaderPairs) -> bool:
    """Whether a caller accepts JSON lines.

    >>> wants_lines([(b"accept", b"application/jsonl")]), wants_lines([(b"accept", b"*/*")])
    (True, False)
    """
    return any(name == b"accept" and any(kind in value for kind in _LINES) for name, value in headers)
