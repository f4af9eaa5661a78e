"""What was compiled, kept by the hash of all that it was made of."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass

from guerdon.sandbox.execution import Report

MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class BuildArtifact:
    """What came of compiling one source: the compiler's report, with what it made where it made something."""

    report: Report
    lasting: bool = True
    """Whether compiling it again would come to the same, so that it is worth keeping."""

    @property
    def size(self) -> int:
        """Bytes that keeping it takes."""
        parts = (self.report.stdout, self.report.stderr, *self.report.collected.values())
        return sum(map(len, parts)) + 1024


class BuildCache:
    """Artifacts by key, no more than ``max_bytes`` of them: the one unused for longest goes first.

    Safe to share between threads. What several ask for at once is made once.

    >>> kept = BuildCache()
    >>> kept.get("a", lambda: BuildArtifact(Report(status="ok"))).report.status
    'ok'
    >>> len(kept)
    1
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, BuildArtifact] = OrderedDict()
        self._size = 0
        self._in_the_making: dict[str, Future[BuildArtifact]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str, make: Callable[[], BuildArtifact]) -> BuildArtifact:
        """The artifact of that key, made if there is none. Raises what ``make`` raises."""
        with self._lock:
            if (kept := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                return kept
            waiting = self._in_the_making.get(key)
            if waiting is None:
                made: Future[BuildArtifact] = Future()
                self._in_the_making[key] = made
        if waiting is not None:
            return waiting.result()
        try:
            artifact = make()
        except BaseException as error:
            with self._lock:
                del self._in_the_making[key]
            made.set_exception(error)
            raise
        with self._lock:
            del self._in_the_making[key]
            if artifact.lasting:
                self._keep(key, artifact)
        made.set_result(artifact)
        return artifact

    def _keep(self, key: str, artifact: BuildArtifact) -> None:
        if artifact.size > self.max_bytes:
            return
        self._kept[key] = artifact
        self._size += artifact.size
        while self._size > self.max_bytes:
            _, oldest = self._kept.popitem(last=False)
            self._size -= oldest.size


def key_of(parts: Iterable[str | bytes]) -> str:
    """A hash of the parts, in their order and each with its length.

    >>> key_of(["a", b"bc"]) == key_of(["ab", b"c"])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
