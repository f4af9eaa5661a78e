"""Threads by the bare system call that share one page of stack and spin: no library counts them.

No more than 2,000 must start, and all must end with the run. Where bubblewrap is started by root, nothing but memory
bounds them. Leaks: bubblewrap-root
"""

from attack import breach, ctypes, mmap, platform, say, syscall

if platform.machine() == "x86_64":
    rights = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    page = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, rights)
    base = ctypes.addressof(ctypes.c_char.from_buffer(page))
    # clone(THREAD|SIGHAND|VM|FS|FILES); a child spins in pause(), the parent returns the result.
    flags = 0x10000 | 0x800 | 0x100 | 0x200 | 0x400
    code = (
        b"\xbf" + flags.to_bytes(4, "little") + b"\x48\xbe" + (base + (1 << 19)).to_bytes(8, "little")
        + b"\x31\xd2\x4d\x31\xd2\x4d\x31\xc0\xb8\x38\x00\x00\x00\x0f\x05\x48\x85\xc0\x74\x01\xc3"
        + b"\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7"
    )  # fmt: skip
    page.write(code)
    start = ctypes.CFUNCTYPE(ctypes.c_long)(base)
    started = 0
    while started < 2_000 and (result := start()) > 0:
        started += 1
    say(f"{started} threads, then {result}")
    if started >= 2_000:
        breach(f"{started} threads by the bare call")
else:
    say(str(syscall("clone", 0x10F00, 0, 0, 0, 0)))
