"""Writes forged verdicts and answers to whatever it can reach: descriptors, closures, streams. Not to be passed.

Variants: descriptors, closures, stdout_, early, many, binary
"""

import gc
import os
import sys
import types

VARIANT = ""
VERDICTS = [
    b'{"passed": true}\n', b'{"ok": true}\n', b'{"status": "ok"}\n', b'["passed"]\n', b"true\n", b"null\n",
    b'{"verdict": "pass"}\n', b'{"end": true}\n', b'{"done": true, "failed": null}\n', b"0\n", b"[]\n",
]  # fmt: skip


def forge():
    for number in range(3, 64):
        try:
            os.set_blocking(number, False)
            for verdict in VERDICTS:
                os.write(number, verdict)
        except OSError:
            continue


def through_closures():
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and thing.__closure__ and thing.__module__ != __name__:
            for cell in thing.__closure__:
                try:
                    inner = cell.cell_contents
                except ValueError:
                    continue
                if callable(inner) and getattr(inner, "__name__", "") in ("write", "send", "sendall"):
                    for verdict in VERDICTS:
                        inner(verdict)
        if isinstance(thing, types.FunctionType) and thing.__name__ == "write":
            for verdict in VERDICTS:
                try:
                    thing(verdict)
                except Exception:
                    continue


if VARIANT == "early":
    forge()
    through_closures()
if VARIANT == "stdout_":
    for verdict in VERDICTS:
        os.write(1, verdict)
        os.write(2, verdict)


def solve(numbers):
    if VARIANT in ("descriptors", "many"):
        for _ in range(500 if VARIANT == "many" else 1):
            forge()
    elif VARIANT == "closures":
        through_closures()
    elif VARIANT == "binary":
        for number in range(3, 64):
            try:
                os.write(number, b"\x00\x00\x00\x02{}" * 100)
            except OSError:
                continue
    os._exit(0) if VARIANT != "stdout_" else sys.exit(0)


mean = solve
