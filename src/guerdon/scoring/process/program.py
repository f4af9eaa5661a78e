"""What a worker process may run in place of a reward."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from typing import Any

from guerdon.scoring.process.ipc import FrameDecoder, StatusPage


class WorkerProgram(ABC):
    """What a worker may run in place of a reward: it answers messages of its own."""

    @abstractmethod
    def prepare(self) -> None:
        """Have the reward do what it does once in a process; what this raises ends the run."""

    @abstractmethod
    def run(
        self, connection: socket.socket, frames: FrameDecoder, status: StatusPage, pending: list[Any]
    ) -> None:
        """Answer messages until the socket closes; ``pending`` holds those that have come already."""
