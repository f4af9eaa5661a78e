"""Takes memory until it is refused: three times the limit must not be had.

Nor by unmapping all but a page, after which the rest counts no more and may stay in memory all the same.
Limits: memory_mb=96, cpu_s=2, wall_s=4
Variants: heap, no_reserve, shared, brk, stack, string, many_maps, huge_list, kept_shared, kept_validated, kept_device,
kept_huge, kept_collapsed
"""

import os
import resource
import threading

from attack import BURST, LIBC, VARIANT, breach, ctypes, mmap, say

BOUND = 288 * BURST


def heap():
    kept = []
    while len(kept) * 4 * BURST < BOUND:
        kept.append(bytearray(b"x") * (4 * BURST))
    return len(kept) * 4 * BURST


def mapped(flags):
    taken, kept = 0, []
    while taken < BOUND:
        block = mmap.mmap(-1, 4 * BURST, flags=flags)
        for page in range(0, 4 * BURST, 4096):
            block[page] = 1
        kept.append(block)
        taken += 4 * BURST
    return taken


def brk():
    LIBC.sbrk.restype = ctypes.c_void_p
    LIBC.sbrk.argtypes = [ctypes.c_long]
    taken = 0
    while taken < BOUND:
        start = LIBC.sbrk(4 * BURST)
        if start == ctypes.c_void_p(-1).value:
            raise MemoryError("brk")
        ctypes.memset(start, 1, 4 * BURST)
        taken += 4 * BURST
    return taken


def stack():
    threading.stack_size(BOUND)
    touched = []

    def fill():
        block = (ctypes.c_char * 64)()
        touched.append(ctypes.addressof(block))

    threading.Thread(target=fill).start()
    return BOUND if touched else 0


def many_maps():
    block = mmap.mmap(-1, 65_000 * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    base = ctypes.addressof(ctypes.c_char.from_buffer(block))
    for page in range(0, 65_000, 2):
        LIBC.mprotect(ctypes.c_void_p(base + page * 4096), 4096, 1)
    return 65_000 * 4096


def mapped_at(size, flags, descriptor=-1, protection=3):
    LIBC.mmap.restype = ctypes.c_void_p
    LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = LIBC.mmap(None, size, protection, flags, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "mmap")
    return address


def kept(flags, path=None):
    """Shared pages of no file, of which all but one are unmapped, so that they count no more."""
    taken, protection = 0, 3
    descriptor = os.open(path, os.O_RDONLY) if path else -1
    while taken < BOUND:
        address = mapped_at(4 * BURST, flags, descriptor, 1 if path else protection)
        for page in range(0, 4 * BURST, 4096):
            if path:
                ctypes.string_at(address + page, 1)
            else:
                ctypes.memset(address + page, 1, 1)
        LIBC.munmap(ctypes.c_void_p(address + 4096), ctypes.c_size_t(4 * BURST - 4096))
        taken += 4 * BURST
    return taken


def kept_huge(advice):
    """Huge pages, of which all but a small one are unmapped: they stay whole until the machine is short of memory."""
    taken = 0
    while taken < BOUND:
        address = mapped_at(4 * BURST, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        start = -(-address // (2 * BURST)) * (2 * BURST)
        LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(2 * BURST), 14)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        ctypes.memset(start, 1, 2 * BURST)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        if advice == 25 and LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(2 * BURST), 25):
            raise OSError("not collapsed")
        if advice == 14 and faults > 100:
            raise OSError("no huge pages")
        LIBC.munmap(ctypes.c_void_p(address), ctypes.c_size_t(start - address))
        LIBC.munmap(ctypes.c_void_p(start + 4096), ctypes.c_size_t(address + 4 * BURST - start - 4096))
        taken += 2 * BURST
    return taken


ways = {
    "heap": heap,
    "no_reserve": lambda: mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000),
    "shared": lambda: mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
    "brk": brk,
    "stack": stack,
    "string": lambda: len("x" * BOUND),
    "many_maps": many_maps,
    "kept_shared": lambda: kept(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
    "kept_validated": lambda: kept(0x23),
    "kept_device": lambda: kept(mmap.MAP_SHARED, "/dev/zero"),
    "kept_huge": lambda: kept_huge(14),
    "kept_collapsed": lambda: kept_huge(25),
    "huge_list": lambda: len([0] * (BOUND // 8)) * 8,
}
try:
    taken = ways[VARIANT]()
except (MemoryError, OSError, RuntimeError, ValueError) as refusal:
    say(f"refused: {refusal!r}")
else:
    if taken >= 256 * BURST:
        breach(f"{taken >> 20} MiB")
