"""ShutdownReport: what became of the requests in flight when a server stopped."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShutdownReport:
    """How a server stopped."""

    finished: int = 0
    """Requests that were in flight when the server was asked to stop, and were answered."""
    refused: int = 0
    """Requests that were not done within the time to drain: answered 503, or cut off."""
    sockets: int = 0
    """WebSockets that were closed."""
    seconds: float = 0.0
    forced: bool = False
    """Whether a second Ctrl-C cut it short."""

    def __add__(self, other: ShutdownReport) -> ShutdownReport:
        return ShutdownReport(
            self.finished + other.finished,
            self.refused + other.refused,
            self.sockets + other.sockets,
            max(self.seconds, other.seconds),
            self.forced or other.forced,
        )
