"""Opens descriptors of one kind without end. The kernel pays for each; more than 4,096 is too many.

Variants: dup, epoll, eventfd, timerfd, inotify, pipe, socketpair
"""

import select
import socket

from attack import LIBC, VARIANT, breach, os, say

ways = {
    "dup": lambda: os.dup(1),
    "epoll": select.epoll,
    "eventfd": lambda: os.eventfd(0),
    "timerfd": lambda: LIBC.timerfd_create(1, 0),
    "inotify": lambda: LIBC.inotify_init1(0),
    "pipe": os.pipe,
    "socketpair": socket.socketpair,
}
kept = []
try:
    while len(kept) < 5_000:
        one = ways[VARIANT]()
        if one == -1:
            raise OSError("refused")
        kept.append(one)
    breach(f"{len(kept)} of {VARIANT}")
except OSError as refusal:
    say(f"refused after {len(kept)}: {refusal}")
