"""The memory files that carry a job to a fork server, and its results back."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from guerdon.sandbox.execution import SandboxJob

MAX_ANSWERS = 16 << 20
MAX_COLLECTED = 256 << 20


class JobFiles:
    """The memory files of one job, each by the letter that ``inside.child`` knows it by.

    Raises OSError where this process may not open as many.
    """

    def __init__(self, job: SandboxJob) -> None:
        self.descriptors: dict[str, int] = {}
        try:
            for letter, content in _contents(job).items():
                self.descriptors[letter] = descriptor = os.memfd_create(letter, os.MFD_CLOEXEC)
                if content:
                    _write_all(descriptor, content)
                    os.lseek(descriptor, 0, os.SEEK_SET)
        except BaseException:
            self.close()
            raise

    def read(self, letter: str, limit: int) -> tuple[bytes, bool]:
        """What a file holds, at most ``limit`` bytes of it, and whether there is more."""
        descriptor = self.descriptors.get(letter)
        if descriptor is None:
            return b"", False
        size = os.fstat(descriptor).st_size
        return (os.pread(descriptor, min(size, limit), 0) if size else b""), size > limit

    def answers(self) -> bytes:
        """What was answered to questions; cut where it is more than anyone would answer."""
        return self.read("a", MAX_ANSWERS)[0]

    def collected(self) -> bytes:
        """The files that were brought back, packed."""
        return self.read("c", MAX_COLLECTED)[0]

    def close(self) -> None:
        """Lets go of all of them."""
        for descriptor in self.descriptors.values():
            os.close(descriptor)


def _contents(job: SandboxJob) -> dict[str, bytes]:
    contents = {"o": b"", "e": b""}
    if job.kind != "command":
        contents["p"] = job.program
    if job.kind in ("program", "command") and job.stdin:
        contents["i"] = job.stdin
    if job.kind in ("calls", "pair"):
        contents |= {"q": job.questions, "a": b""}
    if job.kind == "command" or job.arguments:
        line = {
            "arguments": job.arguments,
            "environment": dict(job.environment),
            "stack": job.stack_mb << 20,
        }
        contents["g"] = json.dumps(line).encode()
    if job.files:
        contents["f"] = packed(job.files)
    if job.collect:
        contents["c"] = b""
    return contents


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def packed(files: Mapping[str, bytes]) -> bytes:
    """Files as one text: a line of JSON with names and sizes, then their contents."""
    index = json.dumps([(name, len(content)) for name, content in files.items()]).encode()
    return b"\n".join((index, b"".join(files.values())))


def _entries(index: bytes) -> list[tuple[str, int]]:
    entries = json.loads(index or b"[]")
    if type(entries) is not list or not all(type(entry) is list and len(entry) == 2 for entry in entries):
        raise ValueError("no index of files")
    if not all(type(name) is str and type(size) is int and size >= 0 for name, size in entries):
        raise ValueError("no names and sizes")
    return [(name, size) for name, size in entries]


def unpacked(text: bytes) -> dict[str, bytes]:
    """What ``packed`` made. Raises ValueError for anything else."""
    index, _, body = text.partition(b"\n")
    files, at = {}, 0
    for name, size in _entries(index):
        files[name] = body[at : at + size]
        at += size
    return files
