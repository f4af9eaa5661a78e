"""Which system calls a confined process may make.

Two filters lie over each other. The fork server's holds for it and for all it starts: an allow-list. The
program's takes away what the server needs and a program does not: to start processes, to signal others.
"""

from __future__ import annotations

import errno
import functools
import struct
from collections.abc import Iterable
from typing import Literal

from . import kernel
from .bpf import (
    ALLOWED,
    ARCHITECTURE,
    KILLED,
    NUMBER,
    Block,
    assemble,
    by_number,
    high,
    if_any_bit,
    if_at_least,
    if_equal,
    if_one_of,
    if_zero,
    load,
    low,
    masked,
    refused,
)
from .numbers import NUMBERS, Architecture

Chmod = Literal["refused", "pretended", "allowed"]
"""What becomes of chmod: it fails, it seems to succeed and does nothing, or it is done.

Linkers make their output executable. Landlock does not keep chmod off the files of the machine, so where
nothing else does, ``allowed`` lets a program change the modes of every file that its user owns.
"""

_ARCHITECTURES: dict[Architecture, int] = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FIRST_COMMON = 424
"""From this number on, calls are new enough for every library to have a way without them."""
_NO_PID = 0x7FF1_D0D0
"""Where the pid of the program goes: above every pid that Linux gives out."""

_FORBIDDEN = refused(errno.EPERM)
_UNKNOWN = refused(errno.ENOSYS)
_SEEMS_DONE = refused(0)
_UNSUPPORTED = refused(errno.ENOTSUP)

_READING = """
    read readv pread64 preadv preadv2 lseek close stat lstat fstat newfstatat statx access faccessat faccessat2
    readlink readlinkat getdents getdents64 getcwd chdir fchdir statfs fstatfs
"""
_WRITING = """
    write writev pwrite64 pwritev pwritev2 truncate ftruncate rename renameat renameat2 mkdir mkdirat rmdir
    link linkat symlink symlinkat unlink unlinkat umask sendfile
"""
# Reading a file of the host's is enough for them: they would lock it or have it written to the disk. What a program
# writes ends with it and nobody shares it, so nothing is lost where they only seem to succeed.
_PRETENDED = "flock fsync fdatasync sync_file_range fadvise64"
# They move pages of the host's files about in the kernel, and every library has a way without.
_COPIED_BY_HAND = "splice tee copy_file_range openat2"
_DESCRIPTORS = """
    dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait
    epoll_pwait epoll_pwait2 eventfd eventfd2 shutdown getsockname getpeername
"""
_MEMORY = """
    mprotect munmap brk mremap membarrier
"""
_PROCESS = """
    arch_prctl set_tid_address set_robust_list rseq restart_syscall futex uretprobe uprobe fork vfork execve
    exit exit_group wait4 waitid kill tkill tgkill pidfd_open pidfd_send_signal rt_sigaction rt_sigprocmask
    rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause alarm getitimer setitimer
    timer_create timer_settime timer_gettime timer_getoverrun timer_delete setsid
    landlock_restrict_self
"""
_ASKING = """
    getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp getsid
    capget getrlimit setrlimit getrusage getpriority sched_yield sched_getaffinity sched_getscheduler
    sched_getparam sched_getattr sched_get_priority_max sched_get_priority_min sched_rr_get_interval getcpu
    uname sysinfo times time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep getrandom
"""
# Such as ls asks for, which takes all but this answer as an error.
_ASKING_ATTRIBUTES = "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr"
_CHMOD = "chmod fchmod fchmodat fchmodat2"

_NEW_NAMESPACE = 0x7E02_0000
_CLONE_THREAD = 0x0001_0000
_CLONE_FILES = 0x0000_0400
_CLOSE_RANGE_UNSHARE = 2
# A parent can neither be traced along nor be made the sibling of its child, who would then outlive it.
_CLONE_UNWANTED = _NEW_NAMESPACE | 0x0000_2000 | 0x0000_8000

_TERMINAL_QUESTIONS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, 0x802C_542A)
"""TCGETS, TIOCGPGRP, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TCGETS2."""

_F_SETFL = 4
_O_ASYNC = 0x2000
_DESCRIPTOR_COMMANDS = (0, 1, 2, 3, 5, 36, 1030, 1032, 1033, 1034)
"""F_DUPFD, F_GETFD, F_SETFD, F_GETFL, whether there are locks, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, seals.
Not F_SETOWN and F_SETSIG, which send signals to any process, nor F_SETPIPE_SZ, which takes kernel memory."""
_LOCK_COMMANDS = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW and the same of open files. They only seem to succeed: the kernel pays for each of any number of
locks, and one on a file of the host's would hold up who uses it there."""
_O_TMPFILE = 0x40_0000

_MAP_SHARED = 1
_MAP_ANONYMOUS = 0x20
_MAP_HUGETLB = 0x4_0000
_PAGE = 4096
_MS_SYNC = 4
_ADVICE = (0, 1, 2, 3, 4, 8, 9, 10, 11, 15, 16, 17, 18, 19, 22, 23)
"""What programs may say of their memory. Not MADV_HUGEPAGE and MADV_COLLAPSE: a huge page stays whole in memory until
all of it is unmapped, and what is unmapped counts no more. Nor what moves pages of the host's files out of memory."""
_MESSAGE_FLAGS = 0x4000_C1F2
"""MSG_PEEK, TRUNC, DONTWAIT, EOR, WAITALL, NOSIGNAL, MORE, CMSG_CLOEXEC. Not MSG_OOB, which is rarely used code."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PROCESS_OPTIONS = (
    _PR_SET_PDEATHSIG,
    2,
    3,
    _PR_SET_DUMPABLE,
    15,
    16,
    21,
    _PR_SET_SECCOMP,
    23,
    30,
    38,
    39,
    42,
)
"""PDEATHSIG, dumpable, names, SECCOMP, CAPBSET_READ, GET_TIMERSLACK, NO_NEW_PRIVS, GET_THP_DISABLE.
Not SET_VMA, which has the kernel keep a name for each mapping."""

_AF_UNIX = 1
_CONNECTED = (1, 5)
"""SOCK_STREAM and, for Rust's way to start a process, SOCK_SEQPACKET. A pair of datagram sockets could send to
any other by address, which no filter can see in sendmsg."""
_SOL_SOCKET = 1
_SOCKET_OPTIONS = (2, 9, 16, 20, 21)
"""SO_REUSEADDR, SO_KEEPALIVE, SO_PASSCRED, SO_RCVTIMEO, SO_SNDTIMEO. No filters, nor SO_SNDBUF and SO_RCVBUF, which
take kernel memory."""

_SECCOMP_MODE_FILTER = 1
_SECCOMP_TSYNC = 1
_SECCOMP_LOG = 2
# A listener would let a process answer the calls of others.
_SECCOMP_UNWANTED = 0xFFFF_FFFF & ~(_SECCOMP_TSYNC | _SECCOMP_LOG | 4 | 16)


@functools.cache
def server_filter(machine: Architecture, *, chmod: Chmod = "refused") -> bytes:
    """The allow-list for a fork server and all that it starts: interpreters, compilers, shells.

    Listed is what interpreters, compilers and programs were seen to call, and what Python's own functions need.
    No mounts, namespaces, tracing, sockets but connected pairs, owners, times or attributes of files, shared
    memory, keys, io_uring. What is not listed fails with EPERM, what libraries have a way without with
    ENOSYS. Another machine's calls (32-bit ones on a 64-bit machine) kill the process.

    >>> len(server_filter("x86_64")) % 8
    0
    """
    numbers = NUMBERS[machine]
    blocks = dict.fromkeys(range(_FIRST_COMMON, max(numbers.values()) + 1), _UNKNOWN)
    for names in (_READING, _WRITING, _DESCRIPTORS, _MEMORY, _PROCESS, _ASKING):
        blocks |= _for_all(machine, names, ALLOWED)
    blocks |= _for_all(machine, _CHMOD, _chmod_verdict(chmod))
    blocks |= _for_all(machine, _ASKING_ATTRIBUTES, _UNSUPPORTED)
    # It takes room faster than anyone can look; libraries write instead.
    blocks |= _for_all(machine, "fallocate", _UNSUPPORTED)
    blocks |= _for_all(machine, _COPIED_BY_HAND, _UNKNOWN)
    blocks |= _for_all(machine, _PRETENDED, _SEEMS_DONE)
    for names, block in _server_conditions().items():
        blocks |= _for_all(machine, names, block)
    return assemble(_for_machine(machine, blocks, _FORBIDDEN, _UNKNOWN))


class ProgramFilter:
    """The filter of one kind of run, made once; each run puts its own pid in.

    >>> template = ProgramFilter("x86_64", processes=False, execute=False)
    >>> template.for_pid(7) == program_filter("x86_64", 7, processes=False, execute=False)
    True
    """

    def __init__(
        self,
        machine: Architecture,
        *,
        processes: bool,
        execute: bool,
        signal_others: bool = False,
        chmod: Chmod = "refused",
    ) -> None:
        blocks = _for_all(machine, "clone3 sendfile", _UNKNOWN)
        # Descriptors that lie in a socket's queue are in no process, so nobody could count what they hold.
        denied = "setsid seccomp sendmsg landlock_restrict_self"
        if not processes:
            denied += " fork vfork pidfd_open"
            blocks |= _for_all(machine, "clone", load(low(0), if_any_bit(_CLONE_THREAD, ALLOWED, _FORBIDDEN)))
        if not execute:
            denied += " execve execveat"
        if not signal_others:
            denied += " pidfd_send_signal"
            own = load(low(0), if_equal(_NO_PID, ALLOWED, _FORBIDDEN))
            blocks |= _for_all(machine, "tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo", own)
            group = load(low(0), if_equal(_NO_PID, ALLOWED, if_equal(0, ALLOWED, _FORBIDDEN)))
            blocks |= _for_all(machine, "kill", group if processes else own)
        blocks |= _for_all(machine, denied, _FORBIDDEN)
        # Whoever looks at what it holds open sees nothing of one that is not dumpable.
        options = (_PR_SET_SECCOMP, _PR_SET_PDEATHSIG, _PR_SET_DUMPABLE)
        blocks |= _for_all(machine, "prctl", load(low(0), if_one_of(options, _FORBIDDEN, ALLOWED)))
        if chmod != "allowed":
            blocks |= _for_all(machine, _CHMOD, _chmod_verdict(chmod))
        self._program = assemble(_for_machine(machine, blocks, ALLOWED, ALLOWED))
        self._ready = kernel.Filter(self._program)
        # The constant is the last of an instruction's 8 bytes.
        mark = struct.pack("=I", _NO_PID)
        self._places = [at for at in range(4, len(self._program), 8) if self._program[at : at + 4] == mark]

    def for_pid(self, pid: int) -> bytes:
        """The filter for the process that has this pid, as it sees it itself."""
        return self._program.replace(struct.pack("=I", _NO_PID), struct.pack("=I", pid))

    def install(self, pid: int) -> None:
        """Puts the filter over this thread, whose process has that pid and has given up new privileges."""
        for place in self._places:
            struct.pack_into("=I", self._ready.program, place, pid)
        self._ready.install()


def program_filter(
    machine: Architecture,
    pid: int,
    *,
    processes: bool,
    execute: bool,
    signal_others: bool = False,
    chmod: Chmod = "refused",
) -> bytes:
    """What is taken from one run on top of server_filter, whose list it relies on.

    Without ``processes`` it starts threads only; without ``execute`` it becomes no other program. It signals
    none but itself and, with ``processes``, its own group, which it can neither leave nor found anew: the
    process has to lead a group of its own by then. ``signal_others`` lifts that; it is only for where a pid
    namespace or Landlock keeps signals in. What it starts holds the same filter, this pid in it, and so
    cannot signal itself without ``signal_others``. No further filters and Landlock layers, so those come first.
    """
    template = _program_template(machine, processes, execute, signal_others, chmod)
    return template.for_pid(pid)


def install(program: bytes, *, log: bool = False, all_threads: bool = False) -> None:
    """Puts a filter over this thread and all that it starts, for good; with ``all_threads`` over all of them.

    Gives up new privileges first, which Linux demands. ``log`` has the kernel write refusals to its log.
    Raises OSError where the kernel refuses the filter.
    """
    kernel.no_new_privileges()
    flags = (_SECCOMP_LOG if log else 0) | (_SECCOMP_TSYNC if all_threads else 0)
    kernel.Filter(program).install(flags)


@functools.cache
def _program_template(
    machine: Architecture, processes: bool, execute: bool, signal_others: bool, chmod: Chmod
) -> ProgramFilter:
    return ProgramFilter(
        machine, processes=processes, execute=execute, signal_others=signal_others, chmod=chmod
    )


def _server_conditions() -> dict[str, Block]:
    """What depends on arguments. Words are halves where the kernel takes 32 bits, so the rest is no way around."""
    itself = load(low(0), if_equal(0, ALLOWED, _FORBIDDEN))
    flags = load(low(2), if_any_bit(_O_ASYNC, _FORBIDDEN, ALLOWED))
    # A thread with descriptors of its own would have as many as a process.
    shares_files = if_any_bit(_CLONE_FILES, ALLOWED, _FORBIDDEN)
    task = if_any_bit(_CLONE_UNWANTED, _FORBIDDEN, if_any_bit(_CLONE_THREAD, shares_files, ALLOWED))
    commands = if_one_of(_LOCK_COMMANDS, _SEEMS_DONE, if_equal(_F_SETFL, flags, _FORBIDDEN))
    connected = load(low(1), masked(0xF, if_one_of(_CONNECTED, ALLOWED, _FORBIDDEN)))
    socket_option = load(low(2), if_one_of(_SOCKET_OPTIONS, ALLOWED, _FORBIDDEN))
    plain_filter = load(low(1), if_any_bit(_SECCOMP_UNWANTED, _FORBIDDEN, ALLOWED))
    return {
        "open": _unless_nameless(1),
        "openat": _unless_nameless(2),
        "close_range": load(low(2), if_any_bit(_CLOSE_RANGE_UNSHARE, _FORBIDDEN, ALLOWED)),
        "mmap": _private_or_of_a_file(),
        "madvise": load(low(2), if_one_of(_ADVICE, ALLOWED, refused(errno.EINVAL))),
        "msync": load(low(2), if_any_bit(_MS_SYNC, _SEEMS_DONE, ALLOWED)),
        "clone": load(low(0), task),
        "ioctl": load(low(1), if_one_of(_TERMINAL_QUESTIONS, ALLOWED, refused(errno.ENOTTY))),
        "fcntl": load(low(1), if_one_of(_DESCRIPTOR_COMMANDS, ALLOWED, commands)),
        "prctl": load(low(0), if_one_of(_PROCESS_OPTIONS, ALLOWED, _FORBIDDEN)),
        "socketpair": load(low(0), if_equal(_AF_UNIX, connected, _FORBIDDEN)),
        "sendto": if_zero(4, _plain_message(3), _FORBIDDEN),
        "recvfrom": _plain_message(3),
        "recvmsg sendmsg": _plain_message(2),
        "setsockopt": load(low(1), if_equal(_SOL_SOCKET, socket_option, _FORBIDDEN)),
        "getsockopt": load(low(1), if_equal(_SOL_SOCKET, ALLOWED, _FORBIDDEN)),
        "seccomp": load(
            low(0),
            if_equal(_SECCOMP_MODE_FILTER, plain_filter, if_one_of((0, 2), ALLOWED, _FORBIDDEN)),
        ),
        "prlimit64 sched_setaffinity sched_setscheduler sched_setparam sched_setattr": itself,
        "setpriority": load(low(0), if_equal(0, load(low(1), if_equal(0, ALLOWED, _FORBIDDEN)), _FORBIDDEN)),
    }


def _unless_nameless(flags: int) -> Block:
    """Opening a file, but none that never has a name; libraries remove its name instead."""
    return load(low(flags), if_any_bit(_O_TMPFILE, _UNSUPPORTED, ALLOWED))


def _private_or_of_a_file() -> Block:
    """A mapping that counts as long as its memory is there. All pages of a shared one without a file stay until the
    last of it is unmapped, so that it may have one page only: enough for what processes tell each other."""
    one_page = load(
        high(1), if_equal(0, load(low(1), if_at_least(_PAGE + 1, _FORBIDDEN, ALLOWED)), _FORBIDDEN)
    )
    nameless = if_any_bit(_MAP_SHARED, one_page, ALLOWED)
    return load(low(3), if_any_bit(_MAP_HUGETLB, _FORBIDDEN, if_any_bit(_MAP_ANONYMOUS, nameless, ALLOWED)))


def _plain_message(flags: int) -> Block:
    return load(low(flags), if_any_bit(0xFFFF_FFFF & ~_MESSAGE_FLAGS, _FORBIDDEN, ALLOWED))


def _chmod_verdict(chmod: Chmod) -> Block:
    return {"refused": _FORBIDDEN, "pretended": refused(0), "allowed": ALLOWED}[chmod]


def _for_all(machine: Architecture, names: str | Iterable[str], block: Block) -> dict[int, Block]:
    """The block for each of the names that the machine has. Raises KeyError for one that no machine has."""
    numbers = NUMBERS[machine]
    chosen = {}
    for name in names.split() if isinstance(names, str) else names:
        if name in numbers:
            chosen[numbers[name]] = block
        elif not any(name in known for known in NUMBERS.values()):
            raise KeyError(name)
    return chosen


def _for_machine(machine: Architecture, blocks: dict[int, Block], between: Block, beyond: Block) -> Block:
    """The choice by number. On x86_64 the numbers of x32 have bit 30 set, so they lie beyond."""
    choice = by_number(blocks, between, beyond, max(NUMBERS[machine].values()))
    return load(ARCHITECTURE, if_equal(_ARCHITECTURES[machine], load(NUMBER, choice), KILLED))
