"""Runs a command in a surrounding that the sandbox has to cope with.

    python restricted_host.py SURROUNDING… -- COMMAND…

``SURROUNDING`` is one or more of the words of ``MAKERS``, made in that order. The standard library and
guerdon.sandbox only, so that any interpreter will do.
"""

from __future__ import annotations

import ctypes
import os
import sys

from guerdon.sandbox.inside import bpf, kernel, seccomp
from guerdon.sandbox.inside.numbers import NUMBERS, machine

ORDINARY = 1000
"""The user that root becomes."""
# What Docker leaves to root, and to its processes.
_DOCKER_KEEPS = (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31)
_DOCKER_FORBIDS = """
    unshare setns mount umount2 pivot_root sethostname open_tree move_mount fsopen fsmount mount_setattr keyctl
    add_key request_key bpf perf_event_open userfaultfd io_uring_setup
"""
_NEW_NAMESPACE = 0x7E02_0000
_PER_LINUX32 = 8


def user() -> None:
    """An ordinary one, without any capability."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(ORDINARY, ORDINARY, ORDINARY)
        os.setresuid(ORDINARY, ORDINARY, ORDINARY)
    # Its files in /proc are its own again.
    kernel.set_dumpable(True)


def sysctl() -> None:
    """No further user namespaces, by sysctl: that of a namespace of its own, which disturbs nobody else."""
    uid, me = os.getuid(), os.getpid()
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(ready, 1)
        if uid == 0:
            maps = {"uid_map": "0 0 70000", "gid_map": "0 0 70000"}
        else:
            maps = {
                "setgroups": "deny",
                "uid_map": f"{uid} {uid} 1",
                "gid_map": f"{os.getgid()} {os.getgid()} 1",
            }
        for name, text in maps.items():
            with open(f"/proc/{me}/{name}", "w") as file:
                file.write(text)
        os._exit(0)
    kernel.unshare(kernel.CLONE_NEWUSER)
    os.close(go)
    assert os.waitpid(pid, 0)[1] == 0
    with open("/proc/sys/user/max_user_namespaces", "w") as file:
        file.write("0")


def container() -> None:
    """The capabilities and the system calls that Docker leaves to a process by default."""
    if os.getuid() == 0:
        _drop_all_but(_DOCKER_KEEPS)
    numbers = NUMBERS[machine()]
    blocks = {numbers[name]: bpf.refused(1) for name in _DOCKER_FORBIDS.split()}
    blocks[numbers["clone"]] = bpf.load(
        bpf.low(0), bpf.if_any_bit(_NEW_NAMESPACE, bpf.refused(1), bpf.ALLOWED)
    )
    blocks[numbers["clone3"]] = bpf.refused(38)
    _filter(blocks)


def no_landlock() -> None:
    """A kernel without Landlock."""
    _filter(
        {
            number: bpf.refused(38)
            for name, number in NUMBERS[machine()].items()
            if name.startswith("landlock")
        }
    )


def no_capabilities() -> None:
    """Root in name only."""
    _drop_all_but(())


def no_admin() -> None:
    """Root that may neither mount nor unshare by itself."""
    _drop_all_but(tuple(number for number in range(41) if number != 21))


def no_bubblewrap() -> None:
    os.environ["PATH"] = "/nowhere"


def other_processor() -> None:
    """Linux says that the processor is a 32-bit one."""
    ctypes.CDLL(None).personality(_PER_LINUX32)


MAKERS = {
    "user": user,
    "sysctl": sysctl,
    "container": container,
    "no landlock": no_landlock,
    "no capabilities": no_capabilities,
    "no admin": no_admin,
    "no bubblewrap": no_bubblewrap,
    "other processor": other_processor,
}


def _drop_all_but(kept: tuple[int, ...]) -> None:
    for capability in kernel.bound_capabilities():
        if capability not in kept:
            kernel.prctl(kernel.PR_CAPBSET_DROP, capability)


def _filter(blocks: dict[int, bpf.Block]) -> None:
    choice = bpf.by_number(blocks, bpf.ALLOWED, bpf.ALLOWED, 500)
    seccomp.install(bpf.assemble(bpf.load(bpf.NUMBER, choice)))


if __name__ == "__main__":
    at = sys.argv.index("--")
    for word in sys.argv[1:at]:
        MAKERS[word]()
    os.execv(sys.argv[at + 1], sys.argv[at + 1 :])
