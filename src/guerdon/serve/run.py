"""serve: rewards become an HTTP service, in this process or beside it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import resolve
from guerdon.scoring.process.worker_process import WorkerProcess, WorkerSpec
from guerdon.scoring.run import RunOptions, limits_of
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.options import ServeOptions
from guerdon.serve.worker.entry import ServeWorker
from guerdon.serve.worker.in_process import InProcessHandle

if TYPE_CHECKING:
    from guerdon.serve.background import BackgroundServer
    from guerdon.serve.http.server import HttpServer, ShutdownReport

_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """One reward as the process that listens is told of it."""

    name: str
    version: str
    limits: DispatchLimits
    worker: WorkerSpec | None
    """What its workers are started with; None where the reward answers in the process that starts the server."""


def serve(*rewards: Any, blocking: bool = True, **options: Any) -> BackgroundServer | None:
    """Serve rewards over HTTP, each under ``/rewards/{name}/…`` and the first at the root too.

    A reward is anything that resolves: a function, a class, a registered name, ``file.py::name``. ``options``
    are the fields of ``guerdon.serve.options.ServeOptions``: ``port``, ``host``, ``api_key``, ``workers``, … With
    ``blocking=False`` the server runs in a process of its own, and what is given back, once it accepts
    connections, has ``url`` and ``stop()``; it ends with this process.

    Raises InputError where the port is taken or an option is wrong, BindingError and ResolutionError for
    what is no reward, MissingExtraError where the extra ``serve`` is not installed.

    >>> def brief(response: str) -> float:
    ...     return 1.0 if len(response) < 9 else 0.0
    >>> server = serve(brief, port=0, blocking=False)
    >>> server.stop()
    """
    known = ServeOptions.of(options)
    specs = [spec_of(reward, known) for reward in resolve_rewards(rewards)]
    if not blocking:
        from guerdon.serve.background import BackgroundServer

        return BackgroundServer(known, specs)
    serve_forever(known, specs)
    return None


def resolve_rewards(rewards: Sequence[Any]) -> list[RewardFunction]:
    """Rewards under the names by which they are served. Raises InputError where two have the same."""
    found = [resolve(reward) for reward in rewards]
    if not found:
        raise InputError("there is nothing to serve; name a reward")
    for position, reward in enumerate(found):
        if any(reward.name == other.name for other in found[:position]):
            raise InputError(
                f"two rewards are called {reward.name!r}; give one another name: reward.with_name(…)"
            )
    return found


def spec_of(reward: RewardFunction, options: ServeOptions) -> RewardSpec:
    """A reward that is answered for by worker processes. Raises BindingError where it cannot travel to one."""
    limits = dispatch_limits(reward, options, options.workers)
    program = ServeWorker(reward, limits.timeout, limits.concurrency)
    return RewardSpec(reward.name, reward.version, limits, WorkerSpec.of(reward, limits.max_memory, program))


def dispatch_limits(reward: RewardFunction, options: ServeOptions, workers: int | None) -> DispatchLimits:
    """The limits of a reward that is served: what was given, else what it says, else the settings."""
    if workers is not None and workers < 1:
        raise InputError(f"workers must be a whole number of 1 or more, not {workers!r}")
    run = RunOptions(
        timeout=options.timeout,
        workers=workers,
        concurrency=options.concurrency,
        max_memory=options.max_memory,
    )
    limits = limits_of(reward, run, None)
    return DispatchLimits(
        timeout=limits.timeout,
        request_timeout=options.request_timeout,
        workers=max(1, limits.workers),
        concurrency=limits.concurrency,
        max_memory=limits.max_memory,
        load_timeout=limits.load_timeout,
        max_queue=options.max_queue,
    )


def serve_forever(
    options: ServeOptions,
    specs: Sequence[RewardSpec],
    listener: socket.socket | None = None,
    on_ready: Callable[[str], None] = lambda url: None,
    on_stop: Callable[[int], None] = lambda in_flight: None,
) -> ShutdownReport:
    """Serve in this thread until SIGTERM or Ctrl-C, and tell what was finished after it.

    ``on_ready`` is told the URL, ``on_stop`` how many requests are in flight. Raises KeyboardInterrupt where a second
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


@contextlib.contextmanager
def new_server(
    options: ServeOptions, specs: Sequence[RewardSpec], control: socket.socket | None = None
) -> Iterator[HttpServer]:
    """What listens for these rewards. Raises MissingExtraError where the extra is not installed."""
    try:
        from guerdon.serve.http.access_log import ServerLog
        from guerdon.serve.http.server import HttpServer, RewardMount
    except ImportError as error:
        if error.name is not None and error.name.startswith("guerdon"):
            raise
        raise MissingExtraError.of("serve", "serving") from error
    mounts = [RewardMount(spec.name, spec.version, _spawner(spec, control), spec.limits) for spec in specs]
    with ServerLog(form=options.log_format, every=options.access_log, quiet=options.quiet) as log:
        yield HttpServer(options, mounts, log)


def _spawner(spec: RewardSpec, control: socket.socket | None) -> Callable[[], Any]:
    if spec.worker is not None:
        worker = spec.worker
        return lambda: WorkerProcess(worker)
    assert control is not None
    return lambda: InProcessHandle(control)


def server_url(options: ServeOptions, listener: socket.socket) -> str:
    """Where a server that listens is reached."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if options.tls_cert else 'http'}://{host}:{port}"


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InputError where the address is taken or is none of this machine's."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise InputError(f"cannot listen on {host!r}: {error.strerror or error}") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        text = f"cannot listen on {host} port {port}: {error.strerror or error}"
        raise InputError(f"{text}; choose another port" if port else text, port=port) from None
    return listener
