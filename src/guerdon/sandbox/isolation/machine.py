"""What of this machine decides which walls there can be."""

from __future__ import annotations

import errno
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from guerdon.sandbox.inside import landlock
from guerdon.sandbox.local.cgroups import find_parent
from guerdon.sandbox.local.environment import bubblewrap_version

SYSCTLS = (
    "user.max_user_namespaces",
    "kernel.unprivileged_userns_clone",
    "kernel.apparmor_restrict_unprivileged_userns",
)
"""What forbids or limits user namespaces; most systems have only the first."""
_CAPABILITIES = {7: "SETUID", 6: "SETGID", 21: "SYS_ADMIN", 2: "DAC_READ_SEARCH", 31: "SETFCAP"}
"""Those that matter here, by number."""
_TRY = """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
if library.unshare(0x10020000):
    print("made", ctypes.get_errno())
elif library.mount(b"none", b"/", None, 0x44000, None):
    print("used", ctypes.get_errno())
"""


@dataclass(frozen=True, slots=True)
class Machine:
    """The facts, each as it was found."""

    system: str
    """Such as ``Linux 6.18.4``."""
    architecture: str
    python: str
    interpreter: str
    """The file that fork servers execute."""
    user: int | None
    """None where there are no such numbers."""
    capabilities: tuple[str, ...] = ()
    """Those that this process has of the few that matter."""
    container: str = ""
    """Such as ``docker``; nothing where there is no sign of one."""
    filtered: bool = False
    """Whether a seccomp filter lies over this process, as in most containers."""
    landlock: int = 0
    """The version of Landlock's interface; 0 where there is none."""
    namespaces: str = ""
    """Why user namespaces cannot be used; nothing where they can."""
    sysctls: Mapping[str, str] | None = None
    bubblewrap: str = ""
    """Its version; nothing where it is not installed."""
    controllers: tuple[str, ...] = ()
    """The controllers of cgroup v2. None are needed."""
    memory_cgroup: bool = False
    """Whether fork servers get memory cgroups of their own, which count what the kernel keeps for programs."""

    @property
    def linux(self) -> bool:
        """Whether programs can be confined at all."""
        return self.system.startswith("Linux")


def machine() -> Machine:
    """Looks at this machine. Starts a process, to see whether it may make a user namespace."""
    base = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    about = Machine(
        system=f"{platform.system()} {platform.release()}",
        architecture=platform.machine(),
        python=platform.python_version(),
        interpreter=base,
        user=os.geteuid() if hasattr(os, "geteuid") else None,
    )
    if not about.linux:
        return about
    status = _status()
    effective = int(status.get("CapEff", "0"), 16)
    program = shutil.which("bwrap")
    return Machine(
        system=about.system,
        architecture=about.architecture,
        python=about.python,
        interpreter=about.interpreter,
        user=about.user,
        capabilities=tuple(name for bit, name in _CAPABILITIES.items() if effective >> bit & 1),
        container=_container(),
        filtered=status.get("Seccomp", "0") == "2",
        landlock=landlock.abi(),
        namespaces=_why_no_namespaces(base),
        sysctls={name: text for name in SYSCTLS if (text := _text(f"/proc/sys/{name.replace('.', '/')}"))},
        bubblewrap=".".join(map(str, bubblewrap_version(program))) or "unknown" if program else "",
        controllers=tuple(_text("/sys/fs/cgroup/cgroup.controllers").split()),
        memory_cgroup=find_parent() is not None,
    )


def _status() -> dict[str, str]:
    lines = _text("/proc/self/status").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def _container() -> str:
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    if os.path.exists("/.dockerenv"):
        return "docker"
    return "podman" if os.path.exists("/run/.containerenv") else ""


def _why_no_namespaces(interpreter: str) -> str:
    """Tries it in a process of its own."""
    try:
        done = subprocess.run(
            [interpreter, "-I", "-S", "-c", _TRY], capture_output=True, text=True, timeout=20, cwd="/"
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"it could not be tried: {error}"
    step, _, code = done.stdout.strip().partition(" ")
    if done.returncode != 0:
        return "it could not be tried"
    name = errno.errorcode.get(int(code), code) if code else ""
    if step == "made":
        return f"they cannot be made ({name})"
    return f"nothing can be mounted in them ({name})" if step else ""
