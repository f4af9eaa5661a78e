"""Traces, reads and writes other processes. Each call must be refused.

Variants: attach, seize, traceme, readv, writev, getfd, madvise, kcmp, pages, release, perf, limits
"""

from attack import TARGETS, VARIANT, breach, ctypes, forbidden, os, say, syscall

canary, parent = TARGETS["pid"], os.getppid() or 1
buffer = ctypes.create_string_buffer(64)
local = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
remote = (ctypes.c_uint64 * 2)(ctypes.addressof(buffer), 64)
if VARIANT == "traceme":
    forbidden("ptrace", 0, 0, 0, 0)
for target in (canary, parent):
    if VARIANT == "attach":
        forbidden("ptrace", 16, target, 0, 0)
    elif VARIANT == "seize":
        forbidden("ptrace", 0x4206, target, 0, 0)
    elif VARIANT in ("readv", "writev"):
        forbidden(f"process_vm_{VARIANT}", target, local, 1, remote, 1, 0)
    elif VARIANT == "getfd":
        descriptor = syscall("pidfd_open", target, 0)
        for number in range(8):
            if descriptor >= 0 and syscall("pidfd_getfd", descriptor, number, 0) >= 0:
                breach(f"descriptor {number} of {target}")
        say(f"pidfd {descriptor}")
    elif VARIANT == "madvise":
        descriptor = syscall("pidfd_open", target, 0)
        if descriptor >= 0 and syscall("process_madvise", descriptor, remote, 1, 21, 0) >= 0:
            breach(f"memory of {target} advised")
    elif VARIANT == "kcmp":
        forbidden("kcmp", target, os.getpid(), 0, 0, 0)
    elif VARIANT == "pages":
        forbidden("move_pages", target, 0, 0, 0, 0, 0)
        forbidden("migrate_pages", target, 0, 0, 0)
    elif VARIANT == "release":
        forbidden("process_mrelease", 1, 0)
    elif VARIANT == "perf":
        forbidden("perf_event_open", ctypes.create_string_buffer(128), target, -1, -1, 0)
    elif VARIANT == "limits" and syscall("prlimit64", target, 0, 0, (ctypes.c_uint64 * 2)()) == 0:
        breach(f"limits of {target}")
