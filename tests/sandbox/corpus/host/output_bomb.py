"""Prints without end, to each stream and by each way. What comes back must be within the limit.

Limits: output_kb=64, memory_mb=64, cpu_s=1, wall_s=2
Ends: output_limit, error, killed, ok
Variants: stdout, stderr, both, positioned, truncate, allocate, splice, mapped
"""

from attack import BURST, VARIANT, breach, mmap, os, sys

block = b"x" * BURST
if VARIANT == "stdout":
    while True:
        os.write(1, block)
if VARIANT == "stderr":
    while True:
        os.write(2, block)
if VARIANT == "both":
    while True:
        sys.stdout.write("a" * 60_000)
        sys.stderr.write("b" * 60_000)
if VARIANT == "positioned":
    while True:
        os.pwrite(1, block, BURST * 10_000)
if VARIANT == "truncate":
    os.ftruncate(1, 1 << 40)
    breach("a stream of 1 TiB")
if VARIANT == "allocate":
    os.posix_fallocate(1, 0, 256 * BURST)
    breach("256 MiB of a stream")
if VARIANT == "splice":
    open("block", "wb").write(block)
    source = os.open("block", os.O_RDONLY)
    for _ in range(256):
        os.sendfile(1, source, 0, BURST)
    breach("256 MiB by sendfile")
if VARIANT == "mapped":
    os.ftruncate(1, 60 * BURST)
    mapped = mmap.mmap(1, 60 * BURST)
    for start in range(0, 60 * BURST, 4096):
        mapped[start] = 1
    breach("60 MiB through a mapping of the stream")
