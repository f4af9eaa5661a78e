"""What lies between the source and the caller is bounded, in samples and in bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.scoring.engine.base import PendingSample
from guerdon.scoring.engine.source import PackedUnit
from guerdon.scoring.engine.window import SampleWindow
from guerdon.scoring.outcome import Outcome, failure


def unit(*positions: int, size: int = 10) -> PackedUnit:
    return [(PendingSample(position, {}, f"id {position}"), b"x" * size) for position in positions]


def taken(window: SampleWindow) -> list[str | int]:
    return [sample.id for sample in window.take_ready()]


def test_samples_leave_in_the_order_in_which_they_came() -> None:
    window = SampleWindow(batch_size=1, in_order=True)
    assert window.admit(unit(5, 6)) == [(5, b"x" * 10), (6, b"x" * 10)]
    unreadable = PendingSample(7, {}, "id 7")
    assert window.admit([(unreadable, failure("input", "no row"))]) == []
    window.finish(6, Outcome(1.0), 0.1)
    assert taken(window) == []
    window.finish(5, Outcome(0.0), 0.1)
    assert taken(window) == ["id 5", "id 6", "id 7"]


def test_without_order_samples_leave_as_they_are_scored() -> None:
    window = SampleWindow(batch_size=1, in_order=False)
    window.admit(unit(0, 1, 2))
    window.finish(2, Outcome(1.0), 0.1)
    window.finish(0, Outcome(1.0), 0.1)
    assert taken(window) == ["id 2", "id 0"]
    assert taken(window) == []


def test_the_window_closes_at_its_bytes_and_opens_again() -> None:
    window = SampleWindow(batch_size=1, in_order=True)
    window.admit(unit(0, size=60_000_000))
    assert window.is_open()
    window.admit(unit(1, size=10_000_000))
    assert not window.is_open()
    window.finish(0, Outcome(1.0, "short"), 0.1)
    assert window.is_open()
    window.finish(1, Outcome(1.0, "x" * 70_000_000), 0.1)
    assert not window.is_open()
    assert taken(window) == ["id 0", "id 1"]
    assert window.is_open()


def test_the_window_holds_at_least_two_batches() -> None:
    window = SampleWindow(batch_size=10_000, in_order=True)
    window.admit(unit(*range(19_999)))
    assert window.is_open()
    window.admit(unit(19_999))
    assert not window.is_open()


LONG_REASONS = """
import resource, time
import guerdon

def reward(response):
    if response == "0":
        time.sleep(1.5)
    return {"score": 1.0, "reason": "x" * 500_000}

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = sum(1 for result in guerdon.stream(reward, map(str, range(1500)), workers=2))
print(count, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow(seconds=10)
def test_long_reasons_behind_a_slow_sample_are_bounded_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LONG_REASONS)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == 1500
    assert megabytes < 450
