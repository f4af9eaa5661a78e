"""Leaves its working directory in a state that is hard to remove. Nothing of it must remain, or reach the next run.

Limits: cpu_s=1, wall_s=3
Variants: deep, mode_000, weird_names, link_to_folder, loop, moved, itself_000, removed, many, pipe, socket, immutable
"""

import fcntl
import socket

from attack import TARGETS, VARIANT, ctypes, os, say

here = os.getcwd()
try:
    if VARIANT == "deep":
        for _ in range(10_000):
            os.mkdir("d" * 50)
            os.chdir("d" * 50)
    elif VARIANT == "mode_000":
        for number in range(5):
            os.makedirs(f"closed{number}/within")
            open(f"closed{number}/within/file", "w").write("x")
            os.chmod(f"closed{number}/within", 0)
            os.chmod(f"closed{number}", 0)
    elif VARIANT == "weird_names":
        for name in (b"\xff\xfe", b"new\nline", b"-rf", b" ", b"\x1b[2J", b"a" * 255, b"\\", b"..."):
            os.mkdir(name)
            open(name + b"/" + name, "w").close()
    elif VARIANT == "link_to_folder":
        os.symlink(TARGETS["folder"], "link")
        os.symlink(TARGETS["open_folder"] + "/", "another")
        os.symlink("/", "all")
    elif VARIANT == "loop":
        os.symlink("loop", "loop")
        os.symlink(".", "self")
        os.mkdir("a")
        os.symlink("../a", "a/a")
    elif VARIANT == "moved":
        os.chdir("..")
        os.rename(here, here + TARGETS["mark"])
        os.symlink(TARGETS["folder"], here)
    elif VARIANT == "itself_000":
        open("file", "w").close()
        os.chmod(".", 0)
    elif VARIANT == "removed":
        os.rmdir(here)
    elif VARIANT == "many":
        for number in range(3_000):
            open(f"file{number}", "w").close()
    elif VARIANT == "pipe":
        os.mkfifo("pipe")
        os.mkfifo("stdout")
    elif VARIANT == "socket":
        socket.socket(socket.AF_UNIX).bind("socket")
    else:
        descriptor = os.open("file", os.O_RDWR | os.O_CREAT)
        fcntl.ioctl(descriptor, 0x40086602, ctypes.c_long(0x10 | 0x20))
        say("immutable")
except OSError as refusal:
    say(f"refused {refusal}")
