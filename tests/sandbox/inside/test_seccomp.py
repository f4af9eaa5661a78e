"""What the filters say of a call, on both machines, by a table. What Linux does with it: test_confined_calls."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.sandbox.inside.numbers import NUMBERS, Architecture
from guerdon.sandbox.inside.seccomp import ProgramFilter, program_filter, server_filter
from support.filter_simulator import answer

MACHINES: list[Architecture] = ["x86_64", "aarch64"]
OWN = 4321


def bare(names: str) -> list[tuple[str, tuple[int, ...]]]:
    """The calls of these names, all their arguments 0."""
    return [(name, ()) for name in names.split()]


ALLOWED: list[tuple[str, tuple[int, ...]]] = [
    ("clone", (0x0120_0011,)),  # as fork makes it
    ("clone", (0x003D_0F00,)),  # as pthread_create makes it
    ("clone", (0x0000_4111,)),  # as posix_spawn makes it
    ("fcntl", (3, 1030, 3)),
    ("fcntl", (3, 4, 0o4000)),
    ("ioctl", (1, 0x5401)),
    ("ioctl", (1, 0x5401 + 2**32)),  # the kernel reads 32 bits
    ("close_range", (3, 9, 4)),
    ("fcntl", (3, 36, 3)),
    ("madvise", (0, 4096, 4)),
    ("mmap", (0, 2**30, 3, 0x22)),  # private, of no file
    ("mmap", (0, 2**30, 3, 0x4022)),
    ("mmap", (0, 2**30, 3, 0x1, 3)),  # shared, of a file
    ("mmap", (0, 4096, 3, 0x21)),
    ("msync", (0, 4096, 1)),
    ("openat", (-100, 0, 0o2000000)),
    ("recvfrom", (3, 0, 1, 0x42)),
    ("recvmsg", (3, 0, 0x4000_0000)),
    ("prctl", (15, 1)),
    ("prctl", (38, 1)),
    ("prctl", (4, 0)),
    ("prctl", (4, 1)),  # the fork server's own forks become dumpable, programs change nothing
    ("prctl", (22, 2, 1)),
    ("prlimit64", (0, 7, 0, 1)),
    ("sched_setaffinity", (0,)),
    ("seccomp", (1, 0, 1)),
    ("seccomp", (1, 1, 1)),
    ("sendto", (3, 1, 1, 0, 0, 0)),
    ("setpriority", (0, 0, 5)),
    ("setsockopt", (3, 1, 20)),
    ("socketpair", (1, 1 | 0o4000 | 0o2000000)),
    ("socketpair", (1, 5)),
]
ALLOWED += bare("""
    read write close fstat lseek mprotect munmap brk rt_sigaction rt_sigprocmask rt_sigreturn pread64 readv
    writev sched_yield mremap dup nanosleep getpid execve exit wait4 uname ftruncate getcwd chdir
    getdents64 gettimeofday getrlimit getrusage sysinfo getuid sigaltstack statfs arch_prctl setrlimit gettid
    futex sched_getaffinity set_tid_address clock_gettime clock_nanosleep exit_group epoll_ctl tgkill kill waitid
    openat mkdirat newfstatat unlinkat renameat2 symlinkat linkat readlinkat faccessat pselect6 ppoll
    set_robust_list eventfd2 epoll_create1 dup3 pipe2 epoll_pwait prlimit64
    getrandom membarrier statx rseq pidfd_send_signal pidfd_open
    close_range faccessat2 epoll_pwait2 sendmsg recvmsg recvfrom shutdown setsid
    setitimer timer_create sendfile landlock_restrict_self
    open stat access pipe select dup2 fork vfork poll mkdir rename unlink rmdir readlink time getdents
""")

ALLOWED += bare("""
    alarm capget clock_getres epoll_create epoll_wait eventfd fchdir fstatfs getcpu getegid geteuid
    getgid getgroups getitimer getpeername getpgid getpgrp getppid getpriority getresgid getresuid getsid
    getsockname link lstat pause preadv preadv2 pwrite64 pwritev pwritev2 renameat restart_syscall
    rt_sigpending rt_sigsuspend rt_sigtimedwait sched_get_priority_max sched_get_priority_min
    sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setattr sched_setparam
    sched_setscheduler symlink timer_delete timer_getoverrun timer_gettime timer_settime times tkill
    truncate umask uprobe uretprobe
""")

REFUSED: list[tuple[str, tuple[int, ...]]] = [
    *[("clone", (0x11 | 1 << bit,)) for bit in (17, 25, 26, 27, 28, 29, 30)],  # new namespaces
    ("clone", (0x003D_0B00,)),  # a thread with descriptors of its own
    ("clone", (0x0000_8011,)),  # CLONE_PARENT
    ("clone", (0x0000_2011,)),  # CLONE_PTRACE
    ("fcntl", (0, 8, 1)),  # F_SETOWN
    ("fcntl", (0, 10, 9)),  # F_SETSIG
    ("fcntl", (0, 15, 1)),  # F_SETOWN_EX
    ("fcntl", (0, 1024, 0)),  # F_SETLEASE
    ("fcntl", (0, 1026, 1)),  # F_NOTIFY
    ("fcntl", (0, 1031, 2**20)),  # F_SETPIPE_SZ
    ("fcntl", (0, 4, 0x2000)),  # O_ASYNC
    ("close_range", (3, 9, 2)),  # a thread with descriptors of its own
    ("getsockopt", (3, 0, 64)),
    ("mmap", (0, 4097, 3, 0x21)),  # shared, of no file
    ("mmap", (0, 2**32, 3, 0x21)),
    ("mmap", (0, 8192, 3, 0x23)),
    ("mmap", (0, 8192, 3, 0x29)),  # whatever its kind
    ("mmap", (0, 2**21, 3, 0x4_0022)),  # of the machine's huge pages
    ("recvfrom", (3, 0, 1, 1)),  # MSG_OOB
    ("recvmsg", (3, 0, 1)),
    ("recvmsg", (3, 0, 0x2000)),  # MSG_ERRQUEUE
    ("sendto", (3, 1, 1, 1, 0, 0)),
    ("sendto", (3, 1, 1, 0x400_0000, 0, 0)),  # MSG_ZEROCOPY
    ("sendmsg", (3, 0, 1)),
    ("prctl", (0x5356_4D41, 0)),  # PR_SET_VMA
    ("prctl", (8, 1)),  # PR_SET_KEEPCAPS
    ("prctl", (35, 1)),  # PR_SET_MM
    ("prctl", (36, 1)),  # PR_SET_CHILD_SUBREAPER
    ("prctl", (47, 2, 0)),  # PR_CAP_AMBIENT
    ("prctl", (62, 1)),  # PR_SCHED_CORE
    ("prctl", (0x5961_6D61, 1)),  # PR_SET_PTRACER
    ("prlimit64", (1, 7, 0, 1)),
    ("sched_setaffinity", (1,)),
    ("sched_setattr", (1,)),
    ("sched_setscheduler", (1,)),
    ("seccomp", (1, 8, 1)),  # a listener
    ("seccomp", (1, 9, 1)),
    ("seccomp", (3, 0, 1)),
    ("sendto", (3, 1, 1, 0, 1, 16)),
    ("sendto", (3, 1, 1, 0, 2**32, 16)),
    ("setpriority", (0, 1, 5)),
    ("setpriority", (1, 0, 5)),
    ("setpriority", (2, 0, 5)),
    ("setsockopt", (3, 1, 7)),  # SO_SNDBUF: kernel memory
    ("setsockopt", (3, 1, 26)),  # SO_ATTACH_FILTER
    ("setsockopt", (3, 0, 1)),
    ("socketpair", (1, 2)),  # datagrams have addresses
    ("socketpair", (2, 1)),
    ("socketpair", (16, 3)),
]
REFUSED += bare("""
    mount umount2 pivot_root chroot unshare setns ptrace process_vm_readv process_vm_writev bpf
    keyctl add_key request_key userfaultfd perf_event_open memfd_create
    socket connect bind listen accept accept4 sendmmsg recvmmsg
    chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat utime utimes futimesat utimensat
    setxattr lsetxattr fsetxattr
    removexattr lremovexattr fremovexattr
    kexec_load kexec_file_load init_module finit_module delete_module quotactl swapon swapoff reboot
    settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname acct syslog iopl ioperm
    open_by_handle_at name_to_handle_at fanotify_init fanotify_mark inotify_init1 inotify_add_watch
    mknod mknodat shmget shmat shmctl msgget msgsnd msgrcv semget semop semtimedop mq_open mq_notify
    kcmp move_pages migrate_pages mbind set_mempolicy remap_file_pages modify_ldt vhangup sync syncfs
    setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset
    ioprio_set io_setup io_submit io_pgetevents lookup_dcookie uselib ustat sysfs vmsplice get_robust_list
    setpgid execveat rt_sigqueueinfo
    rt_tgsigqueueinfo mlock mlock2 mlockall mincore get_mempolicy personality readahead creat
    signalfd signalfd4 timerfd_create
""")
PRETENDED: list[tuple[str, tuple[int, ...]]] = [
    *[("fcntl", (3, command)) for command in (6, 7, 37, 38)],  # locks
    ("msync", (0, 4096, 4)),
    *bare("flock fsync fdatasync sync_file_range fadvise64"),
]
UNKNOWN = bare("""
    splice tee copy_file_range openat2 futex_waitv
    landlock_create_ruleset landlock_add_rule
    clone3 io_uring_setup io_uring_enter io_uring_register open_tree move_mount fsopen fsconfig fsmount fspick
    pidfd_getfd process_madvise mount_setattr quotactl_fd memfd_secret process_mrelease cachestat
    statmount listmount setxattrat getxattrat removexattrat open_tree_attr file_setattr
""")
UNSUPPORTED = bare("getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr fallocate")
UNSUPPORTED += [("open", (0, 0o20200002)), ("openat", (-100, 0, 0o20200002))]  # O_TMPFILE


def on(
    machine: Architecture, calls: list[tuple[str, tuple[int, ...]]]
) -> list[tuple[str, int, tuple[int, ...]]]:
    """The calls that the machine has; each name must be one of x86_64, which has them all."""
    numbers = NUMBERS[machine]
    assert {name for name, _ in calls} <= set(NUMBERS["x86_64"])
    return [(name, numbers[name], arguments) for name, arguments in calls if name in numbers]


@pytest.mark.parametrize(
    ("machine", "name", "number"),
    [
        ("x86_64", "read", 0), ("x86_64", "mmap", 9), ("x86_64", "clone", 56), ("x86_64", "execve", 59),
        ("x86_64", "kill", 62), ("x86_64", "ptrace", 101), ("x86_64", "mount", 165), ("x86_64", "tkill", 200),
        ("x86_64", "tgkill", 234), ("x86_64", "openat", 257), ("x86_64", "unshare", 272),
        ("x86_64", "seccomp", 317), ("x86_64", "bpf", 321), ("x86_64", "clone3", 435),
        ("aarch64", "openat", 56), ("aarch64", "read", 63), ("aarch64", "newfstatat", 79),
        ("aarch64", "unshare", 97), ("aarch64", "futex", 98), ("aarch64", "ptrace", 117),
        ("aarch64", "kill", 129), ("aarch64", "tkill", 130), ("aarch64", "tgkill", 131),
        ("aarch64", "socket", 198), ("aarch64", "clone", 220), ("aarch64", "execve", 221),
        ("aarch64", "mmap", 222), ("aarch64", "mount", 40), ("aarch64", "seccomp", 277),
        ("aarch64", "bpf", 280), ("aarch64", "landlock_restrict_self", 446), ("aarch64", "clone3", 435),
    ],
)  # fmt: skip
def test_numbers(machine: Architecture, name: str, number: int) -> None:
    assert NUMBERS[machine][name] == number


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_for_two_calls(machine: Architecture) -> None:
    assert len(set(NUMBERS[machine].values())) == len(NUMBERS[machine]) > 300


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (ALLOWED, "ALLOW"),
        (REFUSED, "EPERM"),
        (UNKNOWN, "ENOSYS"),
        (UNSUPPORTED, "ENOTSUP"),
        (PRETENDED, "PRETEND"),
    ],
    ids=["allowed", "refused", "unknown", "unsupported", "pretended"],
)
def test_the_servers_filter(machine: Architecture, calls: Any, expected: str) -> None:
    program = server_filter(machine)
    wrong = {
        (name, arguments): said
        for name, number, arguments in on(machine, calls)
        if (said := answer(program, machine, number, arguments)) != expected
    }
    assert wrong == {}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("command", [0x5412, 0x541C, 0x5452, 0x8901, 0x8902, 0x4004_9409, 0x8933])
def test_terminals_devices_and_owners_are_out_of_reach(machine: Architecture, command: int) -> None:
    # TIOCSTI, TIOCLINUX, FIOASYNC, FIOSETOWN, SIOCSPGRP, FICLONE, SIOCGIFINDEX
    assert answer(server_filter(machine), machine, NUMBERS[machine]["ioctl"], (0, command)) == "ENOTTY"


@pytest.mark.parametrize("machine", MACHINES)
def test_no_call_is_allowed_but_those_above(machine: Architecture) -> None:
    """Whoever adds to the allow-list adds there, too: programs have to need it, and the host has to bear it."""
    program = server_filter(machine)
    said = {name: answer(program, machine, number) for name, number in NUMBERS[machine].items()}
    assert set(said.values()) == {"ALLOW", "EPERM", "ENOSYS", "ENOTTY", "ENOTSUP", "PRETEND"}
    assert {name for name, verdict in said.items() if verdict == "ALLOW"} <= {name for name, _ in ALLOWED}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("number", [470, 511, 512, 2**20, 2**31, -1, -2])
def test_numbers_that_are_yet_to_come(machine: Architecture, number: int) -> None:
    assert answer(server_filter(machine), machine, number) == "ENOSYS"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("number", [337, 400, 423])
def test_numbers_that_no_call_has(machine: Architecture, number: int) -> None:
    assert answer(server_filter(machine), machine, number) == "EPERM"


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("x86_64", "i386"), ("x86_64", "aarch64"), ("aarch64", "arm"), ("aarch64", "x86_64")],
)
def test_the_calls_of_another_machine_kill(machine: Architecture, architecture: str) -> None:
    programs = [server_filter(machine), program_filter(machine, OWN, processes=True, execute=True)]
    for number in (0, 1, 11, 20, 120, 2**30):
        assert {answer(program, architecture, number) for program in programs} == {"KILL"}


@pytest.mark.parametrize("name", ["read", "ptrace", "execve"])
def test_x32_is_unknown(name: str) -> None:
    assert answer(server_filter("x86_64"), "x86_64", NUMBERS["x86_64"][name] | 2**30) == "ENOSYS"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("chmod", "expected"), [("refused", "EPERM"), ("pretended", "PRETEND"), ("allowed", "ALLOW")]
)
def test_chmod(machine: Architecture, chmod: Any, expected: str) -> None:
    programs = [
        server_filter(machine, chmod=chmod),
        program_filter(machine, OWN, processes=True, execute=True, chmod=chmod),
    ]
    for name, number, _ in on(machine, bare("chmod fchmod fchmodat fchmodat2")):
        assert {answer(program, machine, number) for program in programs} == {expected}, name


FORK = (0x0120_0011,)
THREAD = (0x003D_0F00,)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "plain", "processes", "execute", "others"),
    [
        # name, arguments, and what is said: to a plain program, with processes, with execute, with signal_others
        ("read", (), "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
        ("clone", THREAD, "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
        ("clone", FORK, "EPERM", "ALLOW", "EPERM", "EPERM"),
        ("fork", (), "EPERM", "ALLOW", "EPERM", "EPERM"),
        ("vfork", (), "EPERM", "ALLOW", "EPERM", "EPERM"),
        ("clone3", (), "ENOSYS", "ENOSYS", "ENOSYS", "ENOSYS"),
        ("pidfd_open", (OWN,), "EPERM", "ALLOW", "EPERM", "EPERM"),
        ("execve", (), "EPERM", "EPERM", "ALLOW", "EPERM"),
        ("execveat", (), "EPERM", "EPERM", "ALLOW", "EPERM"),
        ("kill", (OWN, 9), "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
        ("kill", (OWN + 1, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("kill", (1, 0), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("kill", (0, 9), "EPERM", "ALLOW", "EPERM", "ALLOW"),
        ("kill", (-1, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("kill", (-OWN, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("tgkill", (OWN, OWN + 5, 9), "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
        ("tgkill", (1, OWN, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("tkill", (OWN, 9), "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
        ("tkill", (1, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("rt_sigqueueinfo", (1, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("rt_tgsigqueueinfo", (1, 1, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("pidfd_send_signal", (3, 9), "EPERM", "EPERM", "EPERM", "ALLOW"),
        ("setsid", (), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("landlock_restrict_self", (), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("sendmsg", (3,), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("sendfile", (3,), "ENOSYS", "ENOSYS", "ENOSYS", "ENOSYS"),
        ("clone", (0x0001_0F00,), "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
        ("seccomp", (1, 0, 1), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("prctl", (22, 2, 1), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("prctl", (1, 0), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("prctl", (4, 0), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("prctl", (4, 1), "EPERM", "EPERM", "EPERM", "EPERM"),
        ("prctl", (15, 1), "ALLOW", "ALLOW", "ALLOW", "ALLOW"),
    ],
)
def test_a_programs_filter(
    machine: Architecture,
    name: str,
    arguments: tuple[int, ...],
    plain: str,
    processes: str,
    execute: str,
    others: str,
) -> None:
    if name not in NUMBERS[machine]:
        assert (machine, name) in {("aarch64", "fork"), ("aarch64", "vfork")}
        return
    filters = [
        program_filter(machine, OWN, processes=False, execute=False),
        program_filter(machine, OWN, processes=True, execute=False),
        program_filter(machine, OWN, processes=False, execute=True),
        program_filter(machine, OWN, processes=False, execute=False, signal_others=True),
    ]
    said = [answer(program, machine, NUMBERS[machine][name], arguments) for program in filters]
    assert said == [plain, processes, execute, others]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("pid", [1, 2, 255, 65_536, 4_194_304])
def test_a_template_takes_any_pid(machine: Architecture, pid: int) -> None:
    template = ProgramFilter(machine, processes=True, execute=False)
    program = template.for_pid(pid)
    assert program == program_filter(machine, pid, processes=True, execute=False)
    assert len(program) == len(template.for_pid(OWN))
    tgkill = NUMBERS[machine]["tgkill"]
    assert [answer(program, machine, tgkill, (who,)) for who in (pid, pid + 1, 2**22 + 1)] == [
        "ALLOW", "EPERM", "EPERM",
    ]  # fmt: skip
