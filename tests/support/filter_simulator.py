"""A machine for seccomp's filters, to ask a program what it would say of a call on a machine that is not here."""

from __future__ import annotations

import struct
from collections.abc import Sequence

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003, "arm": 0x40000028}
VERDICTS = {0x80000000: "KILL", 0x7FFF0000: "ALLOW", 0x00050001: "EPERM", 0x00050026: "ENOSYS"}
VERDICTS |= {0x00050019: "ENOTTY", 0x0005005F: "ENOTSUP", 0x00050000: "PRETEND"}


def answer(program: bytes, architecture: str, number: int, arguments: Sequence[int] = ()) -> str:
    """What the program says, as a name; raises ValueError for a program that Linux would not take."""
    words = [value & 0xFFFF_FFFF_FFFF_FFFF for value in (*arguments, *[0] * (6 - len(arguments)))]
    number &= 0xFFFF_FFFF
    data = struct.pack("<IIQ6Q", number, ARCHITECTURES[architecture], 0x1234_5678_9ABC, *words)
    return VERDICTS[_run(list(struct.iter_unpack("<HBBI", program)), data)]


def _run(instructions: list[tuple[int, int, int, int]], data: bytes) -> int:
    accumulator = at = 0
    while True:
        code, yes, no, constant = instructions[at]
        at += 1
        if code == 0x20:
            if constant % 4 or constant >= 64:
                raise ValueError(f"a load of word {constant}")
            (accumulator,) = struct.unpack_from("<I", data, constant)
        elif code == 0x54:
            accumulator &= constant
        elif code == 0x05:
            at += constant
        elif code == 0x06:
            return constant
        elif code == 0x15:
            at += yes if accumulator == constant else no
        elif code == 0x35:
            at += yes if accumulator >= constant else no
        elif code == 0x45:
            at += yes if accumulator & constant else no
        else:
            raise ValueError(f"an instruction {code:#x}")
