"""The walls of the native tier: namespaces of its own, and a root folder that holds next to nothing."""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable
from typing import Any, NoReturn

from . import kernel, landlock

INSIDE_ID = 1000
"""User and group in the namespace."""
STRANGER_ID = 65534
"""Who that is outside where root starts the sandbox: nobody, so that limits hold and nothing is owned."""
DEVICES = ("null", "full", "random", "urandom")
STREAMS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
BOX = "/box"
_CLONE_PARENT = 0x8000
_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
_FORBIDDEN = (
    "namespaces are forbidden here, as by a container's seccomp profile, a sysctl or a lack of capabilities"
)
_NO_MORE = "no further namespace may be made: user.max_user_namespaces is reached, or 0"
_NO_MOUNTS = "mounting is forbidden here, as AppArmor does it in user namespaces and in containers"
_KEPT = (
    (os.ST_NOEXEC, kernel.MS_NOEXEC),
    (os.ST_NOATIME, kernel.MS_NOATIME),
    (os.ST_NODIRATIME, 0x800),
    (os.ST_RELATIME, 0x20_0000),
)
"""Flags of a mount as statvfs returns them, and as mount takes them."""


def enter(
    config: dict[str, Any],
    start: Callable[[], None],
    inside: Callable[[], None],
    report: Callable[[int], None],
) -> NoReturn:
    """Runs ``start``, goes behind the walls and runs ``inside`` there, as the first process of new namespaces.

    Reports its process id, and ends this process.

    The new process is a sibling of this one, so that the parent of this one can wait for it. Raises OSError
    where the kernel or its configuration forbid namespaces.
    """
    go, went = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    pid, own_users = _clone()
    if pid == 0:
        os.close(went)
        # Nobody maps our ids any more once the other end is closed.
        if os.read(go, 1) != b"1":
            os._exit(1)
        os.close(go)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        config["shared_user"] = not own_users
        start()
        _settle(config, INSIDE_ID if own_users else STRANGER_ID)
        inside()
        os._exit(0)
    try:
        report(pid)
        if own_users:
            _map_ids(pid)
        os.write(went, b"1")
    except OSError:
        os.kill(pid, signal.SIGKILL)
        raise
    os._exit(0)


def _clone() -> tuple[int, bool]:
    """Forks into new namespaces: 0 in the fork, else its pid; and whether users are among them.

    Root can do without those where they are forbidden.
    """
    flags = _NAMESPACES | _CLONE_PARENT | signal.SIGCHLD
    try:
        return kernel.call("clone", flags | kernel.CLONE_NEWUSER, 0, 0, 0, 0), True
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EUSERS)
        reason = OSError(error.errno, _NO_MORE if full else _FORBIDDEN)
    if os.geteuid() != 0:
        raise reason
    try:
        return kernel.call("clone", flags, 0, 0, 0, 0), False
    except OSError:
        raise reason from None


def _map_ids(pid: int) -> None:
    """Writes who the ids of the new namespace are: a stranger where we may choose, else ourselves."""
    uid, gid = os.geteuid(), os.getegid()
    folder = f"/proc/{pid}"
    if uid == 0:
        try:
            _write(f"{folder}/uid_map", f"0 0 1\n{INSIDE_ID} {STRANGER_ID} 1")
            _write(f"{folder}/gid_map", f"0 0 1\n{INSIDE_ID} {STRANGER_ID} 1")
            return
        except OSError:  # root without the capabilities, or in a namespace that has no such id
            pass
    try:
        _write(f"{folder}/setgroups", "deny")
        _write(f"{folder}/uid_map", f"{INSIDE_ID} {uid} 1")
        _write(f"{folder}/gid_map", f"{INSIDE_ID} {gid} 1")
    except OSError as error:
        raise OSError(error.errno, f"no user can be given to a user namespace: {error.strerror}") from None


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _settle(config: dict[str, Any], user: int) -> None:
    """Makes the new root folder, moves into it, and becomes an ordinary user there."""
    try:
        kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    except PermissionError as error:
        raise OSError(error.errno, _NO_MOUNTS) from None
    # What is to be shown is opened first: the new root may be mounted over where it lies.
    sources = [
        (path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in config["shown"] if os.path.exists(path)
    ]
    sources += [
        (path, os.open(path, os.O_PATH | os.O_CLOEXEC))
        for path in (f"/dev/{name}" for name in DEVICES)
        if os.path.exists(path)
    ]
    root = _mount_point()
    kernel.mount(
        "guerdon", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=111,size=1m,nr_inodes=4096"
    )
    os.chdir(root)
    for path, descriptor in sources:
        _show(path, descriptor)
    for link, target in config["links"]:
        _make_folder(os.path.dirname("." + link))
        os.symlink(target, "." + link)
    os.mkdir("." + BOX)
    options = f"mode=777,size={config['scratch_mb']}m,nr_inodes=4096"
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | (0 if config["commands"] else kernel.MS_NOEXEC)
    kernel.mount("box", "." + BOX, "tmpfs", flags, options)
    if not os.path.lexists("./tmp"):
        os.symlink(BOX[1:], "./tmp")
    if config["commands"] and landlock.abi():
        _offer_streams()
    kernel.pivot_root(".", ".")
    kernel.unmount(".", kernel.MNT_DETACH)
    os.chdir("/")
    kernel.mount(
        "none",
        "/",
        None,
        kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV,
    )
    for _, descriptor in sources:
        os.close(descriptor)
    kernel.set_host_name("sandbox")
    if os.geteuid() == 0:
        kernel.become(user)


def _offer_streams() -> None:
    """Makes ``/dev/stdin`` and its like, by which scripts and programs for node read their input.

    They lead through a /proc that shows this namespace's processes and nothing else; Landlock keeps all files
    in it from being opened. Where there is no Landlock, or the kernel refuses one, there are none.
    """
    os.mkdir("./proc")
    flags = kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    for options in ("hidepid=2,subset=pid", None):
        try:
            kernel.mount("proc", "./proc", "proc", flags, options)
        except OSError:
            continue
        break
    for name, target in STREAMS.items():
        os.symlink(target, f"./dev/{name}")


def _mount_point() -> str:
    for path in ("/tmp", "/run", "/var/tmp", "/mnt"):
        if os.path.isdir(path):
            return path
    raise OSError("there is no folder to mount the sandbox's root on: make /tmp")


def _make_folder(path: str) -> None:
    """Makes a folder and those above it; what is in them cannot be listed, since it reveals the host."""
    made = ""
    for part in path.split("/"):
        made += f"{part}/"
        if not os.path.isdir(made):
            os.mkdir(made, 0o111)


def _show(path: str, descriptor: int) -> None:
    """Binds what the descriptor is open on into the new root under its old path, for reading only."""
    here = "." + path
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        _make_folder(here)
    else:
        _make_folder(os.path.dirname(here))
        os.close(os.open(here, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o644))
    source = f"/proc/self/fd/{descriptor}"
    try:
        kernel.mount(source, here, None, kernel.MS_BIND)
    except OSError:
        # It holds mounts of its own, which a user namespace may not take apart.
        kernel.mount(source, here, None, kernel.MS_BIND | kernel.MS_REC)
    if path.startswith("/dev/"):
        return
    try:
        kernel.set_mount_attributes(here, kernel.MOUNT_READ_ONLY_NO_SUID_NO_DEVICES)
        return
    except OSError:  # before Linux 5.12
        pass
    # Flags that the mount has cannot be taken away here, so they have to be repeated.
    has = os.statvfs(here).f_flag
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV
    for flag, taken in _KEPT:
        flags |= taken if has & flag else 0
    kernel.mount("none", here, None, flags)
