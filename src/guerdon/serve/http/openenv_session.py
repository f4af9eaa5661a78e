"""One OpenEnv client on a WebSocket: its messages have no id, so each is answered before the next is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol

from guerdon.serve.formats import FORMATS
from guerdon.serve.formats.openenv import TYPES, OpenEnvCodec, OpenEnvFormat, SessionCommand
from guerdon.serve.http.replies import HttpReply
from guerdon.serve.http.websocket_frames import NORMAL
from guerdon.serve.json_reading import TooManyValuesError, read_bounded_json

_FORMAT = next(index for index, format in enumerate(FORMATS) if isinstance(format, OpenEnvFormat))


class SessionSocket(Protocol):
    """The WebSocket of a session."""

    def send_text(self, text: bytes) -> None:
        """Send a text frame."""

    def close(self, reason: str, code: int) -> None:
        """Close the connection."""

    def score(self, body: bytes, choice: tuple[int, str], on_reply: Callable[[HttpReply], None]) -> None:
        """Start a request in one format; ``on_reply`` is called with its reply."""


class OpenEnvSession:
    """Answers the messages of one client in their order."""

    def __init__(self, socket: SessionSocket) -> None:
        self._socket = socket
        self._codec = OpenEnvCodec()
        self._messages: deque[bytes] = deque()
        self._busy = False
        self._waiting_bytes = 0

    @property
    def waiting(self) -> int:
        """Messages that wait for those before them."""
        return len(self._messages)

    @property
    def waiting_bytes(self) -> int:
        """What these messages take."""
        return self._waiting_bytes

    def receive(self, payload: bytes) -> None:
        """Take a text frame."""
        self._messages.append(payload)
        self._waiting_bytes += len(payload)
        self._handle_messages()

    def _handle_messages(self) -> None:
        while self._messages and not self._busy:
            message = self._messages.popleft()
            self._waiting_bytes -= len(message)
            command = self._codec.receive(message)
            if command.answer is not None:
                self._socket.send_text(command.answer)
            elif command.op == "close":
                self._messages.clear()
                self._waiting_bytes = 0
                self._socket.close("", NORMAL)
            else:
                self._busy = True
                self._socket.score(command.body, (_FORMAT, command.op), partial(self._on_reply, command))

    def _on_reply(self, command: SessionCommand, reply: HttpReply) -> None:
        self._busy = False
        self._socket.send_text(self._codec.answer(command, reply.status, reply.body))
        self._handle_messages()


def is_openenv_message(payload: bytes) -> bool:
    """Whether a text frame is a message of OpenEnv.

    >>> is_openenv_message(b'{"type": "reset"}'), is_openenv_message(b'{"id": 1, "turns": []}')
    (True, False)
    """
    try:
        value = read_bounded_json(payload)
    except TooManyValuesError:  # the session refuses it
        return True
    except ValueError:
        return False
    kind = value.get("type") if isinstance(value, dict) else None
    return isinstance(kind, str) and kind in TYPES
