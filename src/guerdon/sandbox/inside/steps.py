"""Which steps of a run are done, by the answers that its program wrote: only a new answer winds up its clocks.

What the program wrote is searched in one buffer that is wiped, so none of it is in the memory of later forks.
"""

from __future__ import annotations

import os
from typing import Any

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter that leaves all hashes to OpenSSL
    from hashlib import blake2b

_SIZE = 1 << 16
_BUFFER = bytearray(_SIZE)
_NOTHING = bytes(_SIZE)
_END = b"\n"


class StepCounter:
    """Finds the first line of each step, in order: that the program is ready, then ``[0,…``, ``[1,…`` and so on.

    A line counts once it is complete, and no line counts twice. Whether what counted is still there at the end has
    to be asked: a program may write over it.
    """

    def __init__(self, answers: int, steps: int) -> None:
        self._answers = answers
        self._left = steps
        self._marker = b'["ready"]'
        self._done = 0
        self._read = 0
        """Up to where there is nothing more to be found."""
        self._digest = blake2b()
        self._hashed = 0

    def advanced(self) -> bool:
        """Whether further steps are done since it was asked last."""
        before = self._left
        while self._left:
            start = self._find(self._marker, self._read)
            end = -1 if start < 0 else self._find(_END, start + len(self._marker))
            if end < 0:
                break
            # The line's end is the next one's start.
            self._read = end
            self._marker = b"\n[%d," % self._done
            self._done += 1
            self._left -= 1
        if self._left == before:
            return False
        self._hash_to(self._digest, self._hashed, self._read)
        self._hashed = self._read
        return True

    def changed(self) -> bool:
        """Whether something was written over what counted."""
        if not self._hashed:
            return False
        digest = blake2b()
        self._hash_to(digest, 0, self._hashed)
        return digest.digest() != self._digest.digest()

    def _find(self, what: bytes, start: int) -> int:
        """Where the answers hold these bytes, from ``start`` on; -1 where they do not."""
        while count := os.preadv(self._answers, (_BUFFER,), start):
            found = _BUFFER.find(what, 0, count)
            _BUFFER[:] = _NOTHING
            if found >= 0:
                return start + found
            if count < len(what):
                break
            start += count - len(what) + 1
        if what is not _END:
            self._read = start
        return -1

    def _hash_to(self, digest: Any, start: int, end: int) -> None:
        while start < end and (count := os.preadv(self._answers, (_BUFFER,), start)):
            digest.update(memoryview(_BUFFER)[: min(count, end - start)])
            start += count
        _BUFFER[:] = _NOTHING
