"""A program that tries to get out of the sandbox, and prints what it came to: [what, held, detail].

Run as a program under test, so it knows nothing of the package.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import socket
import sys
from collections.abc import Callable
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_ARM = os.uname().machine == "aarch64"
_UNSHARE, _PTRACE = (97, 117) if _ARM else (272, 101)
_PTRACE_ATTACH = 16
_NAMESPACES = (0x1000_0000, 0x2_0000, 0x4000_0000, 0x2000_0000)

Attempt = Callable[[], Any]


def _system_call(number: int, *arguments: int) -> None:
    if _libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _raise_limit() -> None:
    try:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except ValueError as error:
        raise OSError(errno.EPERM, str(error)) from None


def _socket(name: str) -> None:
    family = getattr(socket, name, None)
    if family is None:
        raise OSError(errno.EAFNOSUPPORT, name)
    raw = name in ("AF_NETLINK", "AF_PACKET", "AF_ALG")
    socket.socket(family, socket.SOCK_RAW if raw else socket.SOCK_STREAM).close()


def _read(path: str) -> str:
    with open(path) as file:
        return file.read(1)


def _above() -> int:
    return os.getppid() or 1


ATTEMPTS: dict[str, list[Attempt]] = {
    "reading host files": [
        *(lambda path=path: _read(path) for path in ("/etc/passwd", "/etc/hostname", "/proc/self/environ")),
        *(lambda path=path: os.listdir(path) for path in ("/home", "/root", "/proc", "/var")),
    ],
    "seeing that host files exist": [lambda: os.stat("/etc/passwd")],
    "writing outside of the working directory": [
        lambda folder=folder: os.close(os.open(f"{folder}/guerdon-escape", os.O_CREAT | os.O_WRONLY))  # type: ignore[misc]
        for folder in ("", "/usr", "/etc", "/var/tmp", "/dev/shm", "/home")
    ],
    "changing modes": [lambda: os.chmod("/", 0o755), lambda: os.chmod("/etc/passwd", 0o644)],
    "network": [
        lambda name=name: _socket(name)  # type: ignore[misc]
        for name in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG")
    ],
    "starting processes": [_fork],
    "executing files": [lambda: os.execv(sys.executable or "/bin/sh", ["sh", "-c", "exit 7"])],
    "signalling others": [lambda pid=pid: os.kill(pid, 0) for pid in (_above(), 1, -1)],  # type: ignore[misc]
    "namespaces": [lambda flag=flag: _system_call(_UNSHARE, flag) for flag in _NAMESPACES],  # type: ignore[misc]
    "tracing others": [lambda: _system_call(_PTRACE, _PTRACE_ATTACH, _above(), 0, 0)],
    "raising limits": [_raise_limit],
    "memory files without bounds": [lambda: os.memfd_create("x")],
}


def main() -> None:
    """Makes each attempt and prints what it came to."""
    found: list[tuple[str, bool, str]] = []
    for what, attempts in ATTEMPTS.items():
        said = []
        for attempt in attempts:
            try:
                said.append((False, repr(attempt())))
            except OSError as error:
                said.append((True, errno.errorcode.get(error.errno or 0, str(error))))
        held = all(refused for refused, _ in said)
        found.append((what, held, next(detail for refused, detail in said if refused == held)[:100]))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
