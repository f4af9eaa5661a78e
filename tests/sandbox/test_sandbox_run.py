"""One program in the sandbox: what it finds, what it may do, and what is said of how it ended."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from guerdon.errors import InputError
from guerdon.sandbox import AssertTest, CallTest, Limits, Sandbox, StdinTest, Test
from guerdon.sandbox.execution import NO_VERDICT, SandboxJob, Tier
from guerdon.sandbox.grading import judging
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.isolation import tiers


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1) as made:
        yield made


ORDINARY = {
    "input": ("print(sum(map(int, input().split())))", "1 2 3\n", "6\n"),
    "all of the input": ("import sys; print(len(sys.stdin.read()))", "a\n" * 1000, "2000\n"),
    "bytes": ("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])", "abc", "cba"),
    "its own main module": (
        "import __main__; print(__name__, vars(__main__) is globals())",
        "",
        "__main__ True\n",
    ),
    "no arguments": ("import sys; print(sys.argv)", "", "['main.py']\n"),
    "a fixed order of sets": ("print(hash('a'))", "", None),
    "text in any script": ("print(input()[::-1])", "äöü漢\n", "漢üöä\n"),
    "an empty folder": ("import os; print(os.listdir('.'), os.getcwd())", "", None),
    "files in it": ("open('a', 'w').write('x'); print(open('a').read())", "", "x\n"),
    "a place for temporary files": (
        "import tempfile, os\nwith tempfile.NamedTemporaryFile() as f: print(os.path.exists(f.name))",
        "",
        "True\n",
    ),
    "threads": (
        "import threading, time\nts = [threading.Thread(target=time.sleep, args=(.02,)) for _ in range(40)]\n"
        "[t.start() for t in ts]; [t.join() for t in ts]; print(len(ts))",
        "",
        "40\n",
    ),
    "threads that are waited for": (
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(.05), print('late'))).start()\n"
        "print('main')",
        "",
        "main\nlate\n",
    ),
    "threads that are not": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\nprint('main')",
        "",
        "main\n",
    ),
    "a large stack for a thread": (
        "import sys, threading\nsys.setrecursionlimit(10**6); threading.stack_size(2**27)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\n"
        "t = threading.Thread(target=lambda: print(f(50000))); t.start(); t.join()",
        "",
        "50000\n",
    ),
    "deep recursion": (
        "import sys, functools\nsys.setrecursionlimit(10**6)\n@functools.lru_cache(None)\n"
        "def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(20000))",
        "",
        "20000\n",
    ),
    "an event loop": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(.01)\n    print('x')\nasyncio.run(main())",
        "",
        "x\n",
    ),
    "exit functions": ("import atexit; atexit.register(print, 'bye')", "", "bye\n"),
    "exit by its other name": ("print(1); exit(); print(2)", "", "1\n"),
    "exit with nothing": ("import sys; print(1); sys.exit()", "", "1\n"),
    "modules with libraries beneath": (
        "import sqlite3, zlib, lzma, bz2, ctypes, decimal, ssl, hashlib\n"
        "print(sqlite3.connect(':memory:').execute('select 1').fetchall())",
        "",
        "[(1,)]\n",
    ),
    "time zones": ("import zoneinfo; print(zoneinfo.ZoneInfo('Europe/Berlin'))", "", "Europe/Berlin\n"),
    "dataclasses and pickles of its own": (
        "import dataclasses, pickle\n@dataclasses.dataclass\nclass P:\n    x: int\n"
        "print(pickle.loads(pickle.dumps(P(3))))",
        "",
        "P(x=3)\n",
    ),
    "400 MiB": ("print(len(bytearray(400 << 20)))", "", f"{400 << 20}\n"),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_what_ordinary_programs_find(sandbox: Sandbox, name: str) -> None:
    program, stdin, expected = ORDINARY[name]
    done = sandbox.run(program, stdin=stdin)
    assert (done.status, done.stderr, done.exit_code) == ("ok", "", 0)
    assert done.ok
    if expected is not None:
        assert done.stdout == expected


ENDS = {
    "an exception": ("def f():\n    return 1 / 0\nf()", "error", 1, "ZeroDivisionError: division by zero"),
    "a syntax error": ("def f(:\n    pass", "error", 1, "SyntaxError: invalid syntax"),
    "an exit code": ("raise SystemExit(3)", "error", 3, "exit status 3"),
    "an exit message": ("import sys; sys.exit('no luck')", "error", 1, "no luck"),
    "an exit without ado": ("import os; os._exit(7)", "error", 7, "exit status 7"),
    "a null byte in the source": ("x = 1\0", "error", 1, None),
    "no input left": ("input()", "error", 1, "EOFError: EOF when reading a line"),
    "its output closed": ("import os; os.close(1); print('x')", "error", 120, "exit status 120"),
    "what cannot be encoded": ("print('\\ud800')", "error", 1, None),
    "a crash": ("import os; os.kill(os.getpid(), 11)", "killed", None, "ended by SIGSEGV"),
    "an abort": ("import os; os.abort()", "killed", None, "ended by SIGABRT"),
    "a killed self": ("import os; os.kill(os.getpid(), 9)", "killed", None, "ended by SIGKILL"),
    "memory": ("bytearray(600 << 20)", "memory_limit", 1, "it outgrew its memory limit"),
    "memory bit by bit": ("x = []\nwhile True: x.append(bytearray(1 << 20))", "memory_limit", 1, None),
    "output": ("while True: print('x' * 1000)", "output_limit", None, "more than 1024 KiB of output"),
    "error output": (
        "import sys\nwhile True: sys.stderr.write('x' * 1000)", "output_limit", None, "more than 1024 KiB of output",
    ),
    "a file that is too large": ("open('f', 'wb').write(bytes(17 << 20))", "error", 1, None),
    "all of the disk": (
        "for i in range(99): open(str(i), 'wb').write(bytes(1 << 20))", "error", 1, None,
    ),
    "another program": ("import subprocess; subprocess.run(['/bin/true'])", "error", 1, None),
    "a fork": ("import os; os.fork()", "error", 1, "PermissionError: [Errno 1] Operation not permitted"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_how_programs_end(sandbox: Sandbox, name: str) -> None:
    program, status, exit_code, detail = ENDS[name]
    done = sandbox.run(program)
    assert done.status == status, done
    assert not done.ok
    if exit_code is not None:
        assert done.exit_code == exit_code
    if detail is not None:
        assert done.detail == detail
    assert sandbox.run("print('the next one is not touched')").ok


ENDLESS = {
    "busy": "while True: pass",
    "busy in C": "sum(range(10**12))",
    "busy in threads": "import threading\n"
    "[threading.Thread(target=lambda: sum(range(10**12))).start() for _ in range(3)]",
    "ignores signals": "import signal\nfor n in (2, 15, 24, 14): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
    "in its exit function": "import atexit\n@atexit.register\ndef f():\n    while True: pass",
    "in a finalizer": "class A:\n    def __del__(self):\n        while True: pass\nA()",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_processor_time_is_what_ends_a_slow_program(sandbox: Sandbox, name: str) -> None:
    done = sandbox.run(ENDLESS[name], limits=Limits(cpu_s=0.2, wall_s=20))
    assert done.status == "timeout"
    assert 0.2 <= done.cpu_s < 2
    assert done.detail == "it overran its time limit"


def test_a_program_that_waits_is_ended_by_the_clock(sandbox: Sandbox) -> None:
    done = sandbox.run("import time; time.sleep(60)", limits=Limits(wall_s=0.2))
    assert done.status == "timeout"
    assert 0.2 <= done.wall_s < 5
    assert done.cpu_s < 0.2


def test_what_was_printed_before_the_end_is_there(sandbox: Sandbox) -> None:
    done = sandbox.run("print('first', flush=True)\nwhile True: pass", limits=Limits(cpu_s=0.2))
    assert (done.status, done.stdout) == ("timeout", "first\n")
    assert len(sandbox.run("while True: print('x' * 99)").stdout) == 1024 * 1024


def test_a_traceback_shows_the_programs_lines_and_none_of_ours(sandbox: Sandbox) -> None:
    done = sandbox.run("def f():\n    return 1 / 0\nf()")
    assert done.stderr.splitlines()[:2] == [
        "Traceback (most recent call last):",
        '  File "main.py", line 3, in <module>',
    ]
    assert "    return 1 / 0" in done.stderr
    assert "inside" not in done.stderr


def test_processes_where_they_are_allowed(sandbox: Sandbox) -> None:
    program = "import os\npid = os.fork()\nif pid == 0: os._exit(5)\nprint(os.waitpid(pid, 0)[1] >> 8)"
    assert sandbox.run(program, limits=Limits(processes=4)).stdout == "5\n"


def test_files_are_laid_out_and_gone_for_the_next(sandbox: Sandbox) -> None:
    program = "import helper, os; print(helper.N, open('data/in.bin', 'rb').read(), sorted(os.listdir('.')))"
    done = sandbox.run(program, files={"helper.py": "N = 7", "data/in.bin": b"\xff"})
    assert done.stdout == "7 b'\\xff' ['data', 'helper.py']\n"
    assert sandbox.run("import os; print(os.listdir('.'))").stdout == "[]\n"


@pytest.mark.parametrize("name", ["", "/etc/x", "../x", "a/../x", "a//b", "./a", "a\0b", "a/"])
def test_a_path_that_leads_out_is_refused(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(InputError, match="path within the working directory"):
        sandbox.run("", files={name: "x"})


LEFT_BEHIND = {
    "many files": "for i in range(1000): open(f'f{i}', 'w')",
    "a deep folder": "import os\nfor _ in range(1500):\n    os.mkdir('d'); os.chdir('d')",
    "folders nobody may enter": "import os\nos.mkdir('a', 0o0); os.mkdir('b'); os.mkdir('b/c', 0o0)",
    "links out": "import os\nos.symlink('/', 'root'); os.symlink('..', 'up'); os.symlink('loop', 'loop')",
    "names": "import os\nfor n in (b'\\xff', b'-rf', b' ', b'a\\nb', b'x' * 255): os.close(os.open(n, os.O_CREAT))",
    "a pipe and hard links": "import os\nos.mkfifo('p'); open('f', 'w'); os.link('f', 'g')",
    "our own names": "import os\nos.makedirs('.up-0-1/.up-0-2/x'); os.makedirs('d/.up-0-1')",
}


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_what_a_program_leaves_is_gone_for_the_next(sandbox: Sandbox, name: str) -> None:
    sandbox.run(LEFT_BEHIND[name])
    assert sandbox.run("import os; print(os.listdir('.'))").stdout == "[]\n"


def test_a_program_changes_nothing_for_the_next(sandbox: Sandbox) -> None:
    sandbox.run(
        "import json, builtins, sys, os\njson.loads = builtins.len = None\nos.environ['A'] = 'b'\nsys.path.clear()"
    )
    done = sandbox.run("import json, os; print(json.loads('[1]'), len('ab'), os.environ.get('A'))")
    assert done.stdout == "[1] 2 None\n"


def test_arguments(sandbox: Sandbox) -> None:
    assert sandbox.run("import sys; print(sys.argv[1:])", arguments=("a b", "ü")).stdout == "['a b', 'ü']\n"


def test_modules_that_are_there_before_the_program() -> None:
    with Sandbox(workers=1, preload=("yaml",)) as made:
        assert made.run("import sys; print('yaml' in sys.modules)").stdout == "True\n"
        assert made.run("import yaml; print(yaml.safe_load('a: 1'))").stdout == "{'a': 1}\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"isolation": "jail"}, "isolation must be one of auto, native, bubblewrap, landlock, none"),
        ({"workers": 0}, "workers must be a whole number of 1 or more"),
        ({"preload": ("no_such_module",)}, "there is no module 'no_such_module' here"),
        ({"preload": "no_such.module"}, "no_such.module cannot be imported"),
    ],
)
def test_options_that_cannot_be(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Sandbox(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "limit", [{"cpu_s": 0}, {"wall_s": float("inf")}, {"memory_mb": 1.5}, {"processes": True}]
)
def test_limits_that_cannot_be(limit: dict[str, object]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(limit))} must be"):
        Limits(**limit)  # type: ignore[arg-type]


def test_many_in_order_and_no_further_ahead_than_needed() -> None:
    asked = 0

    def programs() -> Iterator[str]:
        nonlocal asked
        for number in itertools.count():
            asked = number
            yield f"import time; time.sleep({(number % 3) / 100}); print({number})"

    with Sandbox(workers=2) as made:
        found = list(itertools.islice((done.stdout for done in made.map(programs())), 20))
    assert found == [f"{number}\n" for number in range(20)]
    assert asked < 30


def test_many_with_arguments_of_their_own() -> None:
    with Sandbox(workers=2) as made:
        done = list(made.map([{"program": "print(input())", "stdin": "a"}, "print(input())"], stdin="b"))
    assert [one.stdout for one in done] == ["a\n", "b\n"]


SLOW = "import time\ndef f(x): time.sleep(0.3); return x\n"
FORGES = """
import gc, io, os, time
def f(x):
    while True:
        for number in range(3, 64):
            try: os.write(number, b'\\n[0, 0, "x"]\\n')
            except OSError: pass
        time.sleep(0.02)
"""
PATIENCE: dict[str, tuple[str, list[Test], dict[str, object]]] = {
    "printed": (
        "import time; time.sleep(0.3); print(input())",
        [StdinTest(f"{n}", f"{n}") for n in range(9)],
        {},
    ),
    "another language": (
        "sleep 0.3; cat",
        [StdinTest(f"{n}", f"{n}") for n in range(9)],
        {"language": "bash"},
    ),
    "calls in one process": (SLOW, [CallTest("f", [n], expected=n) for n in range(9)], {}),
    "calls of a test's own code": (SLOW, [AssertTest("for n in range(9):\n    assert f(n) == n")] * 3, {}),
    "one that waits": ("import time; time.sleep(9)", [StdinTest("", "")] * 3, {}),
    "one that winds the clocks up": (FORGES, [CallTest("f", [n], expected=n) for n in range(9)], {}),
}


@pytest.mark.sample(2, seconds=1)
@pytest.mark.parametrize("name", PATIENCE)
def test_all_tests_together_may_take_so_long(sandbox: Sandbox, name: str) -> None:
    program, tests, options = PATIENCE[name]
    sandbox.run("pass")
    started = time.monotonic()
    results = sandbox.run_tests(program, tests, total_wall_s=0.8, **options)  # type: ignore[arg-type]
    assert time.monotonic() - started < 4
    assert len(results) == len(tests)
    assert (results[-1].passed, results[-1].status, results[-1].tier) == (False, "timeout", sandbox.tier)
    assert sandbox.run("print(input())", stdin="next").stdout == "next\n"


def test_patience_that_ends_before_the_program_has_begun(sandbox: Sandbox) -> None:
    started = time.monotonic()
    (result,) = sandbox.run_tests("import time; time.sleep(8)", [StdinTest("", "")], total_wall_s=1e-6)
    assert (result.status, time.monotonic() - started < 4) == ("timeout", True)


def test_who_waits_too_long_for_a_worker_gets_no_verdict() -> None:
    with Sandbox(workers=1) as sandbox, ThreadPoolExecutor(1) as pool:
        sandbox.run("pass")
        busy = pool.submit(sandbox.run, "import time; time.sleep(2)")
        while not sandbox._pool._permits:
            time.sleep(0.01)
        report = sandbox.execute(SandboxJob(kind="program", program=b"pass", queue_s=0.2))
        assert (report.status, "were busy for 0.2 s" in report.detail) == ("unavailable", True)
        assert busy.result().status == "ok"


def test_checkers_have_an_end_together(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "BESIDE_S", 1.0)
    checker = Comparison.by("import time; time.sleep(0.7)", limits=Limits(wall_s=5))
    tests = [StdinTest("", "")] * 4
    results = sandbox.run_tests("pass", tests, compare=checker, total_wall_s=5)
    assert results[0].passed
    assert results[-1].status in NO_VERDICT


def test_what_is_patience() -> None:
    with (
        Sandbox() as sandbox,
        pytest.raises(InputError, match="total_wall_s must be a number above 0, not 0"),
    ):
        sandbox.run_tests("pass", [StdinTest("", "")], total_wall_s=0)


def test_from_many_threads(sandbox: Sandbox) -> None:
    found: dict[int, str] = {}

    def ask(number: int) -> None:
        found[number] = sandbox.run(f"print({number})").stdout

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"{number}\n" for number in range(20)}


def test_with_asyncio() -> None:
    async def main() -> tuple[list[str], list[str]]:
        async with Sandbox(workers=2) as made:
            together = await asyncio.gather(*(made.arun(f"print({number})") for number in range(5)))
            return [one.stdout for one in together], [
                one.stdout async for one in made.amap(["print(1)", "print(2)"])
            ]

    assert asyncio.run(main()) == ([f"{number}\n" for number in range(5)], ["1\n", "2\n"])


def test_a_closed_sandbox_says_so() -> None:
    made = Sandbox(workers=1)
    assert made.run("print(1)").ok
    made.close()
    made.close()
    done = made.run("print(1)")
    assert (done.status, done.detail) == ("unavailable", "the sandbox is closed")


def test_writing_what_is_no_answer_winds_up_no_clock_for_ever(sandbox: Sandbox) -> None:
    program = """
import os, time
def f():
    while True:
        time.sleep(0.1)
        for number in range(3, 64):
            try: os.write(number, b" ")
            except OSError: pass
"""
    (result,) = sandbox.run_tests(program, [CallTest("f", [], expected=1)], limits=Limits(wall_s=0.5))
    assert (result.status, result.passed) == ("timeout", False)
    # Beyond the step's own limit by no more than the time between two looks, and what a loaded machine adds.
    assert result.wall_s < 0.95


PLACEHOLDERS = """
import os, time
def line(number, value):
    return b'[%d,0,null,"value",%d]\\n' % (number, value)
def answers():
    return next(n for n in range(63, 2, -1) if opened(n))
def opened(number):
    try: return bool(os.fstat(number))
    except OSError: return False
def f(n):
    at = os.lseek(answers(), 0, os.SEEK_CUR)
    for number in range(6):
        time.sleep(0.3)
        MAKES
    THEN
    return n
"""


@pytest.mark.parametrize(
    ("makes", "then"),
    [
        ("os.write(answers(), b'\\n')", "pass"),
        ("os.write(answers(), b' ')", "pass"),
        ("os.write(answers(), b'[%d,junk\\n' % number)", "pass"),
        ("os.write(answers(), b'[1,0,null]\\n')", "pass"),
        (
            "os.write(answers(), line(number, 0))",
            "[os.pwrite(answers(), line(k, k), at + k * len(line(k, k))) for k in range(6)]",
        ),
        (
            "os.write(answers(), line(number, 0))",
            "os.ftruncate(answers(), at); os.lseek(answers(), at, 0)",
        ),
    ],
    ids=["lines", "bytes", "unreadable", "unfinished", "overwritten", "cut off"],
)
def test_a_call_has_its_own_limit_whatever_it_writes(sandbox: Sandbox, makes: str, then: str) -> None:
    program = PLACEHOLDERS.replace("MAKES", makes).replace("THEN", then)
    tests = [CallTest("f", [number], expected=number) for number in range(6)]
    results = sandbox.run_tests(program, tests, limits=Limits(wall_s=0.5))
    assert not any(result.passed for result in results), results


REMOVED = """
import mmap, os, time
def removed(size):
    file = open("file", "w+b")
    os.unlink("file")
    file.write(bytes(size)); file.flush()
    return file
kept = USE
time.sleep(0.2)
print("unseen")
"""


@pytest.mark.parametrize(
    ("use", "status"),
    [
        ("removed(1 << 20)", "ok"),
        ("[removed(1 << 20).close() for _ in range(9)]", "ok"),
        ("[removed(1 << 20) for _ in range(40)]", "killed"),
        ("(lambda file: mmap.mmap(file.fileno(), 0))(removed(1 << 20))", "ok"),
    ],
)
@pytest.mark.parametrize("tier", tiers.TIERS)
def test_files_that_were_removed_count_while_they_are_open(tier: Tier, use: str, status: str) -> None:
    if not (report := tiers.examine(tier)).available:
        pytest.skip(f"no {tier} tier on this machine: {report.reason}")
    with Sandbox(tier, workers=1) as sandbox:
        done = sandbox.run(REMOVED.replace("USE", use), limits=Limits(scratch_mb=4, wall_s=20))
    # Where the file system bounds them, writing fails.
    assert done.status == status or (
        tier != "landlock" and done.status == "error" and "No space" in done.stderr
    )


def test_what_the_landlock_tier_shows_of_a_file_is_what_the_page_says(tmp_path: Path) -> None:
    if not (report := tiers.examine("landlock")).available:
        pytest.skip(f"no landlock tier on this machine: {report.reason}")
    for folder in (*tmp_path.parents, tmp_path):
        if folder.stat().st_uid == os.getuid() and folder.name.startswith(("pytest-", "popen-", "test_")):
            folder.chmod(0o755)
    (tmp_path / "file").write_text("secret", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    program = f"""
import os
os.chdir({str(tmp_path)!r})
about = os.stat("file")
print(about.st_size, about.st_uid, about.st_mtime_ns, oct(about.st_mode), os.readlink("link"))
changes = (lambda: os.utime("file"), lambda: os.chmod("file", 0o777))
for attempt in (lambda: open("file"), lambda: os.listdir("."), *changes):
    try: print("done", attempt())
    except PermissionError: print("refused")
"""
    with Sandbox("landlock", workers=1) as sandbox:
        done = sandbox.run(program)
    about = (tmp_path / "file").stat()
    seen = f"6 {about.st_uid} {about.st_mtime_ns} {oct(about.st_mode)} file\n"
    assert done.stdout == seen + "refused\n" * 4
