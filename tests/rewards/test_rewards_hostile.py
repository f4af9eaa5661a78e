"""Every entry of the catalogue on hostile responses: the work grows about as fast as the text."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards.math.reward import math
from support.catalogue import setting_of
from support.hostile_text import LONGEST_S, TEXTS, excesses

CASES = Path(__file__).parent / "cases"
NAMES = sorted(
    path.stem for path in CASES.glob("*.jsonl") if path.stem not in ("code", "judge", "reward_model", "sql")
)
"""Those that read a response here; what ``code`` and ``sql`` do with one has tests of its own."""


def row_of(name: str) -> Mapping[str, Any]:
    rows = [json.loads(line) for line in (CASES / f"{name}.jsonl").read_text("utf-8").split("\n") if line]
    return next(row for row in rows if isinstance(row["expected"], int | float) and "response" in row)


QUADRATIC = {
    "math": ["'\\n' in '\\\\boxed{{1}}{}x\\\\boxed{{2}}'", "'~~~\\n' in 'The answer is {}'"],
    "number_list": ["'1,000,' in '{}'", "' ' in 'The answer is {}'"],
    "short_answer": ["'.' in '\\\\boxed{{{}}}'", "' ' in 'The answer is {}'"],
    "language": ["'é' in '${}$'"],
}
"""What took quadratic time or more, once."""


def test_there_are_many_texts() -> None:
    assert len(TEXTS) >= 40


@pytest.mark.parametrize("name", QUADRATIC)
def test_some_texts(name: str) -> None:
    assert excesses(name, row_of(name), [*QUADRATIC[name], *list(TEXTS)[:60:12]], {}) == []


def test_a_row_of_signs_between_two_answers_is_read_once() -> None:
    """Six parts of a quantity could each be any part of it."""
    for text in ("\\boxed{1} x" + "^" * 90 + "! \\boxed{2}", "x" + "^" * 90 + "! \\boxed{42}"):
        started = time.process_time()
        assert math(text, ground_truth="42").error is None
        assert time.process_time() - started < LONGEST_S


@pytest.mark.slow(seconds=80)
@pytest.mark.parametrize("name", NAMES)
def test_all_texts(name: str, tmp_path: Path) -> None:
    with setting_of(name, tmp_path) as setting:
        order = json.dumps([name, row_of(name), list(TEXTS), dict(setting.parameters)])
        done = subprocess.run(
            [sys.executable, "-m", "support.hostile_text"],
            input=order,
            capture_output=True,
            text=True,
            cwd=Path(__file__).parent.parent,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == []
