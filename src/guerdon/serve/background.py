"""BackgroundServer: a server in a process of its own, which ends with the process that started it."""

from __future__ import annotations

import atexit
import contextlib
import select
import socket
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from guerdon.errors import CrashError, error_of_kind
from guerdon.scoring.process.descriptors import child_fds
from guerdon.serve.child_process import STOP_SECONDS, ServerProcess, ServerProgram, StopSignals
from guerdon.serve.launch import RewardSpec, bind_socket, new_server, server_url
from guerdon.serve.options import ServeOptions
from guerdon.serve.worker.in_process import InProcessHost

if TYPE_CHECKING:
    from guerdon.serve.http.server import HttpServer

_POLL = 0.2
"""Seconds between two looks at whether a signal has come."""


@dataclass(frozen=True, slots=True)
class BackgroundProgram(ServerProgram):
    """Rewards that the parent has loaded already."""

    options: ServeOptions
    specs: tuple[RewardSpec, ...]
    control_fd: int | None
    """The socket over which the parent is asked for threads that answer; None where workers do."""

    def open_server(self) -> AbstractContextManager[HttpServer]:
        control = None if self.control_fd is None else socket.socket(fileno=self.control_fd)
        return new_server(self.options, self.specs, control)

    def on_parent_gone(self, server: HttpServer) -> None:
        server.quit()


class BackgroundServer:
    """A server in a background process, which ends with this one; ``with`` stops it.

    Raises InputError where the port is taken, the error of a reward that does not load, CrashError where the
    server ended before it accepted connections.
    """

    def __init__(
        self, options: ServeOptions, specs: Sequence[RewardSpec], host: InProcessHost | None = None
    ) -> None:
        self._options, self._host = options, host
        with bind_socket(options.host, options.port) as listener, _control_of(host) as control_fd:
            self.port: int = listener.getsockname()[1]
            self.url = server_url(options, listener)
            program = BackgroundProgram(options, tuple(specs), control_fd)
            pass_fds = [] if control_fd is None else [control_fd]
            self._process = ServerProcess(program, listener, pass_fds=pass_fds)
        atexit.register(self.stop)
        try:
            self._wait_until_ready()
        except Exception:
            self.stop()
            raise
        except BaseException:
            self._process.kill()
            raise

    def _wait_until_ready(self) -> None:
        while True:
            for kind, *details in self._process.messages():
                if kind == "ready":
                    return
                if kind == "failed":
                    raise error_of_kind(*details)
                if kind == "gone":
                    raise CrashError("the server process ended before it accepted connections")

    def stop(self) -> None:
        """Finish the requests in flight, within the time there is to drain, and end."""
        atexit.unregister(self.stop)
        self._process.stop()
        self._process.wait(self._options.drain + STOP_SECONDS)
        self._process.close()
        if self._host is not None:
            self._host.join(STOP_SECONDS)

    def wait(self, signals: StopSignals) -> None:
        """Return once the server has ended: by a signal to this process, or by itself."""

        def pass_on() -> None:
            if signals.at_once:
                self._process.kill()
            else:
                self._process.stop()

        signals.on_signal = pass_on
        if signals.count:
            pass_on()
        is_gone = False
        while not is_gone:
            # With a timeout: a signal that another thread takes, or that comes just before the call, ends no wait.
            if select.select([self._process], [], [], _POLL)[0]:
                is_gone = ("gone",) in self._process.messages()
        self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


@contextlib.contextmanager
def _control_of(host: InProcessHost | None) -> Iterator[int | None]:
    """The server's end of a socket over which ``host`` is asked for threads; None where there is no host."""
    if host is None:
        yield None
        return
    host_end, server_end = socket.socketpair()
    host.listen(host_end)
    with server_end, child_fds([server_end.fileno()]) as (control_fd,):
        yield control_fd
