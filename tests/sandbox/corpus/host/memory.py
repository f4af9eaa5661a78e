"""Takes memory until it is refused: three times the limit must not be had.

Limits: memory_mb=96, cpu_s=2, wall_s=4
Variants: heap, no_reserve, shared, brk, stack, string, many_maps, huge_list
"""

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
    block = mmap.mmap(-1, 65_000 * 4096)
    base = ctypes.addressof(ctypes.c_char.from_buffer(block))
    for page in range(0, 65_000, 2):
        LIBC.mprotect(ctypes.c_void_p(base + page * 4096), 4096, 1)
    return 65_000 * 4096


ways = {
    "heap": heap,
    "no_reserve": lambda: mapped(mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000),
    "shared": lambda: mapped(mmap.MAP_SHARED | mmap.MAP_ANONYMOUS),
    "brk": brk,
    "stack": stack,
    "string": lambda: len("x" * BOUND),
    "many_maps": many_maps,
    "huge_list": lambda: len([0] * (BOUND // 8)) * 8,
}
try:
    taken = ways[VARIANT]()
except (MemoryError, OSError, RuntimeError, ValueError) as refusal:
    say(f"refused: {refusal!r}")
else:
    if taken >= 256 * BURST:
        breach(f"{taken >> 20} MiB")
