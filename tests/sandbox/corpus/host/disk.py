"""Writes more than ``scratch_mb``: in one file, in many, sparse and mapped, by allocation, in attributes.

Four times of it must not be had.
In a folder of the host somebody has to look, and many files are quick. Leaks: landlock-many, landlock-allocated
Limits: scratch_mb=4, memory_mb=64, cpu_s=1, wall_s=3
Variants: one, many, mapped, allocated, attributes
"""

from attack import BURST, VARIANT, breach, mmap, os, say

taken = 0
try:
    if VARIANT == "one":
        with open("one", "wb", 0) as file:
            while taken <= 16 * BURST:
                taken += file.write(bytes(BURST))
    elif VARIANT == "many":
        while taken <= 16 * BURST:
            with open(f"many{taken}", "wb", 0) as file:
                taken += file.write(bytes(BURST // 4))
    elif VARIANT == "mapped":
        for number in range(8):
            with open(f"mapped{number}", "w+b") as file:
                os.ftruncate(file.fileno(), 3 * BURST)
                block = mmap.mmap(file.fileno(), 3 * BURST)
                for page in range(0, 3 * BURST, 4096):
                    block[page] = 1
                taken += 3 * BURST
    elif VARIANT == "allocated":
        for number in range(8):
            with open(f"allocated{number}", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 3 * BURST)
                taken += 3 * BURST
    else:
        open("file", "w").close()
        for number in range(2_000):
            os.setxattr("file", f"user.{number}", bytes(32_000))
            taken += 32_000
except OSError as refusal:
    say(f"refused after {taken >> 10} KiB: {refusal}")
if taken > 16 * BURST:
    breach(f"{taken >> 20} MiB of scratch")
