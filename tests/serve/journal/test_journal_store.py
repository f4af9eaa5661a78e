"""The journal on disk: its contents, its size, its permissions, other processes that read it."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.serve.journal.reader import JournalRecord, read_journal
from guerdon.serve.journal.store import LEAST_BYTES, Journal
from support.journal_work import BODY, entry, ids, write
from support.serve_work import call, in_background, row, turns


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


def test_what_is_recorded_is_read_back(path: Path) -> None:
    headers = [(b"content-type", b"application/json"), (b"host", b"10.1.1.1:80")]
    scores = [0.5, None, "timeout", -1e300]
    write(path, entry(headers=headers, scores=scores, failures={"timeout": 1}, status=200, ms=12.25))
    (row,) = read_journal(path, bodies=True)
    assert row == JournalRecord(
        id=1,
        request_id="r-1",
        time=1001.0,
        reward="brevity",
        version="1a2b",
        format="adaptive",
        op="score",
        method="POST",
        path="/score",
        headers={"content-type": "application/json", "host": "10.1.1.1:80"},
        status=200,
        ms=12.25,
        scores=scores,
        failed=1,
        failures={"timeout": 1},
        request=BODY,
        response=b'{"reward":0.5,"metadata":{},"id":null}',
    )
    (small,) = read_journal(path)
    assert small.request is small.response is None


@pytest.mark.parametrize("body", [b"", b"\xff\x00\xfe", b"a\0b", "naïve ☃".encode(), b"[" * 5000])
def test_any_body_is_read_back(path: Path, body: bytes) -> None:
    write(path, entry(request=body))
    (row,) = read_journal(path, bodies=True)
    assert row.request == body


def test_no_secret_is_on_the_disk(path: Path) -> None:
    secret = "s3cret-0123456789"
    body = json.dumps({"turns": [], "metadata": {"api_key": secret, "deep": [{"Password": secret}]}}).encode()
    names = (b"authorization", b"x-api-key", b"cookie", b"proxy-authorization", b"x-forwarded-access-token")
    with Journal(path) as journal:
        journal.record(
            entry(
                headers=[(name, f"Bearer {secret}".encode()) for name in names],
                path=f"/score?api_key={secret}&token={secret}",
                request=body,
                response=b'{"detail":[{"input":' + body + b"}]}",
            )
        )
        assert journal.flush()
        on_disk = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert secret.encode() not in on_disk
    assert secret.encode() not in path.read_bytes()
    assert b"[redacted]" in on_disk


def test_only_the_owner_may_read_it(path: Path) -> None:
    path.touch(0o644)
    with Journal(path) as journal:
        journal.record(entry())
        assert journal.flush()
        files = list(path.parent.iterdir())
        assert len(files) > 1
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


def test_it_goes_on_where_it_ended(path: Path) -> None:
    write(path, entry(1))
    write(path, entry(2))
    assert ids(path) == ["r-1", "r-2"]


def on_disk(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*") if file.suffix != ".db-shm")


def test_its_size_is_bounded_and_the_oldest_go_first(path: Path) -> None:
    largest = 0
    with Journal(path, max_bytes=LEAST_BYTES) as journal:
        for i in range(1, 25):
            for j in range(50):
                journal.record(entry(50 * i + j, request=os.urandom(1500).hex().encode()))
            assert journal.flush()
            largest = max(largest, on_disk(path))
        assert journal.dropped == 0
        found = ids(path)
        assert found == [f"r-{i}" for i in range(1250 - len(found), 1250)]
        assert 100 < len(found) < 400
    assert LEAST_BYTES / 2 < largest <= LEAST_BYTES + 32_768  # the shared memory of the log is 32 KiB
    assert on_disk(path) <= LEAST_BYTES


def test_it_shrinks_to_a_lower_bound(path: Path) -> None:
    with Journal(path, max_bytes=4 * LEAST_BYTES) as journal:
        for i in range(800):
            journal.record(entry(i, request=os.urandom(1500).hex().encode()))
    before = path.stat().st_size
    with Journal(path, max_bytes=LEAST_BYTES) as journal:
        journal.record(entry(801))
    assert before > 2 * LEAST_BYTES
    assert path.stat().st_size <= LEAST_BYTES
    assert ids(path)[-1] == "r-801"


def test_a_body_that_would_fill_it_is_left_out(path: Path) -> None:
    with Journal(path, max_bytes=LEAST_BYTES) as journal:
        journal.record(entry(1, request=b"x" * 200_000))
    (row,) = read_journal(path, bodies=True)
    assert row.request is None
    assert row.response is not None


def test_a_reader_that_holds_on_costs_entries_not_space(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Journal(path, max_bytes=LEAST_BYTES) as journal:
        journal.record(entry(0))
        assert journal.flush()
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM requests").fetchall()
        for i in range(1, 1501):
            journal.record(entry(i, request=os.urandom(1000).hex().encode()))
            if i % 100 == 0:
                assert journal.flush(60)
        assert journal.dropped > 0
        assert on_disk(path) <= 1.1 * LEAST_BYTES
        assert [r.levelno for r in caplog.records if r.name == "guerdon.serve.journal.store"] == [
            logging.ERROR
        ]
        reader.close()
        before = journal.dropped
        journal.record(entry(9999))
        assert journal.flush()
        assert journal.dropped == before
    assert ids(path)[-1] == "r-9999"


def test_overload_is_dropped_and_counted_and_nobody_waits(path: Path) -> None:
    with Journal(path) as journal:
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        for i in range(200):
            journal.record(entry(i, request=b"x" * 1_000_000))
        assert time.monotonic() - started < 1.0
        assert 100 < journal.dropped < 200
        blocker.execute("ROLLBACK")
        blocker.close()
        kept = 200 - journal.dropped
        assert journal.flush(30)
    assert len(ids(path)) == kept


def test_what_comes_after_the_end_is_dropped(path: Path) -> None:
    with Journal(path) as journal:
        journal.record(entry(1))
    journal.record(entry(2))
    assert journal.dropped == 1
    assert ids(path) == ["r-1"]


def test_one_odd_entry_is_dropped_and_the_next_is_written(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Journal(path) as journal:
        journal.record(entry(1, scores=[float("nan")]))
        assert journal.flush()
        journal.record(entry(2))
    assert journal.dropped == 1
    assert ids(path) == ["r-2"]
    assert "not JSON compliant" in caplog.text


WRITER = """
import sys, time
from guerdon.serve.journal.store import JournalEntry, Journal
journal = Journal(sys.argv[1])
for number in range(10**9):
    journal.record(JournalEntry(request_id=f"r-{number}", time=0.0, method="POST", path="/", status=200, ms=1.0))
    time.sleep(0.0005)
"""


def test_other_processes_read_it_and_a_killed_writer_leaves_it_whole(path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as writer:
        try:
            deadline = time.monotonic() + 30
            counts = [0]
            while len(set(counts)) < 4:
                assert time.monotonic() < deadline
                assert writer.poll() is None
                if path.exists() and path.stat().st_size:
                    counts.append(sum(1 for _ in read_journal(path)))
                time.sleep(0.05)
            assert counts == sorted(counts)
        finally:
            writer.send_signal(signal.SIGKILL)
    found = ids(path)
    assert found == [f"r-{i}" for i in range(len(found))]
    assert len(found) >= counts[-1]
    write(path, entry(0, request_id="after"))
    assert ids(path) == [*found, "after"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: Journal(folder / "missing" / "journal.db"), "No such file"),
        (lambda folder: Journal(folder), "Is a directory"),
        (lambda folder: Journal(folder / "journal.db", max_bytes=1000), "needs 1 MiB at least"),
    ],
)
def test_where_it_cannot_be_written(tmp_path: Path, make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make(tmp_path)


def careless(response: str) -> float:
    """Says its key in what it raises, as a client of another service may."""
    raise PermissionError(
        f"401 for https://me:hunter22@judge.example with sk-proj-abc123def456ghi789, key {response}"
    )


def test_what_a_reward_raises_keeps_its_secrets(tmp_path: Path) -> None:
    """In the reply, in the journal and in its file's permissions; also the server's own key, which a caller sent."""
    path = tmp_path / "j.db"
    with in_background(careless, workers=1, journal=str(path), api_key="opensesame22") as running:
        headers = {"x-api-key": "opensesame22"}
        for route, body in (("/v1/score", row("opensesame22")), ("/score", turns("opensesame22"))):
            reply = call(running.url, route, body, headers=headers)
            assert b"401 for https://me:[redacted]@judge.example with [redacted], key " in reply.body
        listed = call(running.url, "/requests", headers=headers)
        assert b"opensesame22" not in listed.body
    assert path.stat().st_mode & 0o777 == 0o600
    found = list(read_journal(path, bodies=True))
    assert len(found) == 2
    for one in found:
        assert b"PermissionError" in (one.response or b"")
        for secret in (b"hunter22", b"sk-proj", b"opensesame22"):
            assert secret not in (one.request or b"") + (one.response or b"")
