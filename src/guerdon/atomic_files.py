"""Files that appear under their name only once they are whole."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRIES = 100


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """An empty file beside ``path`` to write to, which takes its place once the block has ended well.

    Nobody can guess its name, and it is new: in a folder that others may write to, a link that somebody put there is
    not followed. Raises OSError where it cannot be made or moved.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder, "scores")) as half:
    ...         _ = half.write_text("whole")
    ...     os.listdir(folder)
    ['scores']
    """
    half = _new_file(path)
    try:
        yield half
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def _new_file(path: Path) -> Path:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    for number in range(_TRIES):
        half = hidden_beside(path)
        try:
            os.close(os.open(half, flags, 0o666))
        except FileExistsError:
            if number == _TRIES - 1:
                raise
            continue
        return half
    raise AssertionError("the last try returns or raises")


def hidden_beside(path: Path) -> Path:
    """A name in the same folder that nobody can guess."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")
