"""Makes a socket of every family that a program has no use for: each is a way into the kernel. None must be had."""

from attack import LIBC, breach, say

ALLOWED = {1, 2, 10}  # AF_UNIX, AF_INET, AF_INET6
for family in range(47):
    for kind in (1, 2, 3, 5, 10):
        descriptor = LIBC.socket(family, kind, 0)
        if descriptor >= 0 and (family not in ALLOWED or kind in (3, 10)):
            breach(f"socket of family {family}, kind {kind}")
for protocol in (0, 9, 12, 15, 16):
    if LIBC.socket(16, 3, protocol) >= 0:
        breach(f"netlink {protocol}")
say("tried")
