"""Writes the kernel's switches. None must be open for writing.

Variants: oom, core_pattern, sysrq, modprobe, uid_map, own_memory, parent_memory, clear_refs
"""

from attack import VARIANT, attempt, os

path = {
    "oom": "/proc/self/oom_score_adj",
    "core_pattern": "/proc/sys/kernel/core_pattern",
    "sysrq": "/proc/sysrq-trigger",
    "modprobe": "/proc/sys/kernel/modprobe",
    "uid_map": "/proc/self/uid_map",
    "own_memory": "/proc/self/mem",
    "parent_memory": f"/proc/{os.getppid()}/mem",
    "clear_refs": "/proc/self/clear_refs",
}[VARIANT]
attempt(path, os.open, path, os.O_WRONLY)
