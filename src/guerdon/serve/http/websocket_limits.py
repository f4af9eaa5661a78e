"""WebSocketLimits: for how long, and with how much, a WebSocket may occupy the server without a message of use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Protocol

from guerdon.serve.http.admission import AdmissionControl
from guerdon.serve.http.api_keys import KeyCheck
from guerdon.serve.http.memory_budget import FREE_BYTES
from guerdon.serve.http.replies import HeaderPairs
from guerdon.serve.http.websocket_frames import POLICY, TRY_AGAIN, FrameError

ARRIVAL_SECONDS = 60.0
"""How long a message may take to arrive."""
UNREAD_SECONDS = 60.0
"""How long a client may take nothing of what is written to it."""
CONTROL_FRAMES = 1000
"""Pings and pongs of one socket in ``_CONTROL_SECONDS``; who sends more is closed."""
_CONTROL_SECONDS = 10.0


class _ArrivingMessage(Protocol):
    @property
    def held(self) -> int: ...
    @property
    def is_amid(self) -> bool: ...


class WebSocketLimits:
    """Watches one socket.

    ``close`` closes it with a code and a reason; ``give_up`` does and has it read nothing any more.
    """

    def __init__(
        self,
        admission: AdmissionControl,
        headers: HeaderPairs,
        message: _ArrivingMessage,
        transport: asyncio.Transport,
        close: Callable[[int, str], None],
        give_up: Callable[[int, str], None],
    ) -> None:
        self._admission, self._headers, self._message = admission, headers, message
        self._transport, self._close, self._give_up = transport, close, give_up
        self._keys_generation = admission.keys.generation
        self._arriving_since: float | None = None
        self._is_holder = False
        self._unread_since: float | None = None
        self._unread_bytes = 0
        self._control_frames, self._control_since = 0, 0.0
        self._in_flight = 0

    def check_key(self) -> None:
        """Close the socket if its caller's key was revoked."""
        keys = self._admission.keys
        if (generation := keys.generation) == self._keys_generation:
            return
        self._keys_generation = generation
        if keys.check(self._headers) is not KeyCheck.OK:
            self._close(POLICY, "the API key is no longer valid")

    def count_control_frame(self) -> None:
        """Count a ping or a pong. Raises FrameError for a flood: each takes as long as a message of use."""
        now = monotonic()
        if now - self._control_since > _CONTROL_SECONDS:
            self._control_frames, self._control_since = 0, now
        self._control_frames += 1
        if self._control_frames > CONTROL_FRAMES:
            raise FrameError(POLICY, "too many pings and pongs")

    # A message that is on its way.

    def on_message(self) -> None:
        """Messages became whole; what is there besides begins another."""
        self._arriving_since = None

    def account(self) -> None:
        """Note what is held of a message that is not whole, and since when."""
        message = self._message
        if not message.is_amid:
            self.release()
            return
        if self._arriving_since is None:
            self.release()  # another message than was counted, and the youngest of all
            self._arriving_since = monotonic()
        if (held := message.held) > FREE_BYTES:
            self._is_holder = True
            self._admission.buffered.hold(self, held)

    def release(self) -> None:
        """Nothing is on its way any more."""
        self._arriving_since = None
        if self._is_holder:
            self._is_holder = False
            self._admission.buffered.let_go(self)

    def evict(self) -> None:
        """Give the message up, since the server has no more memory for such."""
        self._is_holder = False
        self._give_up(TRY_AGAIN, "too much is arriving at once, and this message takes longest; try again")

    # Messages that wait for their answers.

    @property
    def counts_in_flight(self) -> bool:
        """Whether messages in flight are counted: those that take more than any socket may hold."""
        return self._in_flight > 0

    def account_in_flight(self, size: int) -> bool:
        """Note how many bytes wait for answers; whether there is room for them."""
        counted = size if size > FREE_BYTES else 0
        more = counted - self._in_flight
        if more > 0 and not self._admission.buffered.take(more):
            return False
        if more < 0:
            self._admission.buffered.release(-more)
        self._in_flight = counted
        return True

    # What takes too long.

    def on_unread(self, waits: bool) -> None:
        """The client has begun, or has ended, to leave unread what is written to it."""
        self._unread_since = monotonic() if waits else None
        self._unread_bytes = self._transport.get_write_buffer_size()

    def sweep(self, now: float, paused: bool) -> None:
        """Close a socket that is over a limit; ``paused`` says that it is the server that does not read."""
        if self._transport.is_closing():
            return
        self.check_key()
        if self._unread_since is not None:
            waiting = self._transport.get_write_buffer_size()
            if waiting < self._unread_bytes:
                self._unread_since = now
            self._unread_bytes = waiting
            if now - self._unread_since > UNREAD_SECONDS:
                self._transport.abort()
                return
        if self._arriving_since is None:
            return
        if paused:
            self._arriving_since = now
        elif now - self._arriving_since > ARRIVAL_SECONDS:
            self._give_up(POLICY, f"a message took more than {ARRIVAL_SECONDS:g} s to arrive")
