"""Python code that confines itself, in processes of its own, with the modules as a confined process has them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from guerdon.sandbox import inside

PACKAGES = Path(inside.__file__).parent.parent

PRELUDE = """
import ctypes, errno, fcntl, json, os, resource, signal, socket, sys, time
sys.path.insert(0, {packages!r})
from inside import kernel, landlock, seccomp
from inside.numbers import NUMBERS, machine

def name_of(attempt):
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def raw(name, *arguments):
    return lambda: kernel.call(name, *arguments)

def program(processes=False, execute=False, **more):
    seccomp.install(seccomp.program_filter(machine(), os.getpid(), processes=processes, execute=execute, **more))

def server(**more):
    seccomp.install(seccomp.server_filter(machine(), **more))
"""


def run(code: str, *, packages: bool = False, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs the code after the prelude; with ``packages`` it may import what is installed."""
    flags = ["-I"] if packages else ["-I", "-S"]
    source = PRELUDE.format(packages=str(PACKAGES)) + code
    return subprocess.run(
        [sys.executable, *flags, "-c", source], cwd=cwd, capture_output=True, text=True, timeout=60
    )


def told(code: str, *, packages: bool = False, cwd: Path | None = None) -> Any:
    """What the code printed as JSON on its last line; fails where it did not end well."""
    done = run(code, packages=packages, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
