"""What a program's process writes: its values, frames and packed files are read as data, or refused, in bounded memory.

An input is a byte that says who reads it, and the bytes that are read.
"""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Sequence
from contextlib import suppress

from guerdon.sandbox.grading.call_tests import _parse_replies, same
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.grading.verdicts import exception_message, shortened
from guerdon.sandbox.inside import decoding, encoding, frames
from guerdon.sandbox.local.job_files import packed, unpacked

_VALUE, _FRAME, _FILES, _REPLIES, _OUTPUT = range(5)
_TIMES = 100
_BASE = 2 << 20
"""Bytes of memory that reading may take, and as many times its input's."""

SEEDS: Sequence[bytes] = (
    bytes((_VALUE,)) + b'[1, {"tuple": [2.5, "x"]}, {"dict": [3, null]}, {"set": [1, 2]}]',
    bytes((_VALUE,))
    + b'[{"decimal": "1E+100"}, {"fraction": [1, 3]}, {"int": "0xffff"}, {"range": [0, 9, 2]}]',
    bytes((_VALUE,)) + b'{"datetime": [2024, 1, 31, 1, 2, 3, 4, 0, 3600]}',
    bytes((_VALUE,))
    + b'[{"deque": [{"frozenset": []}]}, {"bytes": "00ff"}, {"complex": [1, 2]}, {"ellipsis": null}]',
    bytes((_VALUE,)) + b'[{"array": ["<i8", [2, 1], [1, 2]]}, {"keys": [1]}, {"items": [{"tuple": [1, 2]}]}]',
    bytes((_FRAME,)) + b'\x00\x00\x00\x0c[1, "value"]',
    bytes((_FILES,)) + packed({"a.txt": b"abc", "b": b""}),
    bytes((_REPLIES,)) + b'["ready"]\n[0, 0, null, "value", 3]\n[0, 1, null, "raised", ["E"], "m", 3]\n',
    bytes((_REPLIES,))
    + b'["failed", ["ValueError"], "text", 3]\n[1, 0, null, "value", {"range": [0, 99999, 1]}]\n',
    bytes((_OUTPUT,)) + b"1 2.5 1e300\x00 -0 x\n\n",
)


def check(data: bytes) -> None:
    """Reads the bytes as the trusted side does."""
    reader = _READERS[data[0] % len(_READERS)] if data else _value
    tracemalloc.start()
    try:
        reader(data[1:])
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert used < _BASE + _TIMES * len(data), f"{used} bytes for {len(data)}"


def _value(data: bytes) -> None:
    try:
        value = decoding.loads(data)
    except decoding.DecodingError:
        return
    assert len(shortened(value)) < 100_000
    same(value, [value])
    exception_message(value)
    with suppress(encoding.EncodingError):
        again = decoding.loads(encoding.dumps(value))
        if "nan" not in shortened(value).lower():
            assert type(again) is type(value)


def _frame(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        with suppress(frames.ChannelError, OSError):
            frames.receive(ours)


def _files(data: bytes) -> None:
    try:
        files = unpacked(data)
    except ValueError:
        return
    assert sum(map(len, files.values())) <= len(data)


def _replies(data: bytes) -> None:
    found = _parse_replies(data, [2, 1])
    assert [set(test) <= {0, 1} for test in found.tests] == [True, True]
    if found.failure is not None:
        exception_message(found.failure)


def _output(data: bytes) -> None:
    wanted, _, got = data.partition(b"\x00")
    text = wanted.decode("utf-8", "replace")
    for word in ("exact", "lines", "tokens", "floats"):
        accepted = Comparison.of(word).accepts(text, got)
        assert Comparison.of(word).accepts(text, text.encode()) or word == "floats"
        assert accepted in (True, False)


_READERS = (_value, _frame, _files, _replies, _output)
