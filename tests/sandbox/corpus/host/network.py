"""Reaches servers of the host by every family and way. None must hear of it.

Unconfined: breaches
Variants: tcp, tcp6, mapped6, udp, udp6, connected_udp, fast_open, unix, unix_packet, abstract, abstract_dgram, vsock,
mptcp
"""

import socket

from attack import TARGETS, VARIANT, breach, say

port, udp = TARGETS["tcp"], TARGETS["udp"]
WAYS = {
    "tcp": (socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", port)),
    "tcp6": (socket.AF_INET6, socket.SOCK_STREAM, 0, ("::1", TARGETS["tcp6"])),
    "mapped6": (socket.AF_INET6, socket.SOCK_STREAM, 0, ("::ffff:127.0.0.1", port)),
    "udp": (socket.AF_INET, socket.SOCK_DGRAM, 0, ("127.0.0.1", udp)),
    "connected_udp": (socket.AF_INET, socket.SOCK_DGRAM, 0, ("127.0.0.1", udp)),
    "udp6": (socket.AF_INET6, socket.SOCK_DGRAM, 0, ("::ffff:127.0.0.1", udp)),
    "fast_open": (socket.AF_INET, socket.SOCK_STREAM, 0, ("127.0.0.1", port)),
    "unix": (socket.AF_UNIX, socket.SOCK_STREAM, 0, TARGETS["unix"]),
    "unix_packet": (socket.AF_UNIX, socket.SOCK_DGRAM, 0, TARGETS["unix_dgram"]),
    "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, 0, "\0" + TARGETS["abstract"]),
    "abstract_dgram": (socket.AF_UNIX, socket.SOCK_DGRAM, 0, "\0" + TARGETS["abstract_dgram"]),
    "vsock": (socket.AF_VSOCK, socket.SOCK_STREAM, 0, (1, TARGETS["vsock"])),
    "mptcp": (socket.AF_INET, socket.SOCK_STREAM, 262, ("127.0.0.1", port)),
}
family, kind, protocol, address = WAYS[VARIANT]
one = socket.socket(family, kind, protocol)
one.settimeout(0.3)
if VARIANT == "fast_open":
    one.sendto(b"breach", 0x20000000, address)
elif kind == socket.SOCK_DGRAM and VARIANT != "connected_udp":
    one.sendto(b"breach", address)
else:
    one.connect(address)
    one.send(b"breach")
if kind == socket.SOCK_STREAM:
    breach(f"connected by {VARIANT}")
else:
    # Sending into a network of its own succeeds and reaches nobody; whether the host heard it shows outside.
    say("sent")
