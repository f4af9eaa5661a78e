"""Text of any origin, made harmless, short and readable.

Everything shown comes from models, data sets and user code: control characters, terminal escapes, direction overrides
and lone surrogates appear as escapes such as ``\\x1b``, and characters that the console's encoding lacks likewise.
"""

from __future__ import annotations

import re
import reprlib
import unicodedata
from typing import Any

from rich.console import Console

NAME_LIMIT = 60
REASON_LIMIT = 300
LINES = 14
"""Most lines of a prompt or a response that are shown."""

# Joiners are part of how emoji and several scripts are written, and move nothing else.
_KEPT = {"\n", "\t", "\u200c", "\u200d"}
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# The piece of a word at a cut, unless it is long enough to be more than a piece.
_WORD_STUB = re.compile(r"(?<=\s)\S{1,15}\Z")
_WORD_REST = re.compile(r"\A\S{1,15}(?=\s)")
_LONG_WORD = re.compile(r"[!-~]{81,}")


def clean(text: str, console: Console) -> str:
    """Text that cannot do anything to the console but be read; line breaks stay, tabs become spaces.

    >>> clean("a\\x1b[31m\\u202eb\\ud800", Console())
    'a\\\\x1b[31m\\\\u202eb\\\\ud800'
    """
    shown = visible(text.replace("\t", "    "))
    try:
        return shown.encode(console.encoding, "backslashreplace").decode(console.encoding)
    except LookupError:
        return shown.encode("ascii", "backslashreplace").decode("ascii")


def visible(text: str) -> str:
    """Text whose control characters and direction overrides are escapes; line breaks and tabs stay.

    >>> visible("a\\x1b\\u202eb\\r\\n")
    'a\\\\x1b\\\\u202eb\\n'
    """
    text = text.replace("\r\n", "\n")
    return "".join(c if c in _KEPT or unicodedata.category(c) not in _ESCAPED else _escape(c) for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def cut(text: str, limit: int, lines: int = LINES) -> str:
    """The beginning and the end of a long text, with the number of characters left out between them.

    A text of at most ``limit`` characters and ``lines`` lines stays as it is, but for single words of
    more than 80 characters. The end gets a third: that is where answers are.

    >>> cut("a" * 50 + " " + "b" * 50, 30)
    'aaaaaaaaaaaaaaaaaaaa [... 71 characters left out ...] bbbbbbbbbb'
    """
    if len(text) > limit or text.count("\n") >= lines:
        first, last, end_lines = limit - limit // 3, max(limit // 3, 1), max(lines // 3, 1)
        head, tail = text[:first], text[-last:]
        if len(text) > first and not text[first].isspace():
            head = _WORD_STUB.sub("", head)
        if len(text) > last and not text[-last - 1].isspace():
            tail = _WORD_REST.sub("", tail)
        head = "\n".join(head.split("\n")[: max(lines - end_lines, 1)]).rstrip(" ")
        tail = "\n".join(tail.split("\n")[-end_lines:]).lstrip(" ")
        left = len(text) - len(head) - len(tail)
        if left > 0:
            space = "\n" if "\n" in text else " "
            note = f"[... {left:,} {'character' if left == 1 else 'characters'} left out ...]"
            return f"{_shorten(head)}{space}{note}{space}{_shorten(tail)}"
    return _shorten(text)


def _shorten(text: str) -> str:
    return _LONG_WORD.sub(lambda word: f"{word[0][:50]}[... {len(word[0]) - 60:,} ...]{word[0][-10:]}", text)


def one_line(text: str, limit: int, console: Console) -> str:
    """One line of about ``limit`` characters at most."""
    return clean(cut(text.replace("\n", " ").strip(), limit), console)


def block(text: str, limit: int | None, console: Console) -> str:
    """Some lines, all of them where ``limit`` is None, or a word about why there is nothing to see."""
    if not text.strip():
        return f"({len(text):,} blank characters)" if text else "(empty)"
    text = text.strip("\n")
    return clean(text if limit is None else cut(text, limit), console)


def duration(seconds: float, *, ascii_only: bool = False) -> str:
    """Seconds in the unit that reads best.

    >>> duration(0.0000123), duration(0.5), duration(12.3), duration(200)
    ('12.3 µs', '500 ms', '12.3 s', '3.33 min')
    """
    for unit, size in (("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= size * (2 if unit == "min" else 1):
            return f"{_digits(seconds / size)} {unit}"
    return f"{_digits(seconds * 1e6)} {'us' if ascii_only else 'µs'}"


def _digits(number: float) -> str:
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"


def value_text(value: Any) -> str:
    """A string as it is, anything else as a bounded repr."""
    return value if isinstance(value, str) else reprlib.repr(value)
