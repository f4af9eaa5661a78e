"""Is wrong, and wants no verdict at all: a lost worker, a refusal, an answer that its judge stumbles over. It is to get
a failed test each time.

Variants: sparse, closed_box, removed_box, files, folders, descriptors, closed_all, surrogates, named_exception,
long_exception, signalling, written, sealed, truncated, import_error, no_module, syntax, keyboard, itself, deep, utf_7,
no_codec, digits, limits, signals, zone, real_time, memory
"""

import datetime
import decimal
import fcntl
import os
import resource
import signal

VARIANT = ""
BEFORE = b'{"fraction": [1, 0]}\n[0,0,null,"value",{"datetime":[1,1,1,1,1,1,1,1,1e300]}]\n["passed"]\n'


def tried(call, *arguments):
    try:
        return call(*arguments)
    except (OSError, ValueError, MemoryError):
        return None


def fill():
    for number in range(5000):
        if VARIANT == "files" and tried(open, str(number), "w") is None:
            break
        if VARIANT == "folders":
            if tried(os.mkdir, "d" * 200) is None and tried(os.stat, "d" * 200) is None:
                break
            if tried(os.stat, "d" * 200) is None:
                break
            os.chdir("d" * 200)


def at_once():
    if VARIANT == "sparse":
        with open("x", "wb") as file:
            tried(file.truncate, 1 << 40)
    elif VARIANT == "closed_box":
        tried(os.chmod, ".", 0)
    elif VARIANT == "removed_box":
        box = os.getcwd()
        os.chdir("/")
        tried(os.rmdir, box)
    elif VARIANT == "descriptors":
        globals()["held"] = [tried(os.pipe) for _ in range(200)]
    elif VARIANT == "closed_all":
        os.closerange(0, 256)
    elif VARIANT == "limits":
        for which in range(16):
            tried(resource.setrlimit, which, (0, 0))
    elif VARIANT == "signals":
        for number in range(1, 65):
            tried(signal.signal, number, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGKILL)
    for number in range(20):
        if VARIANT == "written":
            tried(os.write, number, BEFORE)
        elif VARIANT == "sealed":
            tried(fcntl.fcntl, number, 1033, 15)
        elif VARIANT == "truncated":
            tried(os.ftruncate, number, 16 << 20)


def nested():
    made = []
    for _ in range(100_000):
        made = [made]
    return made


def solve(numbers):
    raised = {
        "import_error": ImportError("No module named x"),
        "no_module": ModuleNotFoundError("x"),
        "syntax": SyntaxError("x"),
        "keyboard": KeyboardInterrupt(),
        "named_exception": type("E\ud800", (Exception,), {})("\ud800"),
        "long_exception": Exception("a" * 10_000_000),
    }
    if VARIANT in raised:
        raise raised[VARIANT]
    if VARIANT == "real_time":
        os.kill(os.getpid(), 40)
    itself = []
    itself.append(itself)
    returned = {
        "surrogates": lambda: "\ud800" * 1000,
        "signalling": lambda: decimal.Decimal("sNaN"),
        "itself": lambda: itself,
        "deep": nested,
        "digits": lambda: 1 << 20_000_000,
        "zone": lambda: datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        "memory": lambda: bytearray(1 << 40),
    }
    return returned.get(VARIANT, lambda: [0])()


mean = solve
fill()
at_once()
if VARIANT == "utf_7":
    exec(b"# -*- coding: utf-7 -*-\nsolve = lambda numbers: +AFs-0+AF0-")
elif VARIANT == "no_codec":
    exec(b"# -*- coding: nonsense -*-\nsolve = None")
