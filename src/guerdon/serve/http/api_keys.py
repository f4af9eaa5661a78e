"""API keys: a key in a header says who may call the server."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Iterable
from enum import Enum
from pathlib import Path

from guerdon.errors import InputError
from guerdon.serve.redaction import add_secrets

logger = logging.getLogger(__name__)

_FILE_BYTES = 1 << 20
_CREDENTIALS = 4
_EVERY = 1.0
_SETTLED = 2.0

RawHeaders = Iterable[tuple[bytes, bytes]]
_Stamp = tuple[int, int, int]


class KeyCheck(Enum):
    """What a request's key is worth."""

    OK = "ok"
    MISSING = "missing"
    """There is none: HTTP's 401."""
    WRONG = "wrong"
    """There is one and it is not known: HTTP's 403."""


class ApiKeys:
    """The API keys of a server: those given, and those of a file that is read again when it changes.

    A keys file has one key a line; blank lines and lines that start with ``#`` are left out. Replace it by
    renaming another onto it, so that it is never seen half written. A change holds within a second. A new
    file that cannot be read or holds no key leaves the keys as they were, and an error is logged.

    A key is compared by its digest, with all of them in constant time; the keys themselves are known only to the
    redaction of what is logged and recorded. Without any key, every request is refused.

    Raises InputError where a key or the file is unusable.

    >>> keys = ApiKeys(["s3cret", "another"])
    >>> keys, keys.check([(b"authorization", b"Bearer s3cret")])
    (ApiKeys(2 keys), <KeyCheck.OK: 'ok'>)
    """

    def __init__(
        self,
        keys: Iterable[str] = (),
        file: str | os.PathLike[str] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        given = list(keys)
        for key in given:
            _check(key, "an API key")
        self._given = frozenset(map(_digest_of, given))
        self._file = None if file is None else Path(file)
        self._clock = clock
        self._stamp: _Stamp | None = None
        self._said = ""
        self._next = float("inf")
        self._generation = 0
        self._digests = self._given
        if self._file is not None:
            try:
                self._digests = self._load(self._file)
            except OSError as error:
                raise InputError(f"cannot read the keys file {self._file}: {error.strerror}") from None
            self._next = clock() + _EVERY

    @property
    def generation(self) -> int:
        """A number that grows when keys are added or revoked: those let in before are checked again."""
        if self._clock() >= self._next:
            self._refresh()
        return self._generation

    def __len__(self) -> int:
        return len(self._digests)

    def __repr__(self) -> str:
        count = f"{len(self)} {'key' if len(self) == 1 else 'keys'}"
        return f"ApiKeys({count})" if self._file is None else f"ApiKeys({count}, file={str(self._file)!r})"

    def check(self, headers: RawHeaders) -> KeyCheck:
        """Whether a request with these headers, names in lower case as in ASGI, has one of the keys.

        A key comes as ``Authorization: Bearer …`` or as ``X-Api-Key: …``; where there are both, one of them
        must be right.
        """
        if self._clock() >= self._next:
            self._refresh()
        verdict, seen = KeyCheck.MISSING, 0
        for name, value in headers:
            if name == b"x-api-key":
                key = value.strip()
            elif name == b"authorization" and value[:7].lower() == b"bearer ":
                key = value[7:].strip()
            else:
                continue
            if not key or seen == _CREDENTIALS:
                continue
            seen += 1
            verdict = KeyCheck.OK if self._knows(key) or verdict is KeyCheck.OK else KeyCheck.WRONG
        return verdict

    def _knows(self, key: bytes) -> bool:
        digest = hashlib.sha256(key).digest()
        known = False
        for held in self._digests:  # all of them: where it stands must not show in the time
            known |= hmac.compare_digest(held, digest)
        return known

    def _refresh(self) -> None:
        self._next = self._clock() + _EVERY
        file = self._file
        if file is None:
            return
        try:
            if _stamp_of(file) == self._stamp:
                return
            fresh = self._load(file)
        except (OSError, InputError) as error:
            self._complain(file, error)
            return
        self._said = ""
        if fresh != self._digests:
            self._digests = fresh
            self._generation += 1
            logger.warning("the keys file %s has changed; there are %d keys now", file, len(fresh))

    def _load(self, file: Path) -> frozenset[bytes]:
        stamp = _stamp_of(file)
        # Within the granularity of its time a file may change again and look the same: it is read once more.
        self._stamp = stamp if abs(time.time() - stamp[0] / 1e9) > _SETTLED else None
        return self._given | _read(file)

    def _complain(self, file: Path, error: OSError | InputError) -> None:
        text = error.strerror or "" if isinstance(error, OSError) else str(error)
        if text != self._said:
            self._said = text
            logger.error("the keys file %s is unusable, so the keys before it stay: %s", file, text)


def caller_of(headers: RawHeaders) -> tuple[bytes, ...]:
    """The credentials of a request as they stand, which tell one caller from another."""
    return tuple(value for name, value in headers if name in (b"authorization", b"x-api-key"))


def _check(key: str, what: str) -> None:
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise InputError(f"{what} must be printable ASCII characters without spaces")


def _digest_of(key: str) -> bytes:
    return hashlib.sha256(key.encode("ascii")).digest()


def _stamp_of(file: Path) -> _Stamp:
    found = file.stat()
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read(file: Path) -> frozenset[bytes]:
    with file.open("rb") as opened:
        body = opened.read(_FILE_BYTES + 1)
    if len(body) > _FILE_BYTES:
        raise InputError(f"the keys file {file} is larger than {_FILE_BYTES >> 20} MiB")
    found = set()
    for number, line in enumerate(body.decode("utf-8", "replace").splitlines(), 1):
        key = line.strip().lstrip("\ufeff")
        if key and not key.startswith("#"):
            _check(key, f"line {number} of the keys file {file}")
            found.add(_digest_of(key))
            add_secrets([key])
    if not found:
        raise InputError(f"the keys file {file} holds no key; write one key a line")
    return frozenset(found)
