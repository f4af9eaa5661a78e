"""Keeps data in files without names: memfd, secret memory, an unlinked file. It is memory all the same.

Where a folder of the host's disk is the working directory, nobody can measure what has no name: the bound is then
the largest file times the number of descriptors. Leaks: landlock-unlinked, landlock-tmpfile

Limits: memory_mb=64, scratch_mb=4, wall_s=3
Variants: memfd, memfd_huge, memfd_secret, unlinked, tmpfile
"""

from attack import BURST, VARIANT, breach, ctypes, mmap, os, say, syscall


def open_one(number):
    if VARIANT.startswith("memfd") and VARIANT != "memfd_secret":
        return syscall("memfd_create", ctypes.c_char_p(b"m"), 4 if VARIANT == "memfd_huge" else 0)
    if VARIANT == "memfd_secret":
        return syscall("memfd_secret", 0)
    if VARIANT == "tmpfile":
        return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    descriptor = os.open(f"file{number}", os.O_RDWR | os.O_CREAT, 0o600)
    os.unlink(f"file{number}")
    return descriptor


taken = 0
block = bytes(BURST)
for number in range(1000):
    descriptor = open_one(number)
    if descriptor < 0:
        say(f"refused: {os.strerror(-descriptor)}")
        break
    try:
        if VARIANT == "memfd_secret":
            os.ftruncate(descriptor, BURST)
            mmap.mmap(descriptor, BURST)[:] = block
            taken += BURST
            continue
        for _ in range(64):
            taken += os.write(descriptor, block)
            if taken > 128 * BURST:
                break
    except OSError as refusal:
        say(f"refused after {taken >> 20} MiB: {refusal}")
        if refusal.errno != 27:
            break
    if taken > 128 * BURST:
        breach(f"{taken >> 20} MiB in files without names")
        break
