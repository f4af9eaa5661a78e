"""Server processes: what starts and stops one, and what runs in it.

The parent holds the listening socket and starts a child on it; one more socket, the link, joins the two. The first
frame over the link is a ServerProgram, which says what to serve. Then the child sends ``ready`` or ``failed``, later
``stopping`` and ``ended``, and the parent sends ``stop`` or ``hand over``. A child whose parent is gone stops too.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from guerdon.errors import RewardError, kind_of
from guerdon.scoring.process.descriptors import child_fds, output_stream
from guerdon.scoring.process.ipc import FrameDecoder, frame

if TYPE_CHECKING:
    from guerdon.serve.http.server import HttpServer

STOP_SECONDS = 10.0
"""How long a server may take to end beyond the time in which it drains."""
_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[3]); "
    "from guerdon.serve.child_process import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)
_CHUNK_BYTES = 1 << 18
_STOP, _HAND_OVER = "stop", "hand over"


class ServerProgram(ABC):
    """What a server process serves; it is pickled into the process."""

    @abstractmethod
    def open_server(self) -> AbstractContextManager[HttpServer]:
        """Load the rewards and create their server. Raises the error for which it cannot start."""

    @abstractmethod
    def on_parent_gone(self, server: HttpServer) -> None:
        """End the server, since the process that started it ended first."""

    def ready_details(self) -> tuple[Any, ...]:
        """What is sent with ``ready``."""
        return ()

    def failure_details(self, error: BaseException) -> tuple[Any, ...]:
        """What is sent with ``failed``, after the kind and the message."""
        return ()


# In the parent.


class ServerProcess:
    """A server process, as the process that started it sees it."""

    def __init__(
        self,
        program: ServerProgram,
        listener: socket.socket,
        *,
        pass_fds: Sequence[int] = (),
        stdout: int = 1,
    ) -> None:
        self.started = time.time_ns()
        self._frames = FrameDecoder()
        message = frame(program)
        self._link, child_end = socket.socketpair()
        with child_end, child_fds((child_end.fileno(), listener.fileno())) as numbers:
            path = [entry or os.getcwd() for entry in sys.path]
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, *map(str, numbers), json.dumps(path)],
                stdin=subprocess.DEVNULL,
                stdout=output_stream(stdout),
                stderr=output_stream(2),
                pass_fds=(*numbers, *pass_fds),
                start_new_session=True,  # Ctrl-C goes to the parent, which passes it on
            )
        self._send(message)

    def fileno(self) -> int:
        """The link's descriptor, to wait for messages with ``select``."""
        return self._link.fileno()

    def messages(self) -> list[tuple[Any, ...]]:
        """Wait for the next messages; ``("gone",)`` once the process has ended."""
        try:
            data = self._link.recv(_CHUNK_BYTES)
        except OSError:
            data = b""
        return list(self._frames.feed(data)) if data else [("gone",)]

    def stop(self) -> None:
        """Ask it to drain and end."""
        self._send(frame(_STOP))

    def hand_over(self) -> None:
        """Ask it to end, since another process accepts the connections from now on."""
        self._send(frame(_HAND_OVER))

    def _send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # it has ended, which ``messages`` says
            self._link.sendall(data)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for its end; False where it still runs after ``timeout`` seconds."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """End it at once, without waiting, as a signal handler must."""
        self._process.kill()

    def close(self) -> None:
        """Kill it where it still runs, and free what it holds in this process."""
        self._process.kill()
        self._process.wait()
        self._link.close()


class StopSignals:
    """SIGTERM and Ctrl-C for a server, caught where this is the main thread, from before the server starts."""

    def __init__(self) -> None:
        self.count = 0
        self.at_once = False
        """Whether a Ctrl-C followed another signal, which means: do not drain."""
        self.on_signal: Callable[[], None] | None = None
        """Called for each of them."""
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._previous[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def raise_if_at_once(self) -> None:
        """Raise KeyboardInterrupt after a second Ctrl-C."""
        if self.at_once:
            raise KeyboardInterrupt

    def _catch(self, number: int, frame: Any) -> None:
        self.at_once = self.at_once or (self.count > 0 and number == signal.SIGINT)
        self.count += 1
        if self.on_signal is not None:
            self.on_signal()


# In the child.


class ParentLink:
    """The child's end of the link."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._frames = FrameDecoder()
        self._received: deque[Any] = deque()

    def messages(self) -> Iterator[Any]:
        """What the parent sends, until it is gone."""
        while True:
            while self._received:
                yield self._received.popleft()
            try:
                data = self._link.recv(_CHUNK_BYTES)
            except OSError:
                return
            if not data:
                return
            self._received.extend(self._frames.feed(data))

    def send(self, *message: Any) -> None:
        """Send a message; nothing happens where the parent is gone, for ``messages`` ends then."""
        with contextlib.suppress(OSError):
            self._link.sendall(frame(message))

    def serve(self, program: ServerProgram, listener: socket.socket) -> None:
        """Serve until the parent asks to stop or is gone, and report how that goes."""
        is_ready = False

        def on_ready() -> None:
            nonlocal is_ready
            is_ready = True
            self.send("ready", *program.ready_details())

        try:
            with program.open_server() as server:
                threading.Thread(target=self._obey, args=(program, server), daemon=True).start()
                report = server.run(listener, on_ready, lambda in_flight: self.send("stopping", in_flight))
            self.send("ended", report)
        except (Exception, SystemExit) as error:  # the edge: the parent raises it
            if is_ready:
                raise
            message = str(error) if isinstance(error, RewardError) else f"{type(error).__name__}: {error}"
            self.send("failed", kind_of(error), message, *program.failure_details(error))

    def _obey(self, program: ServerProgram, server: HttpServer) -> None:
        stops = False
        for order in self.messages():
            if order == _HAND_OVER:
                server.hand_over()
            else:
                stops = True
                server.stop()
        if not stops:
            program.on_parent_gone(server)


def main(link_fd: int, listener_fd: int) -> None:
    """Run a server process: serve what comes over the link ``link_fd`` on the socket ``listener_fd``."""
    with socket.socket(fileno=link_fd) as link, socket.socket(fileno=listener_fd) as listener:
        parent = ParentLink(link)
        program = next(parent.messages(), None)
        if program is not None:
            parent.serve(program, listener)
