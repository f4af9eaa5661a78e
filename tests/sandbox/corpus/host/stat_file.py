"""Asks whether a file of the host is there, how large and whose it is. It must look as if there were none.

Landlock cannot hide that, as docs/sandbox.md says. Leaks: landlock
Unconfined: breaches
Variants: stat, lstat, access, statx, path, readlink, chdir, handle, attribute, statvfs, mkdir, rename, connect
"""

import errno
import socket

from attack import TARGETS, VARIANT, breach, ctypes, os, say, syscall

secret = TARGETS["secret_file"]
there, absent = secret, secret + "-absent"
text = ctypes.create_string_buffer


def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)


def raw(result):
    if result < 0:
        raise OSError(-result, os.strerror(-result))


ways = {
    "stat": os.stat,
    "lstat": os.lstat,
    "access": lambda p: None if os.access(p, os.F_OK) else os.stat("/absent"),
    "statx": lambda p: raw(syscall("statx", -100, text(p.encode()), 0, 0x7FF, text(512))),
    "path": lambda p: os.open(p, os.O_PATH),
    "readlink": os.readlink,
    "chdir": os.chdir,
    "handle": lambda p: raw(syscall("name_to_handle_at", -100, text(p.encode()), text(256), text(8), 0)),
    "attribute": lambda p: raw(syscall("getxattr", text(p.encode()), text(b"user.x"), text(64), 64)),
    "statvfs": os.statvfs,
    "mkdir": os.mkdir,
    "rename": lambda p: os.rename(p, p + "-moved"),
    "connect": connect,
}
answers = []
for path in (there, absent):
    try:
        ways[VARIANT](path)
        answers.append(0)
    except OSError as refusal:
        answers.append(refusal.errno)
say(f"there, absent: {[errno.errorcode.get(a, a) for a in answers]}")
if answers[0] != answers[1]:
    breach(f"{VARIANT} tells the two apart")
if VARIANT in ("stat", "lstat", "path") and os.access(TARGETS["folder"], os.F_OK):
    breach("the folder is there")
