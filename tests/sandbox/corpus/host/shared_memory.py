"""Reaches what processes of the host share by name, and leaves something of its own. Neither must be.

Unconfined: breaches
Variants: sysv, sysv_scan, queue, semaphores, posix, posix_queue
"""

import mmap

from attack import LIBC, TARGETS, VARIANT, breach, ctypes, os, say, syscall

LIBC.shmat.restype = ctypes.c_void_p
key, mark = TARGETS["ipc_key"], TARGETS["mark"]
if VARIANT in ("sysv", "sysv_scan"):
    numbers = [syscall("shmget", key, 0, 0)] if VARIANT == "sysv" else list(range(64))
    for number in numbers:
        address = LIBC.shmat(number, None, 0o10000) if number >= 0 else None
        if address and address != ctypes.c_void_p(-1).value:
            breach(f"shared memory {number}: {ctypes.string_at(address, 60)!r}")
    mine = syscall("shmget", TARGETS["free_key"], 4096, 0o1666)
    say(f"own: {mine}")
elif VARIANT == "queue":
    number = syscall("msgget", key, 0)
    buffer = ctypes.create_string_buffer(256)
    if number >= 0:
        breach(f"queue: {syscall('msgrcv', number, buffer, 200, 0, 0o4000)} {buffer.raw[8:80]!r}")
    syscall("msgget", TARGETS["free_key"], 0o1666)
elif VARIANT == "semaphores":
    if syscall("semget", key, 0, 0) >= 0:
        breach("semaphores")
    syscall("semget", TARGETS["free_key"], 1, 0o1666)
elif VARIANT == "posix":
    try:
        descriptor = os.open("/dev/shm/" + TARGETS["shared_name"], os.O_RDWR)
        breach(repr(mmap.mmap(descriptor, 0)[:60]))
    finally:
        os.close(os.open("/dev/shm/" + mark, os.O_CREAT | os.O_RDWR, 0o666))
else:
    if syscall("mq_open", ctypes.c_char_p(TARGETS["queue_name"].encode()), os.O_RDONLY, 0, 0) >= 0:
        breach("message queue")
    made = syscall("mq_open", ctypes.c_char_p(mark.encode()), os.O_RDWR | os.O_CREAT, 0o666, 0)
    say(f"own: {made}")
