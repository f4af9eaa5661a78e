"""Keeps data in files without names: memfd, secret memory, an unlinked file. It is memory all the same.

In a folder of the host somebody has to look, and what is quick has more for a moment.

Ends: ok, error, killed
Limits: memory_mb=64, scratch_mb=4, cpu_s=3, wall_s=5
Variants: memfd, memfd_huge, memfd_secret, unlinked, tmpfile, mapped, first_thread_ended, renamed_over
"""

import threading

from attack import BURST, VARIANT, breach, ctypes, mmap, os, say, syscall

MOST = 512 * BURST


def open_one(number):
    if VARIANT.startswith("memfd") and VARIANT != "memfd_secret":
        return syscall("memfd_create", ctypes.c_char_p(b"m"), 4 if VARIANT == "memfd_huge" else 0)
    if VARIANT == "memfd_secret":
        return syscall("memfd_secret", 0)
    if VARIANT == "tmpfile":
        return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    descriptor = os.open(f"file{number}", os.O_RDWR | os.O_CREAT, 0o600)
    if VARIANT == "renamed_over":
        os.close(os.open("empty", os.O_RDWR | os.O_CREAT, 0o600))
        os.rename("empty", f"file{number}")
    else:
        os.unlink(f"file{number}")
    return descriptor


def fill(descriptor):
    if VARIANT == "memfd_secret":
        os.ftruncate(descriptor, BURST)
        mmap.mmap(descriptor, BURST)[:] = block
        return BURST
    if VARIANT == "mapped":
        os.ftruncate(descriptor, 4 * BURST)
        kept.append(
            LIBC.mmap(None, ctypes.c_size_t(4 * BURST), 3, mmap.MAP_SHARED, descriptor, ctypes.c_long(0))
        )
        os.close(descriptor)
        ctypes.memset(kept[-1], 1, 4 * BURST)
        LIBC.munmap(ctypes.c_void_p(kept[-1] + 4096), ctypes.c_size_t(4 * BURST - 4096))
        return 4 * BURST
    written = 0
    try:
        while written < 64 * BURST:
            written += os.write(descriptor, block)
    except OSError as refusal:
        if refusal.errno != 27:
            raise
    return written


def take():
    taken = 0
    for number in range(1000):
        descriptor = open_one(number)
        if descriptor < 0:
            say(f"refused: {os.strerror(-descriptor)}")
            break
        try:
            taken += fill(descriptor)
        except OSError as refusal:
            say(f"refused after {taken >> 20} MiB: {refusal}")
            break
        if taken > MOST:
            breach(f"{taken >> 20} MiB in files without names")
            break


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
kept, block = [], bytes(BURST)
if VARIANT == "first_thread_ended":
    threading.Thread(target=take).start()
    syscall("exit", 0)
take()
