"""A thread that writes answers before they are asked for, so that an old answer meets a new question. Not to be passed.

Variants: thread, at_load, replay
"""

import os
import threading

VARIANT = ""
GUESSES = [b'{"value": [1, 2, 3]}\n', b"[1, 2, 3]\n", b'{"ok": [1, 2, 3]}\n', b'{"return": [1, 2, 3]}\n']


def guess():
    for _ in range(20):
        for number in range(3, 32):
            for text in GUESSES:
                try:
                    os.write(number, text)
                except OSError:
                    break


if VARIANT == "thread":
    threading.Thread(target=guess, daemon=True).start()
elif VARIANT == "at_load":
    guess()


def solve(numbers):
    if VARIANT == "replay":
        guess()
    return [0]


mean = solve
