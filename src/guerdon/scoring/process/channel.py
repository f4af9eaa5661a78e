"""Channel: a socket to another process, with the page of memory that says what that process is doing."""

from __future__ import annotations

import contextlib
import socket
from types import TracebackType
from typing import Any

from guerdon.scoring.process.ipc import BrokenFrameError, FrameDecoder, StatusPage, frame

_PIECE = 1 << 18


class Ends:
    """Both ends of a channel while it is being made; what was not taken is closed."""

    def __enter__(self) -> Ends:
        self._stack = contextlib.ExitStack()
        self._ours, theirs = socket.socketpair()
        self._kept = contextlib.ExitStack()
        self._kept.enter_context(self._ours)
        self._stack.enter_context(theirs)
        self._status_file = self._stack.enter_context(StatusPage.file())
        self.theirs: tuple[int, int] = theirs.fileno(), self._status_file.fileno()
        """The file descriptors that the other process gets."""
        return self

    def take_ours(self) -> tuple[socket.socket, StatusPage]:
        """This process's end."""
        status = StatusPage(self._status_file.fileno())
        self._kept.pop_all()
        return self._ours, status

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._kept.close()


class Channel:
    """This process's end of a channel; nothing here waits."""

    def __init__(self, ours: socket.socket, status: StatusPage) -> None:
        ours.setblocking(False)
        self._socket, self._status = ours, status
        self._frames = FrameDecoder()
        self._out = bytearray()
        # Kept: a fresh one for every read would be mapped and unmapped by the system each time.
        self._buffer = memoryview(bytearray(_PIECE))

    def fileno(self) -> int:
        return self._socket.fileno()

    @property
    def wants_to_write(self) -> bool:
        """Whether a part of what was sent is still to go out."""
        return bool(self._out)

    def send(self, message: Any) -> None:
        """Queue a message; it goes out as the other end reads, so that neither end waits for the other."""
        self.send_frame(frame(message))

    def send_frame(self, data: bytes) -> None:
        """Queue a message that is a frame already."""
        self._out += data
        self.flush()

    def flush(self) -> None:
        """Write as much as the socket takes now."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._out:
                sent = self._socket.send(memoryview(self._out)[:_PIECE])
                del self._out[:sent]

    def receive(self) -> list[Any] | None:
        """The messages that have come; None once the other end is gone and all has been read.

        Raises BrokenFrameError, with the messages that came before it.
        """
        messages: list[Any] = []
        while True:
            try:
                count = self._socket.recv_into(self._buffer)
            except BlockingIOError:
                return messages
            except ConnectionResetError:
                count = 0
            if not count:
                return messages or None
            try:
                messages.extend(self._frames.feed(self._buffer[:count]))
            except BrokenFrameError as error:
                error.messages = messages
                raise
            if count < _PIECE:  # that was all; for what comes now the socket becomes readable anew
                return messages

    def running(self) -> tuple[int, float]:
        """The first index of the unit that runs, or IDLE, and since when (time.monotonic)."""
        return self._status.running()

    def item(self) -> int:
        """Which item of the call that runs."""
        return self._status.item()

    def last_beat(self) -> float:
        """When the event loop at the other end last turned (time.monotonic)."""
        return self._status.last_beat()

    def close(self) -> None:
        """Give back what is held here."""
        self._socket.close()
        self._status.close()
