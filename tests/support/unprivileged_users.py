"""Interpreters and copies of the package for users who may not read where the tests are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import guerdon
from support.restricted_host import ORDINARY

HERE = Path(__file__).parent


def readable_python() -> str | None:
    """An interpreter that every user may run and read; None where there is none."""
    if os.geteuid() != 0:
        return sys.executable
    code = "import sys; sys.exit(sys.version_info < (3, 11))"
    for name in (os.path.realpath(sys.executable), "/usr/local/bin/python3", "/usr/bin/python3"):
        try:
            done = subprocess.run([name, "-c", code], user=ORDINARY, group=ORDINARY, extra_groups=[], cwd="/")
        except OSError:
            continue
        if done.returncode == 0:
            return name
    return None


@dataclass(frozen=True)
class Readable:
    """A folder that every user may read, with the package and the scripts of these tests in it."""

    folder: Path
    python: str

    def run(
        self, context: Sequence[str], *command: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs Python with these arguments in a surrounding."""
        line = [self.python, str(self.folder / "restricted_host.py"), *context, "--", self.python, *command]
        kept = {"PATH": os.environ["PATH"]}
        ours = {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            line,
            env=kept | ours | dict(variables or {}),
            capture_output=True,
            text=True,
            timeout=120,
            cwd="/",
        )


@contextmanager
def readable(python: str) -> Iterator[Readable]:
    """Not below pytest's own folder, which only its user may enter."""
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="guerdon-readable-")))
    try:
        folder.chmod(0o755)
        shutil.copytree(
            Path(guerdon.__file__).parent,
            folder / "src" / "guerdon",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        shutil.copy(HERE / "restricted_host.py", folder)
        yield Readable(folder, python)
    finally:
        shutil.rmtree(folder)
