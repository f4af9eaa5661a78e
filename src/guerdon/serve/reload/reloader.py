"""Reload: when the files of its rewards change, a server loads them again without refusing a request.

The process that watches the files holds the listening socket and runs no code of the rewards. Each server is a
process of its own on that socket. A change starts another one; once it is ready, the one before finishes its requests
and ends.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from guerdon.errors import CrashError, error_of_kind
from guerdon.serve.child_process import STOP_SECONDS, ServerProcess, ServerProgram, StopSignals
from guerdon.serve.launch import RewardRef, RewardSpec, bind_socket, load_specs, new_server, server_url
from guerdon.serve.options import ServeOptions
from guerdon.serve.reload.file_watch import FileWatch, Stamp, watched_files
from guerdon.serve.shutdown_report import ShutdownReport

if TYPE_CHECKING:
    from guerdon.serve.http.server import HttpServer

_POLL = 0.1


@dataclass(frozen=True, slots=True)
class ReloadCallbacks:
    """What a server that reloads calls as its state changes."""

    ready: Callable[[str, Sequence[RewardSpec]], None]
    """With the URL and the rewards, once requests are answered."""
    reloaded: Callable[[Sequence[RewardSpec]], None]
    """With the rewards, once a change is served."""
    failed: Callable[[str], None]
    """With the reason why a change is not served."""
    stopping: Callable[[int], None]
    """With the number of requests in flight when the server is asked to stop."""


@dataclass(slots=True)
class ReloadProgram(ServerProgram):
    """Rewards that the server's process loads, so that a change is loaded by a new process."""

    options: ServeOptions
    refs: tuple[RewardRef, ...]
    _specs: Sequence[RewardSpec] = field(default=(), init=False)

    @contextlib.contextmanager
    def open_server(self) -> Iterator[HttpServer]:
        self._specs = load_specs(self.refs, self.options)
        with new_server(self.options, self._specs) as server:
            yield server

    def on_parent_gone(self, server: HttpServer) -> None:
        server.stop()

    def ready_details(self) -> tuple[Sequence[RewardSpec], Mapping[str, Stamp]]:
        # Without the reward itself, which only the workers load.
        return [replace(spec, worker=None) for spec in self._specs], watched_files()

    def failure_details(self, error: BaseException) -> tuple[Mapping[str, Stamp]]:
        return (watched_files(error),)


def serve_reloading(
    options: ServeOptions,
    refs: Sequence[RewardRef],
    callbacks: ReloadCallbacks,
    listener: socket.socket | None = None,
) -> ShutdownReport:
    """Serve until SIGTERM or Ctrl-C, and load the rewards again when one of their files changes.

    The files are those of the rewards and of all modules that they import, without installed packages. If new code
    fails to load, the previous version keeps serving. Raises the error for which the rewards do not load at the
    start, CrashError if the server ends by itself, KeyboardInterrupt after a second Ctrl-C.
    """
    with listener or bind_socket(options.host, options.port) as socket_bound:
        return Reloader(options, refs, callbacks, socket_bound).run()


class Reloader:
    """Starts a server process for each change, and ends the one before."""

    def __init__(
        self,
        options: ServeOptions,
        refs: Sequence[RewardRef],
        callbacks: ReloadCallbacks,
        listener: socket.socket,
    ) -> None:
        self._options, self._callbacks, self._listener = options, callbacks, listener
        self._program = ReloadProgram(options, tuple(refs))
        self._url = server_url(options, listener)
        self._current: ServerProcess | None = None
        self._next: ServerProcess | None = None
        self._leaving: list[ServerProcess] = []
        self._replaced: tuple[ServerProcess, Sequence[RewardSpec]] | None = None
        """The server that was replaced and still accepts connections, and what replaces it."""
        self._watch = FileWatch()
        self._signals = StopSignals()
        self._reports: list[ShutdownReport] = []

    def run(self) -> ShutdownReport:
        with self._signals:
            try:
                self._next = self._start()
                while not self._signals.count:
                    self._step()
                return self._stop()
            finally:
                for server in self._servers():
                    server.close()

    def _servers(self) -> list[ServerProcess]:
        return [each for each in (self._current, self._next, *self._leaving) if each is not None]

    def _start(self) -> ServerProcess:
        # What a reward prints when it is imported goes to standard error.
        return ServerProcess(self._program, self._listener, stdout=2)

    def _step(self) -> None:
        """Handle what the servers report, and look at the files."""
        self._receive()
        if self._watch.changed():
            if self._next is not None:
                self._next.close()
            self._next = self._start()

    def _receive(self) -> None:
        servers = self._servers()
        readable, _, _ = select.select(servers, [], [], _POLL)
        for server in servers:
            if server in readable:
                for kind, *details in server.messages():
                    self._handle(server, kind, details)

    def _handle(self, server: ServerProcess, kind: str, details: list[Any]) -> None:
        if kind == "ready" and server is self._next:
            self._replace_with(server, *details)
        elif kind == "failed" and server is self._next:
            self._failed(*details)
        elif kind == "stopping" and server in self._leaving:
            self._left(server)
        elif kind == "stopping":
            self._callbacks.stopping(*details)
        elif kind == "ended":
            self._reports += details if server not in self._leaving else ()
        elif kind == "gone":
            self._gone(server)

    def _replace_with(
        self, server: ServerProcess, specs: Sequence[RewardSpec], files: Mapping[str, Stamp]
    ) -> None:
        before, self._current, self._next = self._current, server, None
        self._watch.set(files, since=server.started)
        if before is None:
            self._callbacks.ready(self._url, specs)
        else:
            before.hand_over()
            self._leaving.append(before)
            self._replaced = before, specs

    def _left(self, server: ServerProcess) -> None:
        """Report a change once the server that it replaced accepts no more connections."""
        if self._replaced is not None and self._replaced[0] is server:
            (_, specs), self._replaced = self._replaced, None
            self._callbacks.reloaded(specs)

    def _failed(self, kind: str, message: str, files: Mapping[str, Stamp]) -> None:
        if self._current is None:
            raise error_of_kind(kind, message)
        assert self._next is not None
        self._watch.add(files, since=self._next.started)
        self._next.close()
        self._next = None
        self._callbacks.failed(message)

    def _gone(self, server: ServerProcess) -> None:
        server.close()
        if server in self._leaving:
            self._left(server)
            self._leaving.remove(server)
        elif server is self._next:
            self._failed(CrashError.kind, "the server process ended while it loaded the rewards", {})
        elif server is self._current:
            self._current = None
            if not self._signals.count:
                raise CrashError("the server process ended by itself")

    def _stop(self) -> ShutdownReport:
        self._listener.close()
        if self._next is not None:
            self._next.close()
            self._next = None
        for server in self._servers():
            server.stop()
        until = time.monotonic() + self._options.drain + STOP_SECONDS
        while self._servers() and time.monotonic() < until:
            self._signals.raise_if_at_once()
            self._receive()
        return sum(self._reports, ShutdownReport())
