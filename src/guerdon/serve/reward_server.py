"""RewardServer, the class in which Adaptive's users write a reward."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, Self

from pydantic import BaseModel, ValidationError

from guerdon.checks import reason_of
from guerdon.errors import InputError
from guerdon.reward.function import RewardFunction
from guerdon.serve.models import (
    BatchedResponse,
    MetadataT,
    Response,
    ServerInfo,
    Turn,
    ValidatedBatchedRequest,
    ValidatedRequest,
)
from guerdon.types import Message

if TYPE_CHECKING:
    from guerdon.serve.background import BackgroundServer

_LISTENING = {"port", "blocking", "_running", "_made_with"}
_detached: ContextVar[bool] = ContextVar("guerdon_detached", default=False)


class RewardServer(ABC, Generic[MetadataT]):
    """A reward as a class, generic over its metadata class: subclasses give ``score`` and ``info``.

    The constructor listens on ``port`` of ``host``, by default of this machine alone, and returns when the server
    is stopped; with ``blocking=False`` it returns once connections are accepted, and ``stop()`` ends the server.
    ``port=0`` takes a free one, which ``port`` then says. ``score`` runs on an event loop of its own in this
    process, many calls at once where it awaits; the server listens in a background process, so that a ``score``
    which does not yield delays neither ``/info`` nor the health checks. A call that overruns ``timeout`` is
    answered 504 and interrupted; code that cannot be interrupted is left behind in its thread. With
    ``workers=N`` the class is created in N processes with the same arguments, and a call that overruns is killed.

    ``options`` are those of ``guerdon.serve.options.ServeOptions``: ``host``, ``api_key``, ``allow_anonymous``,
    ``timeout``, ``drain``, ``journal``, …; ``verbose`` and ``request_timeout_s`` are Adaptive's words for
    ``access_log`` and ``request_timeout``. Raises InputError where the port is taken or the host is reached by
    others and there is no key.

    >>> from guerdon import EmptyMetadata, RewardFunction, Sample
    >>> class Short(RewardServer[EmptyMetadata]):
    ...     def __init__(self, port: int = 8000, blocking: bool = True, **kwargs):
    ...         super().__init__(port, EmptyMetadata, blocking, **kwargs)
    ...     async def score(self, request):
    ...         return Response(reward=len(request.turns[-1].content) < 9)
    ...     async def info(self):
    ...         return ServerInfo(version="1", name="short", description="Short answers.")
    >>> server = Short(port=0, blocking=False)
    >>> server.stop()

    A subclass is a reward like any other, too: ``guerdon.score(Short, rows)`` and
    ``RewardFunction(MyServer, db_base_path="dbs")`` score with it in place, the conversation as turns, the other
    columns as metadata.

    >>> sample = Sample(messages=[{"role": "assistant", "content": "4"}])
    >>> RewardFunction(Short).evaluate(sample).score
    1.0
    """

    allow_any_ending: bool = False
    """Whether requests are scored whose last turn is not the assistant's; they are malformed otherwise."""
    _made_with: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        made = super().__new__(cls)
        made._made_with = args, kwargs
        return made

    def __init__(
        self,
        port: int,
        metadata_cls: type[MetadataT],
        blocking: bool = True,
        *,
        workers: int | None = None,
        verbose: bool = False,
        request_timeout_s: float | None = None,
        **options: Any,
    ) -> None:
        self.port = port
        self.metadata_cls = metadata_cls
        self.blocking = blocking
        self._running: BackgroundServer | None = None
        if _detached.get():
            return
        if verbose:
            options.setdefault("access_log", True)
        if request_timeout_s is not None:
            options.setdefault("request_timeout", request_timeout_s)
        if not blocking:
            self._start(workers, options)
            return
        from guerdon.serve.child_process import StopSignals
        from guerdon.serve.runtime import tune_gc

        with StopSignals() as signals:
            signals.on_signal = signals.raise_if_at_once
            running = self._start(workers, options)
            tune_gc()
            running.wait(signals)

    def _start(self, workers: int | None, options: dict[str, Any]) -> BackgroundServer:
        from guerdon.serve.background import BackgroundServer
        from guerdon.serve.launch import RewardSpec, dispatch_limits, spec_of
        from guerdon.serve.options import ServeOptions
        from guerdon.serve.worker.in_process import InProcessHost

        known = ServeOptions.of({**options, "port": self.port, "workers": workers or None})
        if workers:
            arguments = _constructed(type(self), *self._made_with)
            made_anew = RewardFunction.of_target(type(self), arguments)
            self._running = BackgroundServer(known, [spec_of(made_anew, known)])
        else:
            reward = RewardFunction(self, name=type(self).__name__)
            limits = dispatch_limits(reward, known, 1)
            host = InProcessHost(reward, limits.timeout, limits.concurrency)
            self._running = BackgroundServer(
                known, [RewardSpec(reward.name, reward.version, limits, None)], host
            )
        self.port = self._running.port
        return self._running

    @property
    def url(self) -> str | None:
        """Where the server is reached; None where it does not listen."""
        return None if self._running is None else self._running.url

    def stop(self) -> None:
        """Finish what is in flight and end the server; nothing happens where it does not listen."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def __getstate__(self) -> dict[str, Any]:
        # What it is, without where and how it listens; the version is drawn from this too.
        return {name: value for name, value in self.__dict__.items() if name not in _LISTENING}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, port=0, blocking=False, _running=None)

    @classmethod
    def detached(cls, *args: Any, **kwargs: Any) -> Self:
        """An instance that does not listen, to score with in place."""
        token = _detached.set(True)
        try:
            return cls(*args, **kwargs)
        finally:
            _detached.reset(token)

    @abstractmethod
    async def score(self, request: ValidatedRequest[MetadataT]) -> Response:
        """The reward of one sample."""

    @abstractmethod
    async def info(self) -> ServerInfo:
        """The server's description; called once, when it starts."""

    async def batch_score(self, requests: ValidatedBatchedRequest[MetadataT]) -> BatchedResponse:
        """The responses to several requests, in order; override it where they are better scored together.

        Where an override raises, each request of the batch is scored alone.
        """
        return BatchedResponse(responses=await asyncio.gather(*map(self.score, requests.requests)))

    def overrides_batch_score(self) -> bool:
        """Whether the subclass has a ``batch_score`` of its own."""
        return type(self).batch_score is not RewardServer.batch_score

    def setup(self) -> Awaitable[None] | None:
        """Override to open what scoring needs; called on the loop that scores, before the first request.

        May be async. It is called again where a call that overran had to be left behind with its loop.
        """
        return None

    def cleanup(self) -> Awaitable[None] | None:
        """Override to close what ``setup`` opened; called when the server stops, after the last request."""
        return None

    def make_request(
        self, messages: list[Message], metadata: Mapping[str, Any]
    ) -> ValidatedRequest[MetadataT]:
        """The request for a conversation. Raises InputError where the metadata does not fit."""
        try:
            checked = self.metadata_cls.model_validate(dict(metadata))
        except ValidationError as error:
            raise InputError(f"metadata.{reason_of(error)}") from None
        turns = [Turn(role=message.role, content=message.text) for message in messages]
        return ValidatedRequest[BaseModel].model_construct(turns=turns, metadata=checked)  # type: ignore[return-value]


def _constructed(
    cls: type[RewardServer[Any]], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments that a server was made with, but for those that say where and how it listens."""
    signature = inspect.signature(cls)
    bound = signature.bind(*args, **kwargs).arguments
    kept = {
        name: value
        for name, value in bound.items()
        if signature.parameters[name].kind
        not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    }
    for name in ("port", "blocking"):
        if name in kept and signature.parameters[name].default is not inspect.Parameter.empty:
            del kept[name]
    return kept
