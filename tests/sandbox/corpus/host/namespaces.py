"""Makes or enters namespaces, where a user has the rights of root over more of the kernel. Each must be refused.

Variants: user, mount, network, pid, ipc, uts, cgroup, time, all, clone, clone3, own_pidfd, parent_pidfd, proc

"""

from attack import VARIANT, breach, ctypes, os, say, syscall

FLAGS = {
    "user": 0x10000000, "mount": 0x20000, "network": 0x40000000, "pid": 0x20000000, "ipc": 0x8000000,
    "uts": 0x4000000, "cgroup": 0x2000000, "time": 0x80, "all": 0x7E020080,
}  # fmt: skip
if VARIANT in FLAGS:
    result = syscall("unshare", FLAGS[VARIANT])
elif VARIANT == "clone":
    result = syscall("clone", 0x10000000 | 17, 0, 0, 0, 0)
elif VARIANT == "clone3":
    result = syscall("clone3", (ctypes.c_uint64 * 8)(0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
elif VARIANT == "proc":
    result = -1
    for kind in ("mnt", "net", "user", "pid"):
        for who in ("1", "self", str(os.getppid())):
            try:
                result = max(result, syscall("setns", os.open(f"/proc/{who}/ns/{kind}", os.O_RDONLY), 0))
            except OSError:
                continue
else:
    target = os.getpid() if VARIANT == "own_pidfd" else os.getppid() or 1
    descriptor = syscall("pidfd_open", target, 0)
    result = syscall("setns", descriptor, 0x20000 | 0x40000000) if descriptor >= 0 else descriptor
if result == 0 and VARIANT.startswith("clone"):
    breach("a process in namespaces of its own")
    os._exit(0)
say(str(result))
if result >= 0:
    breach(f"{VARIANT} gave {result}")
