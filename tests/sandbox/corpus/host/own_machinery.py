"""Turns on the code of the sandbox that runs in its own process: frames, closures, modules, sockets found by gc.

The run must be reported as it was, and the next one be served. Variants: frames, sockets, modules, hooks, exit_codes
"""

import atexit
import gc
import socket
import sys
import threading

from attack import VARIANT, breach, os, say

if VARIANT == "frames":
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        say(f"{frame.f_code.co_filename}:{frame.f_code.co_name} {sorted(frame.f_locals)}")
        for name in list(frame.f_globals):
            if not name.startswith("__"):
                frame.f_globals[name] = None
elif VARIANT == "sockets":
    for thing in gc.get_objects():
        if isinstance(thing, socket.socket) and thing.fileno() >= 0:
            breach(f"socket {thing!r}")
            thing.close()
elif VARIANT == "modules":
    for name in list(sys.modules):
        if name.startswith(("inside", "guerdon")):
            for key in list(vars(sys.modules[name])):
                setattr(sys.modules[name], key, None)
    sys.modules.clear()
elif VARIANT == "hooks":
    sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *a: os._exit(0)
    sys.setprofile(lambda *a: None)
    sys.settrace(lambda *a: None)
    sys.addaudithook(lambda *a: None)
    atexit.register(os._exit, 7)
    gc.disable()
    sys.setrecursionlimit(10**9)
    sys.stdout = sys.stderr = None
else:
    sys.exit(1 << 70)
