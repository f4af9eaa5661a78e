"""Starts another program in its place: a shell, an interpreter, a file of its own, a file without a name.

None must start where ``processes`` is 1. Unconfined: breaches
Variants: shell, python, loader, own_script, own_binary, memfd, empty_path, huge
"""

import sys

from attack import TARGETS, VARIANT, breach, ctypes, os, say, syscall

line = "echo BREACH a shell"
python = sys.executable or TARGETS["executable"]
if VARIANT == "shell":
    os.execv("/bin/sh", ["sh", "-c", line])
elif VARIANT == "python":
    os.execv(python, [python, "-c", "print('BREACH a new interpreter')"])
elif VARIANT == "loader":
    for loader in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"):
        if os.path.exists(loader):
            os.execv(loader, [loader, "/bin/sh", "-c", line])
    os.execv("/bin/sh", ["sh", "-c", line])
elif VARIANT == "own_script":
    open("script", "w").write(f"#!/bin/sh\n{line}\n")
    os.chmod("script", 0o755)
    os.execv("./script", ["script"])
elif VARIANT == "own_binary":
    open("binary", "wb").write(open("/bin/sh", "rb").read())
    os.chmod("binary", 0o755)
    os.execv("./binary", ["sh", "-c", line])
elif VARIANT == "memfd":
    descriptor = os.memfd_create("program", 0)
    os.write(descriptor, f"#!/bin/sh\n{line}\n".encode())
    os.execve(descriptor, ["program"], {})
elif VARIANT == "empty_path":
    descriptor = os.open("/bin/sh", os.O_PATH)
    text = [ctypes.c_char_p(part) for part in (b"sh", b"-c", line.encode())]
    vector = (ctypes.c_char_p * 4)(*[part.value for part in text], None)
    say(str(syscall("execveat", descriptor, ctypes.c_char_p(b""), vector, 0, 0x1000)))
else:
    os.execv("/bin/sh", ["sh", "-c", line, *["x" * 100_000] * 15])
if os.getpid() == 0:
    breach("no process")
