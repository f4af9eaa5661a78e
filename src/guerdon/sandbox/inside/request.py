"""What a fork server is asked for, and what it answers, as bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["program", "calls", "pair", "command"]
KINDS: tuple[Kind, ...] = ("program", "calls", "pair", "command")
MAX_LENGTH = 64 * 1024
MAX_DESCRIPTORS = 12
REFUSED = b"\xff"
"""A message begins with it where a program could not be started; the reason follows."""
CLEAN = b"clean"
"""What is said when the working directory of a run is empty after an outcome that said it was not."""
ANSWERS = b"a"
"""A message with the answers of the next single run, each of which winds up its clocks."""
REWRITTEN = "rewritten"
"""Why the answers of a run do not count: they are not those that it gave in time."""
_NAMES = 16
_FORM = struct.Struct(f"=BddQQQII{_NAMES}s")
_OUTCOME = struct.Struct("=iddQ?")


class JobRequest:
    """One request. A descriptor goes by a letter.

    p program, g command line, i o e standard streams, q questions, a answers, f files to lay out, c files to
    bring back. Programs, inputs and names are in the descriptors, never in the request itself: what a fork
    server has read, all its later forks would have in memory.
    """

    def __init__(
        self,
        kind: Kind,
        *,
        cpu_s: float,
        wall_s: float,
        memory: int,
        output: int,
        scratch: int,
        processes: int = 1,
        steps: int = 1,
        names: str = "",
        collect: tuple[str, ...] = (),
    ) -> None:
        self.kind = kind
        self.cpu_s, self.wall_s = cpu_s, wall_s
        self.memory, self.output, self.scratch = memory, output, scratch
        """Bytes."""
        self.processes, self.steps = processes, steps
        self.names = names
        self.collect = collect
        self.descriptors: dict[str, int] = {}

    @property
    def single(self) -> bool:
        """Whether it is a Python program in one process from start to end, of which nothing is brought back."""
        return self.processes == 1 and (self.kind == "program" or self.kind == "calls") and not self.collect

    @property
    def stepwise(self) -> bool:
        """Whether the steps of the run have clocks of their own, which its answers wind up."""
        return self.steps > 1 and "a" in self.descriptors

    def packed(self) -> bytes:
        """As bytes."""
        return _FORM.pack(
            KINDS.index(self.kind),
            self.cpu_s,
            self.wall_s,
            self.memory,
            self.output,
            self.scratch,
            self.processes,
            self.steps,
            self.names.encode(),
        ) + (json.dumps(self.collect).encode() if self.collect else b"")

    @classmethod
    def unpacked(cls, data: bytes, descriptors: Sequence[int]) -> JobRequest:
        """The request that was packed, with the descriptors that came with it."""
        # It is done twice for each run, in processes where every object that is touched costs a page.
        made = cls.__new__(cls)
        (
            kind,
            made.cpu_s,
            made.wall_s,
            made.memory,
            made.output,
            made.scratch,
            made.processes,
            made.steps,
            names,
        ) = _FORM.unpack_from(data)
        made.kind = KINDS[kind]
        made.names = names.rstrip(b"\0").decode()
        made.collect = tuple(json.loads(data[_FORM.size :])) if len(data) > _FORM.size else ()
        made.descriptors = dict(zip(made.names, descriptors, strict=True))
        return made

    def passed_on(self, data: bytes) -> bytes:
        """This single request, which was unpacked from ``data``, as the fork server is to see it: with the limits
        and, of the descriptors, with the answers where each of them winds up the clocks, which it has already."""
        return data[:-_NAMES] + (ANSWERS if self.stepwise else b"").ljust(_NAMES, b"\0")


class RunOutcome(NamedTuple):
    """What came of a request."""

    status: int
    """As ``waitpid`` returns it."""
    cpu_s: float
    wall_s: float
    memory_kb: int
    reason: str = ""
    """Why the run was ended before it ended itself."""
    detail: str = ""
    left: bool = False
    """Whether something is left in the working directory; ``CLEAN`` follows once it is gone."""

    def packed(self, *, left: bool = False) -> bytes:
        """As bytes."""
        status, cpu_s, wall_s, memory_kb, reason, detail, _ = self
        head = _OUTCOME.pack(status, cpu_s, wall_s, memory_kb, left)
        return head + f"{reason}\n{detail}".encode() if reason or detail else head

    @classmethod
    def unpacked(cls, data: bytes) -> RunOutcome:
        """The answer that was packed."""
        reason, _, detail = data[_OUTCOME.size :].decode("utf-8", "replace").partition("\n")
        status, cpu_s, wall_s, memory_kb, left = _OUTCOME.unpack_from(data)
        return cls(status, cpu_s, wall_s, memory_kb, reason, detail, left)
