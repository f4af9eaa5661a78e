"""What a fork server is asked for, as bytes: limits, and which descriptor holds what."""

from __future__ import annotations

import json
import struct
from typing import Literal

Kind = Literal["program", "calls", "pair", "command"]
KINDS: tuple[Kind, ...] = ("program", "calls", "pair", "command")
MAX_LENGTH = 64 * 1024
MAX_DESCRIPTORS = 12
_FORM = struct.Struct("=BddQQQII16s")


class Request:
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
    def unpacked(cls, data: bytes, descriptors: list[int]) -> Request:
        """The request that was packed, with the descriptors that came with it."""
        kind, cpu_s, wall_s, memory, output, scratch, processes, steps, names = _FORM.unpack_from(data)
        made = cls(
            KINDS[kind],
            cpu_s=cpu_s,
            wall_s=wall_s,
            memory=memory,
            output=output,
            scratch=scratch,
            processes=processes,
            steps=steps,
            names=names.rstrip(b"\0").decode(),
            collect=tuple(json.loads(data[_FORM.size :])) if len(data) > _FORM.size else (),
        )
        made.descriptors = dict(zip(made.names, descriptors, strict=True))
        return made
