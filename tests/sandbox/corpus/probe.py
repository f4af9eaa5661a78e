"""What a run sees of the world, as one line. It must not change with what ran before."""

import builtins
import gc
import json
import os
import resource
import signal
import sys
import threading


def listing(path):
    try:
        return sorted(os.listdir(path))
    except OSError as refusal:
        return refusal.errno


descriptors = []
for number in range(64):
    try:
        descriptors.append((number, os.fstat(number).st_mode))
    except OSError:
        continue
signal_names = [s for s in range(1, 65) if s not in (9, 19, 32, 33)]
seen = {
    "sum": sum([1, 2]),
    "json": json.loads("[1]"),
    "builtins": len(dir(builtins)),
    "modules": len(sys.modules),
    "left": "left" in sys.modules,
    "path": sys.path[:1],
    "files": listing("."),
    "above": listing("/tmp") if os.path.realpath("/tmp") == os.getcwd() else len(os.getcwd()),
    "environment": sorted(os.environ),
    "handlers": [str(signal.getsignal(s)) for s in signal_names],
    "mask": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
    "umask": os.umask(0o22),
    "timers": [signal.getitimer(t) for t in range(3)][:1],
    "nice": os.getpriority(os.PRIO_PROCESS, 0),
    "limits": [
        resource.getrlimit(n) for n in (resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)
    ],
    "threads": threading.active_count(),
    "descriptors": descriptors,
    "digits": sys.get_int_max_str_digits(),
    "recursion": sys.getrecursionlimit(),
    "input": sys.stdin.read(),
    "collecting": gc.isenabled(),
    "argv": sys.argv,
}
print(json.dumps(seen))
print("err", file=sys.stderr)
