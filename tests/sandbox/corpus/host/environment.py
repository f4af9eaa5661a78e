"""Looks for the host's environment: its variables, the first page of the stack, what the interpreter kept.

No secret must be found. Unconfined: breaches
Variants: variables, pointer, stack, shell, configuration
"""

import sys
import sysconfig

from attack import LIBC, TARGETS, VARIANT, ctypes, os, say

if VARIANT == "variables":
    say(repr(dict(os.environ)))
elif VARIANT == "pointer":
    pointers = ctypes.POINTER(ctypes.c_char_p).in_dll(LIBC, "environ")
    index = 0
    while pointers and pointers[index]:
        say(repr(pointers[index]))
        index += 1
    LIBC.getenv.restype = ctypes.c_char_p
    say(repr(LIBC.getenv(TARGETS["variable"].encode())))
elif VARIANT == "stack":
    # A page of the stack is asked for by writing it to a file: a bad address is an error, not a crash.
    start = ctypes.c_void_p.in_dll(LIBC, "environ").value or ctypes.addressof(ctypes.c_char())
    sink = os.open("sink", os.O_RDWR | os.O_CREAT, 0o600)
    LIBC.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    page = start & ~4095
    for step in range(64):
        os.lseek(sink, 0, os.SEEK_SET)
        if LIBC.write(sink, page + step * 4096, 4096) == 4096:
            data = os.pread(sink, 4096, 0)
            index = data.find(b"secret-")
            if index >= 0:
                say(repr(data[index : index + 60]))
elif VARIANT == "shell":
    os.execv("/bin/sh", ["sh", "-c", "env; set"])
else:
    say(repr((sys.orig_argv, sys.argv, sys.path, sys.flags, sys.executable, sysconfig.get_paths())))
    found = [s for s in TARGETS["sources"] if any(s in p for p in map(str, sys.path))]
    say(repr(found))
