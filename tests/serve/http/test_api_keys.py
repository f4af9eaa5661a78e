"""Which requests have a key, and what becomes of a keys file that changes."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.serve.http.api_keys import ApiKeys, KeyCheck

OK, MISSING, WRONG = KeyCheck.OK, KeyCheck.MISSING, KeyCheck.WRONG


@pytest.mark.parametrize(
    ("headers", "verdict"),
    [
        ([], MISSING),
        ([(b"accept", b"one")], MISSING),
        ([(b"authorization", b"Bearer one")], OK),
        ([(b"authorization", b"bearer one")], OK),
        ([(b"authorization", b"BEARER  two ")], OK),
        ([(b"x-api-key", b"two")], OK),
        ([(b"x-api-key", b" two\t")], OK),
        ([(b"authorization", b"Bearer three")], WRONG),
        ([(b"authorization", b"Bearer on")], WRONG),
        ([(b"authorization", b"Bearer onee")], WRONG),
        ([(b"x-api-key", b"ONE")], WRONG),
        ([(b"x-api-key", b"\xff\x00")], WRONG),
        ([(b"x-api-key", b"")], MISSING),
        ([(b"authorization", b"Bearer ")], MISSING),
        ([(b"authorization", b"Bearer")], MISSING),
        ([(b"authorization", b"one")], MISSING),
        ([(b"authorization", b"Basic b25lOnR3bw==")], MISSING),
        ([(b"authorization", b"Basic b25l"), (b"x-api-key", b"one")], OK),
        ([(b"authorization", b"Bearer three"), (b"x-api-key", b"one")], OK),
        ([(b"x-api-key", b"one"), (b"authorization", b"Bearer three")], OK),
        ([(b"x-api-key", b"three"), (b"authorization", b"Bearer three")], WRONG),
        ([(b"x-api-key", b"%d" % i) for i in range(1000)] + [(b"x-api-key", b"one")], WRONG),
    ],
)
def test_verdicts(headers: list[tuple[bytes, bytes]], verdict: KeyCheck) -> None:
    assert ApiKeys(["one", "two"]).check(headers) is verdict


def test_without_keys_nobody_gets_in() -> None:
    assert not ApiKeys()
    assert ApiKeys().check([(b"x-api-key", b"")]) is MISSING
    assert ApiKeys().check([(b"x-api-key", b"a")]) is WRONG


def test_no_key_shows() -> None:
    keys = ApiKeys(["s3cret"])
    assert "s3cret" not in repr(keys) + str(vars(keys))
    assert repr(keys) == "ApiKeys(1 key)"


@pytest.mark.parametrize("key", ["", "two words", "a\nb", "schlüssel", "tab\t"])
def test_unusable_keys_are_refused_unshown(key: str) -> None:
    with pytest.raises(InputError, match="an API key must be printable") as caught:
        ApiKeys([key])
    assert not key or key not in str(caught.value)


# The file. The clock is the test's own; the file's time is set, as it would be when it changes much later.


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def write(path: Path, text: str, mtime: int) -> None:
    """Replace the file as it should be replaced."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    os.utime(new, (mtime, mtime))
    new.rename(path)


def is_ok(keys: ApiKeys, key: str) -> bool:
    return keys.check([(b"x-api-key", key.encode())]) is OK


def test_a_keys_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_bytes("\ufeff# ours\r\none\r\n\r\n  two  \r\n#three\n".encode())
    keys = ApiKeys(["given"], path)
    assert [is_ok(keys, key) for key in ("one", "two", "given", "three", "# ours")] == [
        *[True] * 3,
        *[False] * 2,
    ]
    assert len(keys) == 3


def test_keys_are_rotated_within_a_second(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, clock = tmp_path / "keys", Clock()
    write(path, "old\n", 1_000)
    keys = ApiKeys(["given"], path, clock)
    write(path, "new\nanother\n", 2_000)
    assert is_ok(keys, "old")
    clock.now += 1.0
    assert [is_ok(keys, key) for key in ("old", "new", "another", "given")] == [False, True, True, True]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "new" not in caplog.messages[0].replace(str(tmp_path), "")


def test_a_file_that_changes_twice_within_its_clock(tmp_path: Path) -> None:
    path, clock = tmp_path / "keys", Clock()
    path.write_text("one\n")
    keys = ApiKeys(file=path, clock=clock)
    stamp = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    clock.now += 1.0
    assert is_ok(keys, "two")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no key"),
        ("# nothing\n\n", "holds no key"),
        ("two words\n", "line 1 of the keys file"),
        ("x" * (1 << 20) + "y", "larger than 1 MiB"),
        (None, "No such file"),
    ],
)
def test_a_file_that_went_bad_leaves_the_keys_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str | None, problem: str
) -> None:
    path, clock = tmp_path / "keys", Clock()
    write(path, "old\n", 1_000)
    keys = ApiKeys(file=path, clock=clock)
    if text is None:
        path.unlink()
    else:
        write(path, text, 2_000)
    for _ in range(3):
        clock.now += 1.0
        assert is_ok(keys, "old")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert problem in caplog.messages[0]
    assert "two words" not in caplog.messages[0]
    write(path, "new\n", 3_000)
    clock.now += 1.0
    assert [is_ok(keys, key) for key in ("old", "new")] == [False, True]
    if text is None:
        path.unlink()
        clock.now += 1.0
        assert is_ok(keys, "new")
        assert len(caplog.records) == 3, "a second fault is told too"


@pytest.mark.parametrize(
    ("text", "problem"), [("# none\n", "holds no key"), (None, "cannot read the keys file")]
)
def test_at_the_start_a_bad_file_is_an_error(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "keys"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=problem):
        ApiKeys(["given"], path)
