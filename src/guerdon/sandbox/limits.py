"""What a program may use before it is stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from guerdon.errors import InputError

LONGEST_S = 10_000
"""The largest value of a limit, in its unit: the kernel's clocks hold no more seconds."""
LARGEST = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one program may use. Tests that share a process have ``cpu_s`` and ``wall_s`` each.

    Raises InputError for what is not a positive number, or a senseless one: more than 10,000 s, or 10**9.

    >>> Limits(cpu_s=0.5).cpu_s
    0.5
    """

    cpu_s: float = 2.0
    """Seconds of processor time, of all its threads together. This limit stops slow programs: a loaded machine
    does not make it longer."""
    wall_s: float = 10.0
    """Seconds by the clock; looser than ``cpu_s``, for programs that sleep or wait."""
    memory_mb: int = 512
    """MiB of memory beyond what the interpreter has before the program starts."""
    output_kb: int = 1024
    """KiB of standard output, and as much of standard error."""
    processes: int = 1
    """Processes at once, the program's own among them; 1 forbids to start any. Threads are always allowed."""
    scratch_mb: int = 16
    """MiB of files in the working directory."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            whole = field.type == "int"
            good = (
                isinstance(value, int) if whole else isinstance(value, int | float) and math.isfinite(value)
            )
            if not good or isinstance(value, bool) or value <= 0:
                wanted = "a whole number above 0" if whole else "a number above 0"
                raise InputError(f"{field.name} must be {wanted}, not {value!r}")
            most = LARGEST if whole else LONGEST_S
            if value > most:
                raise InputError(f"{field.name} must be {most:,} at most, not {value!r}")
