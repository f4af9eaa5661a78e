"""System calls that Python has no function for. Each raises OSError with the kernel's own number."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import time
from typing import ClassVar

from .numbers import NUMBERS, machine

CLONE_NEWNS = 0x0002_0000
CLONE_NEWCGROUP = 0x0200_0000
CLONE_NEWUTS = 0x0400_0000
CLONE_NEWIPC = 0x0800_0000
CLONE_NEWUSER = 0x1000_0000
CLONE_NEWPID = 0x2000_0000
CLONE_NEWNET = 0x4000_0000

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_NOATIME = 0x400
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x4_0000
MNT_DETACH = 0x2
MOUNT_READ_ONLY_NO_SUID_NO_DEVICES = 0x1 | 0x2 | 0x4
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
UMOUNT_NOFOLLOW = 0x8

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_SET_KEEPCAPS = 8
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39
PR_SET_THP_DISABLE = 41
PR_CAP_AMBIENT = 47
_AMBIENT_RAISE = 2
_AMBIENT_CLEAR_ALL = 4
CAP_DAC_READ_SEARCH = 2

_CAPABILITIES_VERSION_3 = 0x2008_0522
_KEYCTL_JOIN_SESSION_KEYRING = 1
_CLOSE_RANGE_CLOEXEC = 4
_SECCOMP_SET_MODE_FILTER = 1


class _FilterProgram(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_: ClassVar = [("instructions", ctypes.c_ushort), ("first", ctypes.c_void_p)]


_library = ctypes.CDLL(None, use_errno=True)
_syscall = _library.syscall
_syscall.restype = ctypes.c_long
# The interpreter's lock stays taken, which is what makes the fork one that can go on.
_fork = ctypes.PyDLL(None, use_errno=True).fork
# On a machine that is not supported the functions below say so when they are called, not the import.
_NUMBERS = NUMBERS.get(os.uname().machine, {})  # type: ignore[call-overload]


def call(name: str, *arguments: int | bytes | None) -> int:
    """Makes the system call of that name; bytes are passed as a pointer to them, None as a null pointer.

    Raises OSError with the kernel's error, ENOSYS where the machine's number is not known.

    >>> call("getpid") == os.getpid()
    True
    """
    number = _NUMBERS.get(name)
    if number is None:
        machine()
        raise OSError(errno.ENOSYS, f"{name}: {os.strerror(errno.ENOSYS)}")
    # What is not wrapped would be passed as a 32-bit int, with an undefined upper half.
    words = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = _syscall(ctypes.c_long(number), *words)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result


def prctl(option: int, *arguments: int) -> int:
    """``prctl(2)``; the arguments that are not given are 0, as newer options demand."""
    words = (*arguments, 0, 0, 0, 0)[:4]
    return call("prctl", option, *words)


def unshare(flags: int) -> None:
    """Moves this process into new namespaces: an or of ``CLONE_NEW…``."""
    call("unshare", flags)


def mount(
    source: str | None, target: str, kind: str | None, flags: int = 0, options: str | None = None
) -> None:
    """``mount(2)``. None leaves an argument out."""
    call("mount", _path(source), os.fsencode(target), _path(kind), flags, _path(options))


def set_mount_attributes(target: str, attributes: int) -> None:
    """Adds ``MOUNT_…`` attributes to the mount there and to all below it."""
    path = os.fsencode(target)
    call("mount_setattr", _AT_FDCWD, path, _AT_RECURSIVE, struct.pack("=4Q", attributes, 0, 0, 0), 32)


def unmount(target: str, flags: int = 0) -> None:
    """``umount2(2)``, with ``MNT_DETACH`` or ``UMOUNT_NOFOLLOW``."""
    call("umount2", os.fsencode(target), flags)


def pivot_root(new_root: str, put_old: str) -> None:
    """Makes ``new_root`` the root of the file system and hangs the old root at ``put_old``."""
    call("pivot_root", os.fsencode(new_root), os.fsencode(put_old))


def set_host_name(name: str) -> None:
    """Names the machine, in this UTS namespace."""
    raw = os.fsencode(name)
    call("sethostname", raw, len(raw))


def no_new_privileges() -> None:
    """From here on, nothing that this process executes gains a privilege."""
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def die_with_parent(signal_number: int = 9) -> None:
    """This process gets the signal when the *thread* that made it ends.

    A parent that ended before the call is not noticed: compare ``os.getppid()`` afterwards.
    """
    prctl(PR_SET_PDEATHSIG, signal_number)


def set_dumpable(dumpable: bool) -> None:
    """Whether others of the same user may trace this process and read its memory."""
    prctl(PR_SET_DUMPABLE, int(dumpable))


def disable_huge_pages() -> None:
    """Small pages only, for this process and all that it starts: a huge one stays until all of it is unmapped."""
    prctl(PR_SET_THP_DISABLE, 1)


def set_subreaper() -> None:
    """Orphans among the descendants become children of this process."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def bound_capabilities() -> list[int]:
    """The capabilities in the bounding set of this process."""
    kept = []
    for capability in range(64):
        try:
            if prctl(PR_CAPBSET_READ, capability):
                kept.append(capability)
        except OSError:  # beyond the last one that this kernel knows
            break
    return kept


def drop_capabilities(keep: int | None = None) -> None:
    """Gives up every capability but ``keep``: bounding, ambient, inheritable, permitted and effective.

    Who may not change the bounding set keeps it; together with no_new_privileges it grants nothing. What is
    kept stays through an exec.
    """
    _empty_bounding_set(keep)
    try:
        prctl(PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    except OSError as error:
        if error.errno != errno.EINVAL:  # before Linux 4.3 there is no such set
            raise
    kept = 0 if keep is None else 1 << keep
    call(
        "capset",
        struct.pack("=Ii", _CAPABILITIES_VERSION_3, 0),
        struct.pack("=6I", kept, kept, kept, 0, 0, 0),
    )
    if keep is not None:
        prctl(PR_CAP_AMBIENT, _AMBIENT_RAISE, keep)


def _empty_bounding_set(keep: int | None = None) -> None:
    for capability in bound_capabilities():
        if capability == keep:
            continue
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError as error:
            if error.errno != errno.EPERM:
                raise
            break


def become(user: int, keep: int | None = None) -> None:
    """Goes on as that user and group. The capabilities stay permitted and are no longer effective; none but
    ``keep`` can be had anew.

    Raises OSError where this process may not, or there is no such user in its namespace.
    """
    try:
        os.setgroups([])
        os.setresgid(user, user, user)
        _empty_bounding_set(keep)
        prctl(PR_SET_KEEPCAPS, 1)
        os.setresuid(user, user, user)
    except OSError as error:
        raise OSError(error.errno, f"root may not become another user here: {error.strerror}") from None
    prctl(PR_SET_KEEPCAPS, 0)


def close_range(first: int, last: int = 0xFFFF_FFFF, *, on_exec: bool = False) -> None:
    """Closes the descriptors from ``first`` to ``last``, both among them; or marks them to close on exec."""
    call("close_range", first, last, _CLOSE_RANGE_CLOEXEC if on_exec else 0)


def open_process(pid: int) -> int:
    """A descriptor for the process, readable when it has ended. It does not outlive an exec."""
    return call("pidfd_open", pid, 0)


class Filter:
    """An array of ``struct sock_filter``, ready to be installed in a thread, such as by a later fork.

    It is installed once for each run of a program, so that installing it makes no object.
    """

    def __init__(self, program: bytes) -> None:
        machine()
        self.program = ctypes.create_string_buffer(program, len(program))
        """May be changed until the filter is installed."""
        self._description = _FilterProgram(len(program) // 8, ctypes.addressof(self.program))
        words = (_NUMBERS["seccomp"], _SECCOMP_SET_MODE_FILTER)
        self._words = (*map(ctypes.c_long, words),)
        self._reference = ctypes.byref(self._description)

    def install(self, flags: int = 0) -> None:
        """``seccomp(2)``, with ``SECCOMP_FILTER_FLAG_…``. Raises OSError."""
        thread = _syscall(*self._words, flags, self._reference)
        if thread == -1:
            code = ctypes.get_errno()
            raise OSError(code, f"seccomp: {os.strerror(code)}")
        if thread:
            raise OSError(errno.EBUSY, f"seccomp: thread {thread} has a filter of its own")


def fork() -> int:
    """``fork(2)`` without what Python and its modules hang on to it: nearly all of that is locks of threads.

    Only for a process without further threads, whose fork gives ``random`` a new seed. Raises OSError.
    """
    pid: int = _fork()
    if pid == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"fork: {os.strerror(code)}")
    return pid


def join_session_keyring() -> None:
    """Gives this process an empty session keyring, so that it holds no key of the host's session."""
    call("keyctl", _KEYCTL_JOIN_SESSION_KEYRING, None)


def processor_seconds(pid: int) -> float:
    """Seconds of processor time that all threads of the process have used. Raises OSError when it is gone."""
    return time.clock_gettime((~pid << 3) | 2)


def _path(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)
