"""A program that tries to get out of the sandbox, and prints what it came to: [what, held, detail].

Run as a program under test, so it knows nothing of the package. Its arguments are a file of the host's that
its user could read and write, a process of the host's, and the host's environment variables. Beside the file
lie two more, with 1 and 2 at the end of their names. Whatever should succeed harms nothing but these files.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_ARM = os.uname().machine == "aarch64"
_NAMESPACES = (0x1000_0000, 0x2_0000, 0x4000_0000, 0x2000_0000, 0x0800_0000, 0x0400_0000, 0x0200_0000)
_REFUSED = (errno.EPERM, errno.ENOSYS, errno.EACCES)
_LOOPBACK = ("127.0.0.1", 9)

# x86_64, aarch64
_CALLS = {
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "clone3": (435, 435),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "io_uring_setup": (425, 425),
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "kexec_load": (246, 104),
    "syslog": (103, 116),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "sethostname": (170, 161),
    "clock_settime": (227, 112),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "msgget": (68, 186),
    "capset": (126, 91),
    "seccomp": (317, 277),
    "execve": (59, 221),
}
_SEIZE = 0x4206
_NOWHERE = 1
"""An address at which there is nothing: a call that is let in fails over it before it does anything."""

Attempt = Callable[[], Any]


def _call(name: str, *arguments: int) -> Attempt:
    """Held only where the call is refused as such: that its arguments make no sense is no wall."""

    def attempt() -> None:
        words = [ctypes.c_long(value) for value in (*arguments, 0, 0, 0, 0, 0)[:5]]
        if _libc.syscall(ctypes.c_long(_CALLS[name][_ARM]), *words) == -1:
            code = ctypes.get_errno()
            if code in _REFUSED:
                raise OSError(code, name)
        return name  # type: ignore[return-value]

    return attempt


def _calls(names: str) -> list[Attempt]:
    return [_call(name, _NOWHERE, _NOWHERE, -1) for name in names.split()]


def _execute(path: str) -> Attempt:
    # Kept by the attempt for as long as it may be made.
    name = ctypes.create_string_buffer(os.fsencode(path))

    def attempt() -> Any:
        return _call("execve", ctypes.addressof(name), _NOWHERE, _NOWHERE)()

    return attempt


def _fork() -> str:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "fork"


def _raised(which: int) -> Attempt:
    def attempt() -> str:
        try:
            resource.setrlimit(which, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ValueError as error:
            raise OSError(errno.EPERM, str(error)) from None
        return f"limit {which}"

    return attempt


def _socket(family: int, kind: int) -> Attempt:
    def attempt() -> str:
        with socket.socket(family, kind):
            return f"a socket of family {family}"

    return attempt


def _read(path: str) -> Attempt:
    def attempt() -> str:
        with open(path, "rb") as file:
            file.read(1)
        return path

    return attempt


def _make(folder: str) -> Attempt:
    def attempt() -> str:
        path = f"{folder}/guerdon-escape-{os.urandom(8).hex()}"
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_WRONLY))
        os.unlink(path)
        return path

    return attempt


def _none_of(found: Callable[[], Sequence[Any]]) -> Attempt:
    """An attempt to find something: held where there is nothing."""

    def attempt() -> str:
        if not (there := found()):
            raise OSError(errno.ENOENT, "nothing there")
        return ", ".join(map(str, there))

    return attempt


def _open_descriptors() -> list[int]:
    found = []
    for number in range(3, 1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    return found


def _signal_others(host: int) -> list[Attempt]:
    targets = {os.getppid() or 1, 1, host, -1}

    def to(pid: int) -> Attempt:
        return lambda: os.kill(pid, 0)

    def by_descriptor() -> None:
        descriptor = os.pidfd_open(os.getppid() or 1)
        signal.pidfd_send_signal(descriptor, 0)

    return [*map(to, targets), by_descriptor, lambda: os.killpg(os.getpgid(0) + 1, 0)]


def attempts(file: str, host: int, variables: Sequence[str]) -> dict[str, list[Attempt]]:
    """What is tried, by what it would mean if it worked."""
    return (
        _on_files(file, host)
        | _on_surrounding_state(variables)
        | _on_processes(file, host)
        | _on_the_kernel()
        # The last, since a change of the user holds for all later attempts.
        | _on_privileges()
    )


def _on_files(file: str, host: int) -> dict[str, list[Attempt]]:
    folder = os.path.dirname(file)
    return {
        "reading host files": [
            *map(_read, (file, "/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/cpuinfo")),
            *map(
                _read, (f"/proc/{host}/cmdline", "/sys/kernel/mm/transparent_hugepage/enabled", "/dev/kmsg")
            ),
            lambda: os.link(file, "linked"),
        ],
        "listing host folders": [
            lambda path=path: os.listdir(path)  # type: ignore[misc]
            for path in (folder, "/etc", "/home", "/root", "/proc", "/sys", "/var", "/run")
        ],
        "seeing that host files exist": [lambda: f"its size is {os.stat(file).st_size}"],
        "writing outside of the working directory": [
            *map(_make, ("", folder, "/usr", "/etc", "/var/tmp", "/dev", "/dev/shm", "/home", sys.prefix)),
            lambda: os.truncate(file, 0),
            lambda: os.rename(f"{file}1", f"{file}3"),
            lambda: os.unlink(f"{file}2"),
        ],
        "changing what files are": [
            *(
                lambda path=path: os.chmod(path, os.stat(path).st_mode & 0o7777)
                for path in ("/", "/dev/null")
            ),
            lambda: os.chmod(file, 0o777),
            lambda: os.utime(file),
            lambda: os.chown(file, 1, 1),
            lambda: os.setxattr(file, "user.guerdon", b"x"),
            lambda: os.mknod("device", 0o600 | 0o020000, os.makedev(1, 3)),
        ],
    }


def _on_surrounding_state(variables: Sequence[str]) -> dict[str, list[Attempt]]:
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW)
    return {
        "the host's environment": [_none_of(lambda: [name for name in variables if name in os.environ])],
        "inherited descriptors": [_none_of(_open_descriptors)],
        "network and sockets": [
            *(_socket(family, kind) for family, kind in itertools.product(range(1, 46), kinds)),
            lambda: socket.create_connection(_LOOPBACK, timeout=0.2),
        ],
    }


def _on_processes(file: str, host: int) -> dict[str, list[Attempt]]:
    above = os.getppid() or 1
    return {
        "starting processes": [_fork, _call("clone3"), lambda: os.posix_spawn(sys.executable, ["x"], {})],
        "executing files": [
            _execute(path) for path in (file, sys.executable or "/usr/bin/python3", "/bin/sh")
        ],
        "signalling other processes": _signal_others(host),
        "tracing other processes": [
            *(_call("ptrace", _SEIZE, pid) for pid in (above, host)),
            *(_call(name, above) for name in ("process_vm_readv", "process_vm_writev", "kcmp")),
            _call("pidfd_getfd"),
        ],
    }


def _on_the_kernel() -> dict[str, list[Attempt]]:
    return {
        "namespaces": [*(_call("unshare", flag) for flag in _NAMESPACES), _call("setns", -1)],
        "mounts": _calls(
            "mount umount2 pivot_root chroot open_tree move_mount fsopen fsmount mount_setattr "
            "name_to_handle_at open_by_handle_at"
        ),
        "kernel interfaces": _calls(
            "io_uring_setup bpf keyctl add_key request_key perf_event_open userfaultfd fanotify_init seccomp"
        ),
        "running the machine": _calls(
            "init_module finit_module kexec_load syslog reboot swapon sethostname clock_settime acct quotactl"
        ),
    }


def _on_privileges() -> dict[str, list[Attempt]]:
    limits = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC)
    return {
        "raising limits": [*map(_raised, limits), lambda: os.nice(-1)],
        "memory that is not counted": [lambda: os.memfd_create("x"), *_calls("memfd_secret shmget msgget")],
        "becoming another user": [
            *(lambda change=change: change(0) for change in (os.setuid, os.setgid) if os.getuid() != 0),
            _call("capset", _NOWHERE, _NOWHERE),
            lambda: os.setgroups([0]),
            lambda: os.setresuid(1, 1, 1),
        ],
    }


def main(file: str, host: str, variables: str) -> None:
    """Makes each attempt and prints what it came to."""
    found: list[tuple[str, bool, str]] = []
    for what, tries in attempts(file, int(host), json.loads(variables)).items():
        refused, through = [], []
        for attempt in tries:
            try:
                through.append(str(attempt()))
            except OSError as error:
                refused.append(errno.errorcode.get(error.errno or 0, str(error)))
        said = through or sorted(set(refused))
        found.append((what, not through, ", ".join(said)[:200]))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
