"""BackgroundServer: a server in a process of its own, beside the one that started it."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any, Self

from guerdon.errors import CrashError, error_of_kind, kind_of
from guerdon.scoring.process.ipc import FrameDecoder, frame
from guerdon.serve.options import ServeOptions
from guerdon.serve.run import RewardSpec, bind_socket, new_server, server_url
from guerdon.serve.worker.in_process import ABANDON, SERVE, InProcessHost

_BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[2]); "
    "from guerdon.serve.background import main; main(int(sys.argv[1]))"
)
_READY, _FAILED, _STOP = b"r", b"e", b"x"
_SLACK = 10.0
"""Seconds that a server may take to end beyond those in which it drains."""
_PIECE = 1 << 18


class BackgroundServer:
    """A server beside this process, with which it ends; ``with`` stops it.

    Raises InputError where the port is taken, the error of a reward that does not load, CrashError where the
    server ended before it accepted connections.
    """

    def __init__(
        self, options: ServeOptions, specs: Sequence[RewardSpec], host: InProcessHost | None = None
    ) -> None:
        self._options, self._host = options, host
        self._told = threading.Event()
        self._error: Exception | None = None
        with bind_socket(options.host, options.port) as listener:
            self.port: int = listener.getsockname()[1]
            self.url = server_url(options, listener)
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = _start(theirs)
            self._link = ours
            socket.send_fds(ours, [_READY], [listener.fileno()])
            ours.sendall(frame((options, tuple(specs))))
        threading.Thread(target=self._listen, name="guerdon-server", daemon=True).start()
        atexit.register(self.stop)
        self._told.wait()
        if self._error is not None:
            self.stop()
            raise self._error

    def _listen(self) -> None:
        """Do what the server asks for, and note what it says."""
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(self._link, 1, 2)
            except OSError:
                data, descriptors = b"", []
            if data == SERVE and self._host is not None:
                self._host.answer_on(*descriptors)
            elif data == ABANDON and self._host is not None:
                self._host.abandon()
            elif data == _READY:
                self._told.set()
            elif data == _FAILED:
                self._error = _read_error(self._link)
                self._told.set()
            else:
                break
        if not self._told.is_set():
            self._error = CrashError("the server process ended before it accepted connections")
            self._told.set()

    def stop(self) -> None:
        """Finish what is in flight, within the time there is to drain, and end."""
        atexit.unregister(self.stop)
        with contextlib.suppress(OSError):
            self._link.sendall(_STOP)
        try:
            self._process.wait(self._options.drain + _SLACK)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._host is not None:
            self._host.join(_SLACK)
        self._link.close()

    def wait(self, signals: Signals) -> None:
        """Return once the server has ended: by a signal to this process, or by itself."""
        signals.pass_on_to(self._process)
        self._process.wait()
        self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    path = [entry or os.getcwd() for entry in sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, str(theirs.fileno()), json.dumps(path)],
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        start_new_session=True,  # Ctrl-C goes to the process that was started by hand, which passes it on
    )


class Signals:
    """SIGTERM and Ctrl-C for a server, caught from before it is started, where this is the thread that gets them."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._caught: list[int] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._catch)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_on_to(self, process: subprocess.Popen[bytes]) -> None:
        """Hand on what comes, and what has come already."""
        self._process = process
        if self._caught:
            self._tell()

    def _catch(self, number: int, frame: Any) -> None:
        self._caught.append(number)
        if self._process is not None:
            self._tell()
        elif self._caught.count(signal.SIGINT) > 1:
            raise KeyboardInterrupt  # it does not start, and is not waited for

    def _tell(self) -> None:
        assert self._process is not None
        at_once = self._caught.count(signal.SIGINT) > 1
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL if at_once else signal.SIGTERM)


def _read_error(link: socket.socket) -> Exception:
    frames = FrameDecoder()
    while data := link.recv(_PIECE):
        for kind, message in frames.feed(data):
            return error_of_kind(kind, message)
    return CrashError("the server process ended before it accepted connections")


def main(fd: int) -> None:
    """The whole life of the process that listens; what it serves comes over the socket."""
    link = socket.socket(fileno=fd)
    _, (listener_fd,), _, _ = socket.recv_fds(link, 1, 1)
    frames = FrameDecoder()
    messages: list[Any] = []
    while not messages:
        if not (data := link.recv(_PIECE)):
            return
        messages.extend(frames.feed(data))
    options, specs = messages[0]
    ready = threading.Event()

    def tell() -> None:
        ready.set()
        link.sendall(_READY)

    try:
        with socket.socket(fileno=listener_fd) as listener, new_server(options, specs, link) as server:
            threading.Thread(target=_stop_with, args=(link, server), daemon=True).start()
            server.run(listener, tell)
    except Exception as error:  # the edge: it is for the process that waits for this one
        if ready.is_set():
            raise
        with contextlib.suppress(OSError):
            link.sendall(_FAILED + frame((kind_of(error), str(error))))


def _stop_with(link: socket.socket, server: Any) -> None:
    """Stop when the process that started this one says so, or is gone."""
    told = b""
    with contextlib.suppress(OSError):
        told = link.recv(1)
    if told:
        server.stop()
    else:
        server.quit()
