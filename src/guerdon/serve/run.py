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
from guerdon.scoring.process.worker_process import Load, Worker
from guerdon.scoring.run import RunOptions, limits_of
from guerdon.serve.dispatch.dispatcher import DeskLimits
from guerdon.serve.options import ServeOptions
from guerdon.serve.worker.entry import RewardResident
from guerdon.serve.worker.in_process import LinkPeer

if TYPE_CHECKING:
    from guerdon.serve.background import RunningServer
    from guerdon.serve.http.server import Ending, Front

_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class Post:
    """One reward as the process that listens is told of it."""

    name: str
    version: str
    limits: DeskLimits
    load: Load | None
    """What its workers are started with; None where the reward answers in the process that starts the server."""


def serve(*rewards: Any, blocking: bool = True, **options: Any) -> RunningServer | None:
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
    posts = [post_of(reward, known) for reward in named(rewards)]
    if not blocking:
        from guerdon.serve.background import RunningServer

        return RunningServer(known, posts)
    serve_here(known, posts)
    return None


def named(rewards: Sequence[Any]) -> list[RewardFunction]:
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


def post_of(reward: RewardFunction, options: ServeOptions) -> Post:
    """A reward that is answered for by worker processes. Raises BindingError where it cannot travel to one."""
    limits = desk_limits(reward, options, options.workers)
    resident = RewardResident(reward, limits.timeout, limits.concurrency)
    return Post(reward.name, reward.version, limits, Load.of(reward, limits.max_memory, resident))


def desk_limits(reward: RewardFunction, options: ServeOptions, workers: int | None) -> DeskLimits:
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
    return DeskLimits(
        timeout=limits.timeout,
        request_timeout=options.request_timeout,
        workers=max(1, limits.workers),
        concurrency=limits.concurrency,
        max_memory=limits.max_memory,
        load_timeout=limits.load_timeout,
        max_queue=options.max_queue,
    )


def serve_here(
    options: ServeOptions,
    posts: Sequence[Post],
    listener: socket.socket | None = None,
    on_ready: Callable[[str], None] = lambda url: None,
    on_stop: Callable[[int], None] = lambda in_flight: None,
) -> Ending:
    """Serve in this thread until SIGTERM or Ctrl-C, and tell what was finished after it.

    ``on_ready`` is told the URL, ``on_stop`` how many requests are in flight. Raises KeyboardInterrupt where a second
    Ctrl-C ended the server at once.
    """
    with listener or bound(options.host, options.port) as socket_bound, new_front(options, posts) as front:
        url = url_of(options, socket_bound)
        ending = front.run(socket_bound, lambda: on_ready(url), on_stop)
    if ending.forced:
        raise KeyboardInterrupt
    return ending


@contextlib.contextmanager
def new_front(
    options: ServeOptions, posts: Sequence[Post], control: socket.socket | None = None
) -> Iterator[Front]:
    """What listens for these rewards. Raises MissingExtraError where the extra is not installed."""
    try:
        from guerdon.serve.http.access_log import Log
        from guerdon.serve.http.server import Front, Stall
    except ImportError as error:
        if error.name is not None and error.name.startswith("guerdon"):
            raise
        raise MissingExtraError.of("serve", "serving") from error
    stalls = [Stall(post.name, post.version, _hire(post, control), post.limits) for post in posts]
    with Log(form=options.log_format, every=options.access_log, quiet=options.quiet) as log:
        yield Front(options, stalls, log)


def _hire(post: Post, control: socket.socket | None) -> Callable[[], Any]:
    if post.load is not None:
        load = post.load
        return lambda: Worker(load)
    assert control is not None
    return lambda: LinkPeer(control)


def url_of(options: ServeOptions, listener: socket.socket) -> str:
    """Where a server that listens is reached."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if options.tls_cert else 'http'}://{host}:{port}"


def bound(host: str, port: int) -> socket.socket:
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
