"""A terminal for a command."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from pathlib import Path


def on_a_terminal(command: list[str], folder: Path) -> str:
    """What a command writes to a terminal of 80 columns that is its standard error."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "NOTES": str(folder / "notes")}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            if not select.select([ours], [], [], 0.1)[0]:
                continue
            written += os.read(ours, 65536)
    except OSError:  # Linux says so when the other end is closed
        pass
    finally:
        os.close(ours)
        assert process.wait(timeout=60) == 0
    return written.decode()
