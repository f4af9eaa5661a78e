"""Looks for the host through /proc. No other process, no descriptor, no setting of the kernel must be reached.

Unconfined: breaches
Variants: root, environments, commands, memory, descriptors, settings, namespaces, maps, mounts, thread_self
"""

import glob

from attack import TARGETS, VARIANT, breach, os, say

patterns = {
    "root": [
        "/proc/1/" + "root" + "/etc/passwd",
        "/proc/self/" + "root" + "/etc/passwd",
        "/proc/self/cwd/../../../etc/passwd",
    ],
    "environments": ["/proc/[0-9]*/environ", "/proc/self/environ"],
    "commands": ["/proc/[0-9]*/cmdline", "/proc/[0-9]*/comm", "/proc/[0-9]*/stat"],
    "memory": [
        f"/proc/{TARGETS['pid']}/maps",
        f"/proc/{os.getppid()}/maps",
        "/proc/kcore",
        "/proc/kpageflags",
    ],
    "descriptors": ["/proc/[0-9]*/fd/*", "/proc/self/fdinfo/*"],
    "settings": [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sysrq-trigger",
        "/proc/keys",
    ],
    "namespaces": ["/proc/[0-9]*/ns/*", "/proc/self/uid_map", "/proc/self/cgroup"],
    "maps": ["/proc/self/maps", "/proc/self/smaps", "/proc/self/pagemap", "/proc/self/stack"],
    "mounts": ["/proc/self/mountinfo", "/proc/mounts", "/proc/partitions", "/proc/net/tcp", "/proc/net/unix"],
    "thread_self": [
        "/proc/thread-self/" + "root" + "/etc/passwd",
        "/dev/fd/0/../..",
        "/proc/self/task/*/status",
    ],
}[VARIANT]
for pattern in patterns:
    for path in (glob.glob(pattern) or [pattern])[:200]:
        try:
            data = os.readlink(path) if "/fd/" in path or "/ns/" in path else open(path, "rb").read(80)
        except OSError as refusal:
            say(f"refused {refusal}")
            continue
        if data:
            breach(f"{path}: {data!r}")
            break
