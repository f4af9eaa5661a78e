"""Has the kernel keep small things without end: locks of a file, timers, signals that wait. None must be many.

Limits: cpu_s=1, wall_s=2
Variants: locks, open_file_locks, timers, signals, names
"""

import fcntl
import mmap
import signal
import struct

from attack import LIBC, VARIANT, breach, ctypes, os, say, syscall

MOST = 8_192


def lock(kind, start, command):
    return fcntl.fcntl(first, command, struct.pack("hhqqixxxx", kind, 0, start, 1, 0))


def locks():
    """From the end of the file to its start, so that each is put before all others."""
    command = 37 if VARIANT == "open_file_locks" else fcntl.F_SETLK
    for number in range(MOST + 1):
        lock(fcntl.F_WRLCK, 1_000_000 - 2 * number, command)
    # Somebody else, who would see them: what only seemed to succeed is not there.
    asked = struct.pack("hhqqixxxx", fcntl.F_WRLCK, 0, 1_000_000, 1, 0)
    return MOST + 1 if struct.unpack("hhqqixxxx", fcntl.fcntl(second, 36, asked))[0] != fcntl.F_UNLCK else 0


def timers():
    made, number = 0, ctypes.c_int()
    while made <= MOST and LIBC.timer_create(1, None, ctypes.byref(number)) == 0:
        made += 1
    return made


def signals():
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    sent = 0
    while (
        sent <= MOST
        and syscall("rt_sigqueueinfo", os.getpid(), 40, struct.pack("iii", 40, 0, -1).ljust(128, b"\0")) == 0
    ):
        sent += 1
    return sent


def names():
    """A name for each mapping, which is kept outside of the process."""
    block = mmap.mmap(-1, 8192 * MOST + 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base, named = ctypes.addressof(ctypes.c_char.from_buffer(block)), 0
    for number in range(MOST + 1):
        text = ctypes.create_string_buffer(b"n" * 70 + b"%d" % number)
        named += syscall("prctl", 0x53564D41, 0, base + 8192 * number, 4096, ctypes.addressof(text)) == 0
    return named


first, second = (os.open("file", os.O_RDWR | os.O_CREAT, 0o600) for _ in range(2))
ways = {"locks": locks, "open_file_locks": locks, "timers": timers, "signals": signals, "names": names}
try:
    taken = ways[VARIANT]()
except (OSError, MemoryError) as refusal:
    say(f"refused: {refusal!r}")
else:
    say(f"{taken} of {VARIANT}")
    if taken > MOST:
        breach(f"{taken} of {VARIANT}")
