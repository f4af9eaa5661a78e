"""How a fork server comes to be: walls, then what is to be imported, then the filter, then requests.

Started as ``python -s -P -S -c "…" folder control direct owner``, the last three being descriptors: two sockets
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
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from . import kernel, landlock, namespaces, reaper, seccomp
from .child import ServerContext, limit_all, rehearse
from .forkserver import ForkServer
from .numbers import machine
from .request import MAX_LENGTH
from .unlinked import UnlinkedFiles

# Imported once here, so that no program pays for them: what programs of the common kind import. Each adds to what
# every fork costs, and the rest of the standard library takes milliseconds to import.
COMMON = (
    *("abc", "array", "ast", "bisect", "collections", "copy", "dataclasses", "datetime", "decimal", "enum"),
    *(
        "fractions",
        "functools",
        "heapq",
        "inspect",
        "io",
        "itertools",
        "json",
        "linecache",
        "math",
        "numbers",
    ),
    *("operator", "random", "re", "statistics", "string", "struct", "textwrap", "time", "traceback", "types"),
    "typing",
)
_HARMLESS = ("/dev/full", "/dev/random", "/dev/urandom")
"""Not /dev/zero: a shared mapping of it keeps memory that nobody counts."""


def main() -> None:
    """Becomes a fork server."""
    _ordinary_signals()
    control, direct = (socket.socket(fileno=int(number)) for number in sys.argv[2:4])
    owner = int(sys.argv[4])
    config = json.loads(control.recv(MAX_LENGTH))

    def report(**said: Any) -> None:
        control.send(json.dumps(said).encode())

    def inside() -> None:
        _serve(control, direct, owner, config, report)

    def start() -> None:
        # While there is a /proc; what is read from it later is of this process still.
        config["statm"] = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        if config["shared_user"]:
            config["tasks"] = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)

    # Without a namespace of their own for users, the host's processes count against the limit.
    config |= {"shared_user": config["tier"] in ("landlock", "none"), "tasks": None}
    try:
        if config["tier"] == "native":
            namespaces.enter(config, start, inside, lambda pid: report(pid=pid))
        if config["tier"] in ("landlock", "none"):
            reaper.stay_behind(config["box"])
        report(pid=os.getpid())
        start()
        inside()
    except Exception as error:  # reported to the owner, whatever it is
        report(failed=_reason(error))
        os._exit(1)


def _ordinary_signals() -> None:
    """What the owner ignores or blocks, this process and the programs in it do not, such as the end of a child."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"


def _serve(
    control: socket.socket, direct: socket.socket, owner: int, config: dict[str, Any], report: Any
) -> None:
    try:
        server = _confine(control, direct, owner, config)
    except Exception as error:  # as above; in the native tier this is another process
        report(failed=_reason(error))
        os._exit(1)
    report(ready=True, memory=server.context.most_memory)
    with suppress(OSError):  # the owner may go in the midst of an answer
        server.serve()
    os._exit(0)


def _confine(control: socket.socket, direct: socket.socket, owner: int, config: dict[str, Any]) -> ForkServer:
    tier, box = config["tier"], config["box"]
    confined = tier != "none"
    if tier == "landlock":
        landlock.check_alone()
    kept = _drop_user(box, config["shown"]) if tier == "landlock" else None
    unlinked = UnlinkedFiles(box, kept) if tier == "landlock" else None
    _take_environment(config)
    if confined:
        _give_up_privileges(config, kept)
    if unlinked:
        unlinked.check()
    # Neither its working directory nor its import path is what programs write to: it, a fork that is made in
    # advance and the tester import trusted modules while a program may be at work.
    os.chdir("/")
    _warm_up(config)
    context = ServerContext(
        box=box,
        folder=os.open(box, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC),
        own_session=tier in ("landlock", "none"),
        confined=confined,
        base_memory=_address_space(config["statm"]),
        tasks=config["tasks"],
        tester_rules=_rules(config, "/dev/null") if confined and landlock.abi() else None,
        looked_at=unlinked is not None,
    )
    if confined:
        # It opens folders that a program closed, to empty them; every program's own filter refuses it.
        seccomp.install(seccomp.server_filter(machine(), chmod="allowed"))
    gc.collect()
    gc.freeze()
    gc.disable()
    return ForkServer(
        control,
        direct,
        owner,
        context,
        alone=tier in ("native", "bubblewrap"),
        bounded=tier == "native",
        unlinked=unlinked,
    )


def _take_environment(config: dict[str, Any]) -> None:
    """Sets signals, environment variables and the import path as programs are to find them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(config["environment"])
    sys.path[:] = config["sys_path"]
    threading.stack_size(8 << 20)
    # Only the first process of a process namespace gets what its orphans leave behind.
    kernel.set_subreaper()


def _give_up_privileges(config: dict[str, Any], kept: int | None) -> None:
    """Drops keys, capabilities but ``kept``, and all access to files that programs are not shown."""
    with suppress(OSError):  # a container may forbid it; the filter forbids all use of keys
        kernel.join_session_keyring()
    kernel.no_new_privileges()
    kernel.disable_huge_pages()
    kernel.drop_capabilities(kept)
    if config["tier"] == "landlock" or landlock.abi():
        landlock.enforce(_rules(config, config["box"], "/dev/null"))
    kernel.set_dumpable(False)


def _rules(config: dict[str, Any], *writable: str) -> int:
    return landlock.rules(
        readable=[path for path in (*config["shown"], *_HARMLESS) if os.path.exists(path)],
        executable=[path for path in config["executable"] if os.path.exists(path)],
        writable=writable,
    )


def _warm_up(config: dict[str, Any]) -> None:
    """Does once what every fork would do: imports, limits, a rehearsal."""
    for name in (*COMMON, *config["preload"]):
        importlib.import_module(name)
    # What the module site gives to interactive use, honest programs end by, too.
    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D"))
    sys.dont_write_bytecode = True
    limit_all()
    rehearse()
    os.umask(0o022)
    for name in [name for name in sys.modules if name.split(".")[0] == "inside"]:
        del sys.modules[name]


def _drop_user(box: str, shown: Sequence[str]) -> int | None:
    """Where root starts the sandbox: makes this process nobody's, who owns no file, and whose processes are
    limited as root's never are. Returns the capability to keep for a Python, or a way to the working directory,
    that only root may read; what there is to be read, Landlock says."""
    if os.geteuid() != 0:
        return None
    kept = None
    try:
        if not _readable_to(namespaces.STRANGER_ID, [*shown, os.path.dirname(box)]):
            if kernel.CAP_DAC_READ_SEARCH not in kernel.bound_capabilities():
                return None
            kept = kernel.CAP_DAC_READ_SEARCH
        os.chown(box, namespaces.STRANGER_ID, namespaces.STRANGER_ID, follow_symlinks=False)
        kernel.become(namespaces.STRANGER_ID, kept)
    except OSError:  # root without the capabilities, or in a namespace that has no such id
        return None
    return kept


def _readable_to(user: int, paths: Sequence[str]) -> bool:
    try:
        os.setegid(user)
        os.seteuid(user)
        return all(os.access(path, os.R_OK, effective_ids=True) for path in paths)
    finally:
        os.seteuid(0)
        os.setegid(0)


def _address_space(statm: int) -> int:
    """Bytes of address space that this process has mapped; closes the descriptor it is read from."""
    with open(statm, "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
