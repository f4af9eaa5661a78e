"""Which files a confined process may touch, by the kernel's Landlock.

It holds without privileges and without namespaces, for this thread and all that it starts. It covers opening,
listing, making, removing and executing. It does not cover whether a file exists, its metadata and changes to
them (stat, chmod, chown, utime, extended attributes), nor readlink and chdir: seccomp has to.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Sequence

from . import kernel

EXECUTE = 1 << 0
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15

_READ = READ_FILE | READ_DIR
_WRITE = (
    _READ
    | WRITE_FILE
    | TRUNCATE
    | REFER
    | REMOVE_DIR
    | REMOVE_FILE
    | MAKE_DIR
    | MAKE_REG
    | MAKE_FIFO
    | MAKE_SYM
)
_ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11
_FIRST_ALONE = 3
_VERSION = 1
_PATH_BENEATH = 1


def abi() -> int:
    """The version of Landlock that this kernel has; 0 where it has none or keeps it off.

    Below 3 it does not keep files from being truncated, below 6 neither signals nor abstract sockets.
    """
    try:
        return kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    except OSError:
        return 0


def check_alone() -> None:
    """Raises OSError where Landlock is not enough without namespaces: its first versions let programs empty files
    of the machine, and the first one keeps them from moving their own from folder to folder."""
    if 0 < (version := abi()) < _FIRST_ALONE:
        why = "does not keep files from being emptied: use Linux 6.2 or later"
        raise OSError(f"Landlock {version} of this kernel {why}")


def restrict(
    *,
    readable: Sequence[str | int] = (),
    executable: Sequence[str | int] = (),
    writable: Sequence[str | int] = (),
) -> int:
    """Leaves this thread, and all that it starts from now on, nothing but what is named; returns the abi.

    A directory stands for all beneath it, an int is a descriptor of one (``O_PATH`` will do). ``executable``
    is readable too; ``writable`` is readable, and has its files made, changed, renamed and removed, but
    neither executed nor made devices or sockets. TCP, signals to the outside and abstract sockets of others
    are forbidden as far as the kernel can. Files that are already open stay so.

    Gives up new privileges. Raises OSError where there is no Landlock, a path is missing, or 16 layers lie
    already.
    """
    descriptor = rules(readable=readable, executable=executable, writable=writable)
    try:
        enforce(descriptor)
    finally:
        os.close(descriptor)
    return abi()


def rules(
    *,
    readable: Sequence[str | int] = (),
    executable: Sequence[str | int] = (),
    writable: Sequence[str | int] = (),
) -> int:
    """What ``restrict`` leaves, as a descriptor for ``enforce``."""
    version = kernel.call("landlock_create_ruleset", None, 0, _VERSION)
    handled = _handled(version)
    descriptor = _ruleset(version, handled)
    try:
        for rights, places in ((_READ, readable), (_READ | EXECUTE, executable), (_WRITE, writable)):
            for place in places:
                _allow(descriptor, place, rights & handled)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def enforce(descriptor: int) -> None:
    """Puts rules over this thread and all that it starts, for good."""
    kernel.no_new_privileges()
    kernel.call("landlock_restrict_self", descriptor, 0)


def _handled(version: int) -> int:
    """All rights to files that this version knows."""
    if version >= 5:
        return (IOCTL_DEV << 1) - 1
    if version >= 3:
        return (TRUNCATE << 1) - 1
    return (REFER << 1) - 1 if version == 2 else (MAKE_SYM << 1) - 1


def _ruleset(version: int, handled: int) -> int:
    """``struct landlock_ruleset_attr`` has grown: files, then TCP with 4, then scopes with 6."""
    attributes = struct.pack("=Q", handled)
    if version >= 4:
        attributes += struct.pack("=Q", _BIND_AND_CONNECT_TCP)
    if version >= 6:
        attributes += struct.pack("=Q", _ABSTRACT_SOCKETS_AND_SIGNALS)
    return kernel.call("landlock_create_ruleset", attributes, len(attributes), 0)


def _allow(rules: int, place: str | int, rights: int) -> None:
    descriptor = place if isinstance(place, int) else os.open(place, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _ON_FILES  # the kernel refuses a rule with rights that only directories have
        kernel.call("landlock_add_rule", rules, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        if not isinstance(place, int):
            os.close(descriptor)
