"""Starts a process by every call that can. None must start: ``processes`` is 1.

Variants: fork, forkpty, clone, clone_parent, clone_untraced, clone_vfork, clone3, posix_spawn, subprocess
"""

import subprocess

from attack import VARIANT, attempt, breach, ctypes, os, syscall

SIGCHLD, CLONE_PARENT, CLONE_UNTRACED, CLONE_VFORK = 17, 0x8000, 0x800000, 0x4000
FLAGS = {
    "clone": SIGCHLD,
    "clone_parent": SIGCHLD | CLONE_PARENT,
    "clone_untraced": SIGCHLD | CLONE_UNTRACED,
    "clone_vfork": SIGCHLD | CLONE_VFORK,
}
me = os.getpid()
if VARIANT == "fork":
    pid = attempt("fork", os.fork)
elif VARIANT == "forkpty":
    pid = attempt("forkpty", os.forkpty)
elif VARIANT == "posix_spawn":
    pid = attempt("posix_spawn", os.posix_spawn, "/bin/sh", ["sh"], {})
elif VARIANT == "subprocess":
    pid = attempt("subprocess", subprocess.run, ["/bin/sh", "-c", "true"])
elif VARIANT == "clone3":
    words = (ctypes.c_uint64 * 8)(0, 0, 0, 0, SIGCHLD, 0, 0, 0)
    pid = syscall("clone3", words, 64)
else:
    pid = syscall("clone", FLAGS[VARIANT], 0, 0, 0, 0)
if os.getpid() != me or (isinstance(pid, int) and pid > 0):
    breach(f"{VARIANT}: there are two processes")
