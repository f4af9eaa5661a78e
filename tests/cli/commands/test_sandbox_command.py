"""``guerdon sandbox``: what the doctor prints, and a program that is run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.sandbox.isolation import tiers
from support.cli_work import Run
from support.terminal import on_a_terminal


def test_the_doctor_says_which_tier_is_used(guerdon: Run) -> None:
    used = next(tier for tier in tiers.TIERS if tiers.examine(tier).sound)
    done = guerdon("sandbox", "doctor", "--isolation", used, COLUMNS="80")
    lines = done.stdout.splitlines()
    assert done.exit_code == 0, done.stderr
    assert lines[0] == f"Programs run in the tier {used}."
    assert "reading host files" in done.stdout
    assert "using more memory" in done.stdout
    assert max(map(len, (line.rstrip() for line in lines))) <= 80
    assert "\x1b" not in done.stdout


def test_the_doctor_prints_json(guerdon: Run) -> None:
    done = guerdon("sandbox", "doctor", "--json", "--isolation", "landlock")
    told = json.loads(done.stdout)
    assert told["tier"] == "landlock"
    assert [report["tier"] for report in told["tiers"]] == ["landlock"]
    assert told["tiers"][0]["sound"] is True
    assert told["machine"]["architecture"] == os.uname().machine
    assert {"advice", "languages", "modules", "providers", "why"} <= set(told)


def test_no_tier_is_exit_status_1() -> None:
    # The kernel is asked to say that the processor is another one, on which nothing is known of its calls.
    code = (
        "import ctypes, runpy, sys; ctypes.CDLL(None).personality(8); sys.argv = ['guerdon', 'sandbox', 'doctor']; "
        "runpy.run_module('guerdon', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}
    )
    assert done.returncode == 1
    assert done.stdout.startswith("No tier of the sandbox holds here.\n")
    assert "native      is not available: programs can be confined on x86_64 and aarch64" in done.stdout
    assert "advice      Programs are confined on x86_64 and aarch64 only." in done.stdout


@pytest.mark.parametrize(
    ("program", "options", "status", "stdout", "says"),
    [
        ("import sys; print(sys.argv[1:], input())", ["--stdin", "in.txt"], 0, "['a', 'b'] 42\n", "[ok, exit code 0; "),
        ("raise SystemExit(3)", [], 3, "", "[error, exit code 3: exit status 3; "),
        ("1 / 0", [], 1, "", "ZeroDivisionError"),
        ("while True: pass", ["--cpu", "0.2"], 124, "", "[timeout: it overran its time limit; "),
        ("import time; time.sleep(9)", ["--wall", "0.2"], 124, "", "[timeout"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", [], 137, "", "[killed: ended by SIGKILL; "),
        ("x = bytearray(1 << 30)", ["--memory", "64"], 1, "", "[memory_limit, exit code 1: "),
        ("print('x' * 2000000)", [], 1, None, "[output_limit"),
        ("import numpy; print(numpy.arange(3).sum())", ["--preload", "numpy"], 0, "3\n", "[ok"),
        ("open('/etc/passwd')", ["--isolation", "landlock"], 1, "", "; landlock]"),
    ],
)  # fmt: skip
def test_a_program_is_run(
    guerdon: Run, program: str, options: list[str], status: int, stdout: str | None, says: str
) -> None:
    Path("program.py").write_text(program, encoding="utf-8")
    Path("in.txt").write_text("42\n", encoding="utf-8")
    done = guerdon("sandbox", "run", *options, "program.py", "a", "b")
    assert done.exit_code == status, done.stderr
    assert stdout is None or done.stdout == stdout
    assert says in done.stderr


def test_a_program_does_nothing_to_the_terminal(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys; sys.stderr.write('\\x1b]0;owned\\x07\\x9b2J\\u202e' + chr(13) + 'é')", "utf-8"
    )
    command = [sys.executable, "-m", "guerdon", "sandbox", "run", str(program)]
    shown = on_a_terminal(command, tmp_path)
    assert "\\x1b]0;owned\\x07\\x9b2J\\u202e\\x0dé" in shown
    assert "\x1b" not in shown
    piped = subprocess.run(command, capture_output=True, check=True)
    assert piped.stderr.startswith("\x1b]0;owned\x07\x9b2J\u202e\ré".encode())


def test_a_program_from_standard_input() -> None:
    line = [sys.executable, "-m", "guerdon", "sandbox", "run", "-"]
    done = subprocess.run(line, capture_output=True, text=True, input="print(6 * 7)")
    assert (done.returncode, done.stdout) == (0, "42\n")
    both = subprocess.run([*line, "--stdin", "-"], capture_output=True, text=True, input="print(6 * 7)")
    assert (both.returncode, both.stdout) == (2, "")
    assert "cannot both be standard input" in both.stderr


def test_what_cannot_be_run_is_told_without_measurements() -> None:
    # The kernel is asked to say that the processor is another one, on which nothing is known of its calls.
    code = (
        "import ctypes, runpy, sys; ctypes.CDLL(None).personality(8); "
        "sys.argv = ['guerdon', 'sandbox', 'run', '-', '--isolation', 'native']; "
        "runpy.run_module('guerdon', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="print(1)")
    assert (done.returncode, done.stdout) == (125, "")
    assert re.fullmatch(r"\[unavailable: native: .*`guerdon sandbox doctor`[^;]*\]\n", done.stderr)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["run", "missing.py"], "missing.py"),
        (["run", "program.py", "--cpu", "0"], "cpu_s must be a number above 0"),
        (["run", "program.py", "--language", "cobol"], "cobol"),
        (["run", "program.py", "--preload", "no_such_module"], "no_such_module"),
        (["run", "latin.py"], "latin.py cannot be read"),
        (["doctor", "--isolation", "chroot"], "chroot"),
    ],
)
def test_errors_of_the_user_are_one_line(guerdon: Run, args: list[str], says: str) -> None:
    Path("program.py").write_text("print(1)", encoding="utf-8")
    Path("latin.py").write_bytes(b"print('\xe9')")
    done = guerdon("sandbox", *args)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
