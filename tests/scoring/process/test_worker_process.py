"""Worker processes start wherever the caller runs, and end with it."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import RewardError
from support.scoring_work import SCRIPT, rows


def test_a_plain_script_needs_no_main_guard(tmp_path: Path) -> None:
    script = tmp_path / "plain.py"
    script.write_text(SCRIPT)
    for command in ([str(script)], ["-c", SCRIPT]):
        done = subprocess.run(
            [sys.executable, *command], capture_output=True, text=True, timeout=60, cwd=tmp_path, check=True
        )
        assert done.stdout == "True\n", done.stderr


def test_a_closure_as_in_a_notebook_travels() -> None:
    table = {"a": 1.0, "b": 0.25}
    inner = guerdon.RewardFunction(lambda response: table["a"], name="inner")
    reward = 0.5 * inner + 0.5 * guerdon.RewardFunction(lambda response: table["b"], name="other")
    assert guerdon.score(reward, ["x", "y"], workers=1).scores == [0.625, 0.625]


def test_defaults_hold_wherever_the_reward_travels() -> None:
    def unit(response: str, answer: str = "none", *, unit: str = "words", **more: Any) -> float:
        return float((answer, unit, more.get("length", 7)) == ("none", "words", 7))

    inner = guerdon.RewardFunction(unit)
    for reward in (inner, 1.0 * inner):
        assert guerdon.score(reward, ["x"], workers=1).scores == [1.0]


IN_A_BARE_PROCESS = """
import os, sys
import guerdon

class Word(str):
    pass

rows = [{"id": Word(w), "messages": [{"role": "assistant", "content": w}], "x": Word(w)} for w in "abc"]
scores = guerdon.score(lambda response, x: response == x, rows)
with open(sys.argv[1], "w") as file:
    file.write(repr((scores.ids, scores.scores)))
"""


@pytest.mark.parametrize("lack", ["streams", "directory", "temporary"])
def test_it_works_in_a_process_without(lack: str, tmp_path: Path) -> None:
    """Standard streams, a working directory, a folder for temporary files; with classes of ``__main__``."""
    script, result, gone = tmp_path / "script.py", tmp_path / "result", tmp_path / "gone"
    script.write_text(IN_A_BARE_PROCESS)
    gone.mkdir()
    before = {"streams": "exec <&- >&- 2>&-", "directory": f"cd {gone} && rmdir {gone}", "temporary": ":"}[
        lack
    ]
    environment = {**os.environ, "TMPDIR": str(gone / "nowhere")} if lack == "temporary" else None
    command = f"{before}; exec {sys.executable} {script} {result}"
    subprocess.run(["sh", "-c", command], env=environment, check=True, timeout=60)
    assert result.read_text() == "(['a', 'b', 'c'], [1.0, 1.0, 1.0])"


def test_what_the_system_refuses_is_said_and_leaks_nothing() -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    guerdon.score(lambda response: 1.0, rows(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    # No number below the limit is free but the last two, whatever else this process has open.
    highest = max(map(int, os.listdir("/proc/self/fd")))
    held = [os.open(os.devnull, os.O_RDONLY)]
    while held[-1] <= highest:
        held.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 3, hard))
    try:
        with pytest.raises(RewardError, match="Too many open files"):
            guerdon.score(lambda response: 2.0, rows(1))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)
    assert descriptors() == before


def _descendants(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            if parent == pid:
                found.append(int(entry.name))
    return found


def _gone(pids: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


BUSY = """
import os, re, guerdon
def reward(response):
    os.write(1, b"running\\n")  # at once: print may write the line and its end one after the other
    re.match(r"(a+)+$", "a" * 60 + "b")
guerdon.score(reward, ["x"] * 4, workers=2, timeout=600)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_killing_the_caller_leaves_no_worker(tmp_path: Path) -> None:
    caller = subprocess.Popen([sys.executable, "-c", BUSY], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert caller.stderr is not None
    try:
        lines = [caller.stderr.readline() for _ in range(2)]
        workers = _descendants(caller.pid)
    finally:
        caller.kill()
        caller.wait()
        caller.stderr.close()
    assert lines == ["running\n"] * 2
    assert len(workers) == 2
    assert _gone(workers)


def test_a_forked_child_can_score_too() -> None:
    def reward(response: str) -> float:
        return 1.0

    guerdon.score(reward, rows(2), workers=1)

    def child(queue: Any) -> None:
        queue.put(guerdon.score(reward, rows(3), workers=1).scores)

    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get() == [1.0, 1.0, 1.0]
    process.join(20)
    assert process.exitcode == 0
