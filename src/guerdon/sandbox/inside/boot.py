"""How a fork server comes to be: walls, then what is to be imported, then the filter, then requests.

Started as ``python -s -P -S -c "…" folder control lane owner``, the last three being descriptors: two sockets
(see ForkServer), and the process without which there is nothing to serve.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

from . import janitor, kernel, landlock, namespaces, seccomp
from .child import Surroundings, limit_all, rehearse
from .forkserver import ForkServer
from .numbers import machine
from .request import MAX_LENGTH

# Imported once here, so that no program pays for them: what programs of the common kind import. Each adds to what
# every fork costs, and the rest of the standard library is imported in milliseconds by whoever wants it.
COMMON = """
    abc array ast bisect collections copy dataclasses datetime decimal enum fractions functools heapq inspect io
    itertools json linecache math numbers operator random re statistics string struct textwrap time traceback types
    typing
""".split()
_HARMLESS = ("/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def main() -> None:
    """Becomes a fork server."""
    control, lane = (socket.socket(fileno=int(number)) for number in sys.argv[2:4])
    owner = int(sys.argv[4])
    config = json.loads(control.recv(MAX_LENGTH))

    def tell(**said: Any) -> None:
        control.send(json.dumps(said).encode())

    def inside() -> None:
        _serve(control, lane, owner, config, tell)

    def start() -> None:
        # While there is a /proc; what is read from it later is of this process still.
        config["statm"] = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    try:
        if config["tier"] == "native":
            namespaces.enter(config, start, inside, lambda pid: tell(pid=pid))
        if config["tier"] != "bubblewrap":
            janitor.stay_behind(config["box"])
        tell(pid=os.getpid())
        start()
        inside()
    except Exception as error:  # the owner is told, whatever it is
        tell(failed=f"{type(error).__name__}: {error}")
        os._exit(1)


def _serve(
    control: socket.socket, lane: socket.socket, owner: int, config: dict[str, Any], tell: Any
) -> None:
    try:
        server = _confine(control, lane, owner, config)
    except Exception as error:  # as above; in the native tier this is another process
        tell(failed=f"{type(error).__name__}: {error}")
        os._exit(1)
    tell(ready=True, memory=server.surroundings.most_memory)
    with suppress(OSError):  # the owner may go in the midst of an answer
        server.serve()
    os._exit(0)


def _confine(
    control: socket.socket, lane: socket.socket, owner: int, config: dict[str, Any]
) -> ForkServer:
    tier, box = config["tier"], config["box"]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(config["environment"])
    sys.path[:] = config["sys_path"]
    threading.stack_size(8 << 20)
    # Only the first process of a process namespace gets what its orphans leave behind.
    kernel.set_subreaper()
    confined = tier != "none"
    if confined:
        kernel.join_session_keyring()
        kernel.no_new_privileges()
        landlock.restrict(
            readable=[path for path in (*config["shown"], *_HARMLESS) if os.path.exists(path)],
            executable=[path for path in config["executable"] if os.path.exists(path)],
            writable=[box, "/dev/null"],
        )
        kernel.drop_capabilities()
        kernel.set_dumpable(False)
    os.chdir(box)
    for name in (*COMMON, *config["preload"]):
        importlib.import_module(name)
    # What the module site gives to interactive use, honest programs end by, too.
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    sys.dont_write_bytecode = True
    limit_all()
    rehearse()
    os.umask(0o022)
    # Programs may import helpers that lie beside them.
    sys.path.insert(0, box)
    for name in [name for name in sys.modules if name.split(".")[0] == "inside"]:
        del sys.modules[name]
    surroundings = Surroundings(
        box=box,
        own_session=tier in ("landlock", "none"),
        confined=confined,
        base_memory=_address_space(config["statm"]),
    )
    if confined:
        seccomp.install(seccomp.server_filter(machine(), chmod=config["chmod"]))
    gc.collect()
    gc.freeze()
    gc.disable()
    return ForkServer(
        control,
        lane,
        owner,
        surroundings,
        alone=tier in ("native", "bubblewrap"),
        bounded=tier == "native",
    )


def _address_space(statm: int) -> int:
    """Bytes of address space that this process has mapped; closes the descriptor, which tells it."""
    with open(statm, "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
