"""What a server needs before it can serve: its rewards with their limits, a listening socket, the HTTP server."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import get_reward_function, resolve
from guerdon.scoring.process.worker_process import WorkerProcess, WorkerSpec
from guerdon.scoring.run import RunOptions, limits_of
from guerdon.serve.dispatch.limits import DispatchLimits
from guerdon.serve.options import ServeOptions
from guerdon.serve.worker.entry import ServeWorker
from guerdon.serve.worker.in_process import InProcessHandle

if TYPE_CHECKING:
    from guerdon.serve.http.server import HttpServer

_BACKLOG = 2048


@dataclass(frozen=True, slots=True)
class RewardRef:
    """A reward to serve, by its name or path; any process can load it."""

    spec: str
    """A registered name or a path, as ``get_reward_function`` takes it."""
    name: str | None = None
    """The name to serve it under, if not its own."""
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RewardSpec:
    """What the server's process needs to know of a reward."""

    name: str
    version: str
    limits: DispatchLimits
    worker: WorkerSpec | None
    """What its workers are started with; None if the reward runs in the process that starts the server."""


def load_specs(refs: Sequence[RewardRef], options: ServeOptions) -> list[RewardSpec]:
    """Load rewards. Raises what ``get_reward_function`` raises, and InputError where two have one name."""
    rewards = []
    for ref in refs:
        reward = get_reward_function(ref.spec, **ref.parameters)
        rewards.append(reward if ref.name is None else reward.with_name(ref.name))
    return [spec_of(reward, options) for reward in resolve_rewards(rewards)]


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
    """The spec of a reward that runs in worker processes. Raises BindingError where it cannot be pickled."""
    reward.check_ready()
    if options.is_open_to_all and _runs_unconfined(reward):
        raise InputError(
            f"{reward.name} runs programs with isolation='none', and without a key anyone who reaches {options.host} "
            "could run theirs: set an API key (--api-key), or another isolation"
        )
    limits = dispatch_limits(reward, options, options.workers)
    program = ServeWorker(reward, limits.timeout, limits.concurrency)
    return RewardSpec(reward.name, reward.version, limits, WorkerSpec.of(reward, limits.max_memory, program))


def _runs_unconfined(reward: RewardFunction) -> bool:
    """Whether a reward, or a part of it, runs programs of its callers without a sandbox."""
    parts = (component.reward for component in reward.components)
    return reward.parameters.get("isolation") == "none" or any(
        _runs_unconfined(part) for part in parts if isinstance(part, RewardFunction)
    )


def dispatch_limits(reward: RewardFunction, options: ServeOptions, workers: int | None) -> DispatchLimits:
    """The limits of a served reward: the options, else what the reward declares, else the settings."""
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


@contextlib.contextmanager
def new_server(
    options: ServeOptions, specs: Sequence[RewardSpec], control: socket.socket | None = None
) -> Iterator[HttpServer]:
    """The HTTP server of these rewards. Raises MissingExtraError where the extra is not installed.

    Rewards without a worker ask over ``control`` for a thread in the process that started this one.
    """
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
    """The URL under which clients of this machine reach a listening server."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"{'https' if options.tls_cert else 'http'}://{host}:{port}"


def bind_socket(host: str, port: int) -> socket.socket:
    """A listening socket. Raises InputError where the address is taken or does not belong to this machine."""
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
