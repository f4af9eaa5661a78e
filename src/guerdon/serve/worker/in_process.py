"""A reward that answers in the process which started the server, not in a worker of the server's own.

A RewardServer is an object of its user's: it may hold a loaded model or a connection, and there is one of it. So it
stays where it was made and answers on an event loop in a thread, while the server listens in a process of its own,
whose health checks no reward can block.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

from guerdon.errors import CrashError
from guerdon.reward.function import RewardFunction
from guerdon.scoring.process.channel import Channel, Ends
from guerdon.scoring.process.ipc import FrameDecoder, StatusPage
from guerdon.serve.runtime import uvloop_factory
from guerdon.serve.worker.entry import ServeWorker
from guerdon.serve.worker.handler import RequestHandler

log = logging.getLogger("guerdon.serve")

_GRACE = 0.2
SERVE, ABANDON = b"s", b"a"
"""What the process that listens asks of the one that started it."""


class _Abandoned(BaseException):
    """Raised in the midst of a call that overran; not an Exception, which a reward might take for its own."""


@contextlib.contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop that waits at its end only a moment for those who refuse to be cancelled."""
    loop = (uvloop_factory() or asyncio.new_event_loop)()
    loop.set_exception_handler(_complain)
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()


def _complain(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    # The abandoned call and what its loop left behind have been logged.
    if not isinstance(context.get("exception"), _Abandoned) and not loop.is_closed():
        loop.default_exception_handler(context)


class InProcessHandle(Channel):
    """The server's end: asks the process that started it for a thread that answers."""

    def __init__(self, control: socket.socket) -> None:
        self.ready = False
        self.baseline = 0
        self._control = control
        self._alive = True
        with Ends() as ends:
            try:
                socket.send_fds(control, [SERVE], list(ends.theirs))
            except OSError as error:
                raise CrashError("the process that started the server is gone") from error
            super().__init__(*ends.take_ours())

    def receive(self) -> list[object] | None:
        messages = super().receive()
        self._alive = messages is not None
        return messages

    def resident_bytes(self) -> int | None:
        """Unknown: the process has memory of its own concern."""
        return None

    def is_alive(self) -> bool:
        return self._alive

    def kill(self) -> None:
        """Have the call that runs abandoned: what interrupts it is raised there, and a new thread takes over."""
        try:
            self._control.send(ABANDON)
        except OSError:  # that process is gone, and this one is about to be
            return

    def cause_of_death(self) -> str:
        """How it ended, in words."""
        return "ended"


class InProcessHost:
    """The reward's end: the thread that answers the server's calls."""

    def __init__(self, reward: RewardFunction, timeout: float, concurrency: int) -> None:
        self._reward = reward
        self._program = ServeWorker(reward, timeout, concurrency)
        self._answering: threading.Thread | None = None

    def listen(self, control: socket.socket) -> None:
        """Do what the server's process asks for over ``control`` until it ends, in a thread of its own."""
        threading.Thread(target=self._listen, args=(control,), name="guerdon-server", daemon=True).start()

    def _listen(self, control: socket.socket) -> None:
        with control:
            while True:
                try:
                    order, descriptors, _, _ = socket.recv_fds(control, 1, 2)
                except OSError:
                    return
                if order == SERVE:
                    self.answer_on(*descriptors)
                elif order == ABANDON:
                    self.abandon()
                else:
                    return

    def answer_on(self, fd: int, status_fd: int) -> None:
        """Have a new thread answer what comes over a channel."""
        thread = threading.Thread(
            target=self._answer, args=(fd, status_fd), name="guerdon-reward", daemon=True
        )
        self._answering = thread
        thread.start()

    def _answer(self, fd: int, status_fd: int) -> None:
        status_page = StatusPage(status_fd)
        os.close(status_fd)  # the page stays mapped
        try:
            with socket.socket(fileno=fd) as connection, _loop() as loop:
                handler = RequestHandler(self._reward, status_page)
                loop.run_until_complete(self._program.serve(handler, connection, FrameDecoder(), []))
        except _Abandoned:
            return

    def abandon(self) -> None:
        """Interrupt what the thread is doing; what cannot be interrupted is left behind."""
        thread = self._answering
        if thread is not None and thread.is_alive() and thread.ident is not None:
            log.error("%s overran its deadline; the thread that it ran in is left behind", self._reward.name)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned)
            )

    def join(self, timeout: float) -> None:
        """Wait for the thread to end, its clean-up included."""
        if self._answering is not None:
            self._answering.join(timeout)
