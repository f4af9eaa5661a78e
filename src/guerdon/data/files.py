"""Physical lines of a file: gzip undone, the byte order mark dropped, cut at line feeds only."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from guerdon.data.rows import BadRow
from guerdon.errors import InputError

MAX_LINE = 256 * 2**20
"""The longest line in bytes; a longer one is a malformed row, so that no file can fill the memory."""

_BUFFER = 2**18
BLANK = b" \t\r\n"
"""What JSON counts as white space."""


Stream: TypeAlias = "io.BufferedReader[Any] | gzip.GzipFile"


class DamagedError(Exception):
    """The file ends or breaks in the middle: nothing after this point can be read."""


class ReadContext:
    """One pass over one file: what to call it, how far it is and what its columns must be."""

    def __init__(
        self, name: str, expect: Callable[[Sequence[str]], str | None], *, lone_surrogates: bool = False
    ) -> None:
        self.name = name
        self.expect = expect
        """Says what is wrong with a table that has these columns; None if nothing is."""
        self.lone_surrogates = lone_surrogates
        """Whether escapes in JSON may spell them, as adversarial responses in a table of cases do."""
        self.in_text = False
        """Whether cells are text only, as in CSV."""
        self.unit: Literal["line", "row"] = "line"
        self.position: Callable[[], int] = lambda: 0
        """How many bytes of the file have been read, or rows where its size is a number of rows."""

    def bad(self, line: int, reason: str, *, row: Any = None, text: str | None = None) -> BadRow:
        """A malformed row of this file."""
        return BadRow(self.name, line, reason, row, text, self.unit)


ReadRow = tuple[int, dict[str, Any]] | BadRow
"""What a reader yields: the number and the columns of a row, or what is wrong with it."""


@contextmanager
def opened(path: Path, context: ReadContext) -> Iterator[Stream]:
    """The file's bytes after gzip, which its first bytes tell and not its name, and after the mark.

    Raises InputError for UTF-16, OSError where the file cannot be opened.
    """
    with io.BufferedReader(io.FileIO(path), _BUFFER) as raw:
        context.position = raw.tell
        zipped = raw.peek(2)[:2] == b"\x1f\x8b"
        # Not buffered once more: a BufferedReader around it drops what comes shortly before a cut.
        stream = gzip.GzipFile(fileobj=raw) if zipped else raw
        try:
            with damage():
                start = stream.peek(3)[:3]
            if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise InputError(f"{context.name} is UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8")
            if start == b"\xef\xbb\xbf":
                stream.read(3)
            yield stream
        finally:
            read = raw.tell()
            context.position = lambda: read
            stream.close()


def lines_of(stream: Stream, limit: int = MAX_LINE) -> Iterator[bytes | None]:
    """Every line with its line feed; None for a line of ``limit`` bytes or more, which is passed over.

    Raises DamagedError where the gzip stream is cut off or corrupt.
    """
    with damage():
        for line in iter(partial(stream.readline, limit), b""):
            if len(line) < limit or line.endswith(b"\n"):
                yield line
                continue
            while (rest := stream.readline(_BUFFER)) and not rest.endswith(b"\n"):
                pass
            yield None


def too_long(limit: int) -> str:
    """The reason for a line that is passed over."""
    return f"the line is longer than {limit / 2**20:,.0f} MiB, the most that is read"


@contextmanager
def damage() -> Iterator[None]:
    """Turns what gzip raises into DamagedError."""
    try:
        yield
    except EOFError:
        raise DamagedError("the gzip data is cut off here; the rest is lost") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DamagedError(f"the gzip data is corrupt here; the rest is lost ({error})") from None
