"""Opens devices: memory, disks, terminals, the kernel's log, virtual machines. None must be had.


Variants: memory, disks, terminals, log, made, others
"""

import fcntl
import glob
import stat
import termios

from attack import VARIANT, attempt, os, say

if VARIANT == "made":
    for kind, major, minor in (("b", 254, 0), ("b", 8, 0), ("c", 1, 1), ("c", 1, 11)):
        what = stat.S_IFBLK if kind == "b" else stat.S_IFCHR
        attempt(
            f"node {major}:{minor}", os.mknod, f"node{major}-{minor}", what | 0o600, os.makedev(major, minor)
        )
elif VARIANT == "terminals":
    for path in [
        "/dev/tty",
        "/dev/console",
        "/dev/ptmx",
        *glob.glob("/dev/pts/*"),
        *glob.glob("/dev/tty[0-9]"),
    ]:
        if (descriptor := attempt(path, os.open, path, os.O_RDWR | os.O_NOCTTY)) is not None:
            attempt("TIOCSTI", fcntl.ioctl, descriptor, termios.TIOCSTI, b"\n")
    for stream in (0, 1, 2):
        attempt(f"TIOCSTI on {stream}", fcntl.ioctl, stream, termios.TIOCSTI, b"\n")
else:
    places = {
        "memory": ["/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore"],
        "disks": glob.glob("/dev/sd*")
        + glob.glob("/dev/vd*")
        + glob.glob("/dev/nvme*")
        + ["/dev/loop-control"],
        "log": ["/dev/kmsg", "/proc/kmsg", "/dev/log"],
        "others": [
            "/dev/kvm",
            "/dev/fuse",
            "/dev/net/tun",
            "/dev/userfaultfd",
            "/dev/vsock",
            "/dev/vhost-vsock",
        ],
    }[VARIANT]
    for path in places:
        attempt(path, os.open, path, os.O_RDWR)
    say(f"tried {places}")
