"""What a fork server finds around it: the files that it is shown, its environment, its working directory."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from typing import Any

from guerdon.errors import InputError
from guerdon.sandbox.execution import Tier
from guerdon.sandbox.inside.namespaces import DEVICES, STREAMS

BOX = "/box"
"""The working directory inside, where the sandbox has a root folder of its own."""
_TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    # One thread a program: what numpy starts by itself would count against its limits.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
AT_START = {
    # The same program gives the same verdict each time, the order of its sets among it.
    "PYTHONHASHSEED": "0",
    # Each arena reserves 64 MiB of the address space that is limited.
    "MALLOC_ARENA_MAX": "1",
    # The addresses of functions are looked up at once, not by each fork anew.
    "LD_BIND_NOW": "1",
}
"""The environment of the interpreter when it starts; what programs see is ENVIRONMENT."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What kind of fork server is wanted. Two of the same kind can take each other's jobs."""

    tier: Tier
    preload: tuple[str, ...] = ()
    """Modules that are imported before a program is forked. Where they are installed is shown to programs."""
    scratch_mb: int = 16
    commands: bool = False
    """Whether programs may execute others: compilers, interpreters, what was compiled."""
    shown: tuple[str, ...] = ()
    """Further files and folders to show, read-only, for commands."""

    @property
    def python(self) -> str:
        """The interpreter, that of a virtual environment's base."""
        return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


@cache
def _system() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Folders that an interpreter needs at run time, and the links at the top that lead there."""
    library = sysconfig.get_config_var("LIBDIR") or ""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    wanted = [
        *_standard(),
        *(os.path.join(top, multiarch) for top in ("/usr/lib", "/lib") if multiarch),
        "/lib64",
        "/usr/lib64",
        "/etc/ld.so.cache",
        "/usr/share/zoneinfo",
        os.path.join(library, sysconfig.get_config_var("INSTSONAME") or "-"),
    ]
    links = tuple((f"/{name}", os.readlink(f"/{name}")) for name in _TOP if os.path.islink(f"/{name}"))
    return _outermost(wanted), links


def _outermost(paths: list[str]) -> tuple[str, ...]:
    """Those that exist, with links resolved, without what lies in another of them."""
    real = sorted({os.path.realpath(path) for path in paths if os.path.exists(path)})
    kept: list[str] = []
    for path in real:
        if not kept or not (path + "/").startswith(kept[-1].rstrip("/") + "/"):
            kept.append(path)
    return tuple(kept)


def _standard() -> list[str]:
    """The folders of the standard library: its modules, and those of them that are compiled."""
    folders = (sysconfig.get_path("stdlib"), sysconfig.get_config_var("DESTSHARED"))
    return [os.path.realpath(folder) for folder in folders if folder]


def _folders_of(modules: tuple[str, ...]) -> list[str]:
    """The entries of ``sys.path`` that modules are imported from, without those of the standard library."""
    found: list[str] = []
    standard = set(_standard())
    for module in modules:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError) as error:
            raise InputError(f"preload: {module} cannot be imported: {error}") from None
        if spec is None:
            raise InputError(f"preload: there is no module {module!r} here; install it, or leave it out")
        places = list(spec.submodule_search_locations or ()) or [spec.origin or ""]
        if not os.path.isabs(places[0]):
            continue  # built in, or frozen
        folder = os.path.dirname(places[0])
        for _ in range(module.count(".")):
            folder = os.path.dirname(folder)
        if os.path.realpath(folder) not in standard and folder not in found:
            found.append(folder)
    return found


def check_preload(modules: tuple[str, ...]) -> None:
    """Raises InputError for a module that cannot be preloaded because it is not installed."""
    _folders_of(modules)


def configuration(spec: Spec, box: str) -> dict[str, Any]:
    """The configuration a fork server gets at its start. Raises InputError for a module that is not there."""
    shown, links = _system()
    folders = _folders_of(spec.preload)
    more = [*folders, *spec.shown]
    if spec.commands:
        more += ["/usr", "/etc/alternatives", *(f"/{name}" for name in _TOP if os.path.isdir(f"/{name}"))]
    everything = _outermost([*shown, *more])
    home = {"HOME": box, "TMPDIR": box, "PWD": box}
    return {
        "tier": spec.tier,
        "box": box,
        "shown": everything,
        "executable": (*everything, box) if spec.commands else (),
        "links": links,
        "preload": spec.preload,
        "sys_path": [*_standard(), *map(os.path.realpath, folders)],
        "environment": ENVIRONMENT | home,
        "commands": spec.commands,
        "scratch_mb": spec.scratch_mb,
    }


def bubblewrap_command(spec: Spec, folder: str, program: str, info: int) -> list[str]:
    """The command that goes before the interpreter's, so that bubblewrap makes the walls.

    ``folder`` is where the package ``inside`` lies, ``program`` is bubblewrap itself, ``info`` the descriptor
    to which it writes what process it made.
    """
    config = configuration(spec, BOX)
    line = [program, "--unshare-all", "--as-pid-1", "--cap-drop", "ALL", "--uid", "1000", "--gid", "1000"]
    line += ["--hostname", "sandbox", "--proc", "/proc", "--info-fd", str(info)]
    shown = _outermost([*config["shown"], os.path.join(folder, "inside"), spec.python])
    for path in shown:
        line += ["--ro-bind", path, path]
    for name, target in config["links"]:
        line += ["--symlink", target, name]
    for name in DEVICES:
        line += ["--dev-bind", f"/dev/{name}", f"/dev/{name}"]
    for name, target in STREAMS.items() if spec.commands else ():
        line += ["--symlink", target, f"/dev/{name}"]
    if bubblewrap_version(program) >= (0, 7):
        line += ["--size", str(spec.scratch_mb << 20)]
    line += ["--tmpfs", BOX]
    if not any(path.startswith("/tmp/") for path in shown):  # where one does, it is a folder already
        line += ["--symlink", BOX[1:], "/tmp"]
    return [*line, "--remount-ro", "/", "--chdir", "/", "--"]


@cache
def bubblewrap_version(program: str) -> tuple[int, ...]:
    """Such as ``(0, 8, 0)``; nothing where it does not say."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(part) for part in said.rpartition(" ")[2].strip().split(".") if part.isdecimal())
