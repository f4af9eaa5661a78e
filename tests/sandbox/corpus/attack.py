"""What the attacks on the host share. The loader puts this text where a program says ``from attack import``.

A program prints ``BREACH`` and what it got where it got what it must not have. It knows the way to every
canary (``TARGETS``), and none of the secrets that they hold.
"""

import ctypes
import errno
import mmap
import os
import platform
import sys
import time

TARGETS: dict = {}
VARIANT = ""
BURST = 1 << 20
LIBC = ctypes.CDLL(None, use_errno=True)
# Number on x86-64, number on aarch64 (None: that machine has no such call).
NUMBERS = {
    "accept4": (288, 242), "acct": (163, 89), "add_key": (248, 217), "adjtimex": (159, 171),
    "bpf": (321, 280), "capget": (125, 90), "capset": (126, 91), "clock_settime": (227, 112),
    "clone": (56, 220), "close_range": (436, 436), "clone3": (435, 435),
    "delete_module": (176, 106), "execveat": (322, 281),
    "exit": (60, 93), "fanotify_init": (300, 262), "finit_module": (313, 273), "fsopen": (430, 430),
    "getxattr": (191, 8), "inotify_add_watch": (254, 27), "init_module": (175, 105),
    "io_setup": (206, 0), "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "kexec_load": (246, 104), "keyctl": (250, 219),
    "kill": (62, 129), "mbind": (237, 235), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "migrate_pages": (256, 238), "mknodat": (259, 33), "modify_ldt": (154, None), "mount": (165, 40),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "move_pages": (279, 239),
    "mq_open": (240, 180), "msgget": (68, 186), "msgrcv": (70, 188), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "openat2": (437, 437),
    "perf_event_open": (298, 241), "personality": (135, 92), "pidfd_getfd": (438, 438),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pivot_root": (155, 41),
    "prctl": (157, 167), "prlimit64": (302, 261), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142), "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "semget": (64, 190),
    "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268), "setxattr": (188, 5),
    "shmat": (30, 196), "shmget": (29, 194), "statx": (332, 291), "swapon": (167, 224),
    "syslog": (103, 116), "tgkill": (234, 131), "tkill": (200, 130), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "utimensat": (280, 88), "vhangup": (153, 58),
}  # fmt: skip
REFUSALS = {errno.EPERM, errno.EACCES, errno.ENOSYS}


def say(text):
    os.write(1, (text + "\n").encode("utf-8", "surrogateescape"))


def breach(what):
    say(f"BREACH {what}")


def attempt(what, action, *arguments):
    """Does what must be refused: that it succeeds is the breach."""
    try:
        result = action(*arguments)
    except (OSError, MemoryError, OverflowError, ImportError) as refusal:
        say(f"refused {what}: {refusal}")
        return None
    breach(f"{what}: {result!r:.300}")
    return result


def syscall(name, *arguments):
    """The result of a system call, or minus its error number."""
    numbers = NUMBERS[name]
    number = numbers[0] if platform.machine() == "x86_64" else numbers[1]
    if number is None:
        return -errno.ENOSYS
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = LIBC.syscall(ctypes.c_long(number), *wide)
    return -ctypes.get_errno() if result == -1 else result


def forbidden(name, *arguments):
    """A system call that must not even be looked at: any answer but a refusal is the breach."""
    result = syscall(name, *arguments)
    if result < 0 and -result in REFUSALS:
        say(f"refused {name}: {os.strerror(-result)}")
    else:
        breach(f"{name} gave {result}")


def machine_code(code):
    """A function without arguments that runs this machine code."""
    page = mmap.mmap(
        -1,
        4096,
        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
    )
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    function = ctypes.CFUNCTYPE(ctypes.c_long)(address)
    function.page = page
    return function


def burn(seconds=None):
    end = None if seconds is None else time.monotonic() + seconds
    while end is None or time.monotonic() < end:
        sum(range(1000))


def ordinary_error(kind, value, trace):
    """What is refused by raising ends the attack, not the test of whether the attack is well written."""
    if issubclass(kind, OSError | MemoryError | KeyboardInterrupt):
        say(f"refused: {value!r}")
    sys.__excepthook__(kind, value, trace)


sys.excepthook = ordinary_error
