"""What lies between the source and the caller is bounded, in samples and in bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_long_reasons_behind_a_slow_sample_are_bounded_too(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LONG_REASONS)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == 1500
    assert megabytes < 450
