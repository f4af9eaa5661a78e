"""Reads what belongs to the machine and its people. Nothing of it must be had.

Unconfined: breaches
Variants: passwd, shadow, hosts, keys, logs, machine, boot, kernel
"""

import glob

from attack import VARIANT, breach, say

PLACES = {
    "passwd": ["/etc/passwd", "/etc/group"],
    "shadow": ["/etc/shadow", "/etc/sudoers", "/etc/passwd-", "/etc/passwd"],
    "hosts": ["/etc/hosts", "/etc/resolv.conf", "/etc/hostname", "/etc/fstab"],
    "keys": ["/home/*/.*", "/root" + "/.*", "/etc/ssl/private/*", "/etc/ssh/*", "/etc/passwd"],
    "logs": ["/var/log/*", "/var/lib/dpkg/status", "/var/mail/*", "/etc/passwd"],
    "machine": ["/etc/machine-id", "/sys/class/dmi/id/*", "/proc/cpuinfo", "/etc/os-release"],
    "boot": ["/boot/*", "/proc/cmdline", "/etc/default/*"],
    "kernel": [
        "/proc/kallsyms",
        "/proc/modules",
        "/sys/kernel/notes",
        "/proc/version",
        "/sys/module/*/version",
    ],
}
for pattern in PLACES[VARIANT]:
    for path in glob.glob(pattern) or [pattern]:
        try:
            with open(path, "rb") as file:
                if data := file.read(64):
                    breach(f"{path}: {data!r}")
        except OSError as refusal:
            say(f"refused {refusal}")
