from __future__ import annotations

import threading

import pytest

from guerdon.sandbox.execution import Report
from guerdon.sandbox.languages.build_cache import BuildArtifact, BuildCache, key_of


def made(size: int, *, lasting: bool = True) -> BuildArtifact:
    return BuildArtifact(Report(status="ok", collected={"main": bytes(size)}), lasting)


def test_the_one_unused_for_longest_goes_first() -> None:
    kept = BuildCache(max_bytes=3 * 11_000)
    for key in "abc":
        kept.get(key, lambda: made(9_000))
    kept.get("a", lambda: pytest.fail("it is kept"))
    kept.get("d", lambda: made(9_000))
    kept.get("a", lambda: pytest.fail("it was used last"))
    again: list[str] = []
    kept.get("b", lambda: again.append("b") or made(10))  # type: ignore[func-returns-value]
    assert again == ["b"]


def test_what_is_too_large_or_not_lasting_is_not_kept() -> None:
    kept = BuildCache(max_bytes=10_000)
    assert kept.get("large", lambda: made(20_000)).size > 20_000
    kept.get("passing", lambda: made(1, lasting=False))
    assert len(kept) == 0


def test_who_waits_for_a_failure_is_told() -> None:
    kept = BuildCache()
    begun, go_on = threading.Event(), threading.Event()

    def fail() -> BuildArtifact:
        begun.set()
        go_on.wait(10)
        raise OSError("no disk")

    errors: list[str] = []

    def ask(make: object) -> None:
        try:
            kept.get("key", fail)
        except OSError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=ask, args=(fail,)) for _ in range(2)]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join()
    assert errors == ["no disk", "no disk"]
    assert kept.get("key", lambda: made(1)).report.status == "ok"


def test_a_key_tells_parts_apart() -> None:
    parts = [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], [b"abc", b"\0"]]
    assert len({key_of(one) for one in parts}) == len(parts)
    assert key_of(["a"]) == key_of([b"a"])
