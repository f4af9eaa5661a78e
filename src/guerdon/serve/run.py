"""serve: rewards over HTTP, from this process or from a background process."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from guerdon.serve.background import BackgroundServer
from guerdon.serve.launch import RewardSpec, bind_socket, new_server, resolve_rewards, server_url, spec_of
from guerdon.serve.options import ServeOptions

if TYPE_CHECKING:
    from guerdon.serve.shutdown_report import ShutdownReport


def serve(*rewards: Any, blocking: bool = True, **options: Any) -> BackgroundServer | None:
    """Serve rewards over HTTP, each under ``/rewards/{name}/…`` and the first at the root too.

    A reward is a function, a class, a registered name or ``file.py::name``. ``options`` are the fields of
    ``guerdon.serve.options.ServeOptions``: ``port``, ``host``, ``api_key``, ``workers``, … With
    ``blocking=False`` the server runs in a background process, which ends with this one; ``serve`` returns
    a BackgroundServer, with ``url`` and ``stop()``, once it accepts connections.

    Raises InputError if the port is taken or an option is wrong, BindingError and ResolutionError for
    what is not a reward, MissingExtraError if the extra ``serve`` is not installed.

    >>> def brief(response: str) -> float:
    ...     return 1.0 if len(response) < 9 else 0.0
    >>> server = serve(brief, port=0, blocking=False)
    >>> server.stop()
    """
    known = ServeOptions.of(options)
    specs = [spec_of(reward, known) for reward in resolve_rewards(rewards)]
    if not blocking:
        return BackgroundServer(known, specs)
    serve_forever(known, specs)
    return None


def serve_forever(
    options: ServeOptions,
    specs: Sequence[RewardSpec],
    listener: socket.socket | None = None,
    on_ready: Callable[[str], None] = lambda url: None,
    on_stop: Callable[[int], None] = lambda in_flight: None,
) -> ShutdownReport:
    """Serve in this thread until SIGTERM or Ctrl-C, and report what became of the requests in flight.

    ``on_ready`` gets the URL, ``on_stop`` the number of requests in flight. Raises KeyboardInterrupt if a second
    Ctrl-C ended the server at once.
    """
    with (
        listener or bind_socket(options.host, options.port) as socket_bound,
        new_server(options, specs) as server,
    ):
        url = server_url(options, socket_bound)
        report = server.run(socket_bound, lambda: on_ready(url), on_stop)
    if report.forced:
        raise KeyboardInterrupt
    return report
