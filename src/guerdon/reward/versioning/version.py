"""The version of a reward: a short hash of what decides its verdicts.

Hashed are the fingerprints of its function and parameters (see ``fingerprint``) and the versions of its components:
the same reward has the same version in every process, on every machine and under every Python.
"""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

_LENGTH = 12


class _InProgress(threading.local):
    """The rewards whose versions are being computed in this thread, one inside the other."""

    def __init__(self) -> None:
        self.open: set[int] = set()
        self.looped = False
        """Whether one of them was met again."""


in_progress = _InProgress()


def digest(value: Any) -> str:
    """A short hash of a JSON-able value.

    >>> digest({"a": 1}) == digest({"a": 1}) != digest({"a": 2})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
