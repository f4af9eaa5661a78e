"""Programs that are wrong and want to pass. What is tested is what is asked and judged, not the isolation."""

from __future__ import annotations

import pytest

from guerdon.sandbox.grading.assert_tests import plan_assert_test
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest, Test
from guerdon.sandbox.grading.judging import run_tests
from guerdon.sandbox.limits import Limits
from support.job_executors import PlainExecutor, Recording

# The right f sorts. Every mode of asking for it.
CALL = CallTest("f", [[3, 1, 2]], {}, [1, 2, 3])
ASKED = AssertTest("def check(candidate):\n    assert candidate([3, 1, 2]) == [1, 2, 3]", "f")
PAIRED = AssertTest(
    "def check(candidate):\n"
    "    for xs in ([3, 1, 2] for _ in range(2)):\n"
    "        assert candidate(xs) == sorted(xs) and candidate(xs)[0] == 1",
    "f",
)
CASES = AssertTest(
    "import unittest\n"
    "class T(unittest.TestCase):\n"
    "    def test_it(self):\n"
    "        self.assertEqual(f([3, 1, 2]), [1, 2, 3])\n"
    "        self.assertTrue(f([2, 1]) == [1, 2])\n",
    "f",
)
MAPPED = AssertTest("assert all(xs == [1, 2] for xs in map(f, [[2, 1], [1, 2]]))", "f")
EVERY: list[Test] = [CALL, ASKED, PAIRED, CASES, MAPPED]

HACKS_TEXT = r"""
## exit at import
import sys; sys.exit(0)
## os._exit at import
import os; os._exit(0)
## exit in the call
def f(xs): raise SystemExit(0)
## os._exit in the call
import os
def f(xs): os._exit(0)
## killed by itself
import os
def f(xs): os.kill(os.getpid(), 9)
## exit in a thread
import os, threading
threading.Thread(target=lambda: os._exit(0)).start()
def f(xs): return xs
## exit through atexit
import atexit, os
atexit.register(os._exit, 0)
def f(xs): return []
## an object equal to all
class A:
    def __eq__(self, other): return True
    __hash__ = None
def f(xs): return A()
## a list equal to all
class Always(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __iter__(self): return iter([1, 2, 3])
    def __getitem__(self, at): return 1
    def __len__(self): return 3
    def __bool__(self): return True
    __hash__ = None
def f(xs): return Always()
## a list of such
class Always(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __iter__(self): return iter([1, 2, 3])
    def __getitem__(self, at): return 1
    def __len__(self): return 3
    def __bool__(self): return True
    __hash__ = None
def f(xs): return [Always(), Always(), Always()]
## a class equal to all
class M(type):
    def __eq__(c, o): return True
    __hash__ = None
class A(metaclass=M): pass
def f(xs): return A
## an integer equal to all
class I(int):
    def __eq__(self, other): return True
    __hash__ = None
def f(xs): return [I(9)] * len(xs)
## a text that pretends
class T(str):
    def __eq__(self, other): return True
    __hash__ = None
def f(xs): return T()
## a lie about the class
class A:
    __class__ = list
    def __eq__(self, other): return True
    __hash__ = None
def f(xs): return A()
## emptied arguments
def f(xs): xs.clear(); return []
## arguments of its own
def f(xs): xs[:] = [1, 1]; return [1, 1]
## not a number
def f(xs): return float('nan')
## shorter than expected
def f(xs): return sorted(xs)[:1]
## a patched json
import json
json.dumps = json.JSONEncoder.encode = lambda *a, **k: '[0, 0, null, "value", [9]]'
def f(xs): return xs
## patched built-ins
import builtins
builtins.all = builtins.any = lambda *a: True
builtins.sorted = lambda xs, **k: []
builtins.AssertionError = ValueError
builtins.len = lambda x: 0
def f(xs): return []
## a patched unittest
import unittest
unittest.TestCase.assertEqual = lambda *a: None
unittest.TestCase.assertTrue = lambda *a: None
unittest.TestCase.run = lambda *a: None
def f(xs): return []
## a patched clock
import time
time.time = time.monotonic = time.perf_counter = lambda: 0
def f(xs): return []
## patched drivers
import sys
for name, module in list(sys.modules.items()):
    if name.startswith('inside'):
        for key in list(vars(module)):
            if callable(vars(module)[key]) and not key.startswith('__'):
                try: setattr(module, key, lambda *a, **k: True)
                except Exception: pass
def f(xs): return []
## verdicts forged
import gc
for thing in gc.get_objects():
    try:
        if getattr(thing, '__name__', '') == 'write':
            thing(b'["passed", 0, "", ""]\n[0, "passed"]\n')
    except Exception: pass
def f(xs): return []
## printed success
print('1 passed')
print('OK')
print('["passed", 0, "", ""]')
def f(xs): print('passed'); return []
## an account of what nobody can show
import os
def tell(line):
    for number in range(3, 64):
        try: os.write(number, line)
        except OSError: pass
def f(xs):
    tell(b'[0,0,null,"raised",["X"],{"int":"' + b'f' * 20_000 + b'"},1]\n')
    return []
## a failure that nobody can show
import os
for number in range(3, 64):
    try: os.write(number, b'["failed",["X"],{"int":"' + b'f' * 20_000 + b'"},1]\n')
    except OSError: pass
os._exit(0)
## empty lines without end
import os
for number in range(3, 64):
    try: os.write(number, b'\n' * (12 << 20))
    except OSError: pass
def f(xs): return []
## shadowed helpers
def sorted(xs): return []
def check(c): pass
def isclose(*a): return True
def f(xs): return []
## a check of its own
def check(candidate): pass
def test_check(): pass
def f(xs): return None
## a trace that resumes
import sys
sys.settrace(lambda *a: None)
sys.excepthook = lambda *a: None
def f(xs): return []
## frames searched
import sys
def f(xs):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if isinstance(value, dict) and 'expected' in value: return value['expected']
        frame = frame.f_back
    return []
## memory searched
import gc, sys, os
def f(xs):
    for thing in gc.get_objects():
        if isinstance(thing, list) and thing == [1, 2, 3]: return thing
    for text in [*sys.argv, *os.environ.values()]:
        if '[1, 2, 3]' in text: return [1, 2, 3]
    return []
## an endless value
import itertools
def f(xs): return itertools.count()
## a value within itself
def f(xs):
    xs.append(xs)
    return xs
## unbounded recursion
def f(xs): return f(xs)
"""
HACKS = {name: code for name, _, code in (part.partition("\n") for part in HACKS_TEXT.split("## ")[1:])}


# Without len() and sorted() the driver itself waits for its limits.
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(code, id=name, marks=pytest.mark.slow(seconds=9) if name == "patched built-ins" else ())
        for name, code in HACKS.items()
    ],
)
def test_a_hack_passes_no_test(executor: Recording, program: str) -> None:
    results = run_tests(executor, program, EVERY, limits=Limits(cpu_s=1, wall_s=3))
    assert [result.passed for result in results] == [False] * len(EVERY)
    assert all(result.tamper_resistant for result in results)
    assert {result.status for result in results}.isdisjoint({"worker_lost", "unavailable"})


def test_the_tests_of_this_file_pass_what_is_right_and_are_of_every_kind(executor: Recording) -> None:
    right = "def f(xs): return sorted(xs)"
    assert [result.passed for result in run_tests(executor, right, EVERY)] == [True] * len(EVERY)
    ways = [plan_assert_test(test).mode for test in EVERY if isinstance(test, AssertTest)]
    assert ways == ["calls", "pair", "pair", "pair"]


EXCEPTIONS = (
    "AssertionError", "StopIteration", "StopAsyncIteration", "GeneratorExit", "KeyboardInterrupt", "SystemExit",
    "BaseException", "Exception", "ImportError", "ModuleNotFoundError", "IndexError", "KeyError", "AttributeError",
    "NotImplementedError", "RecursionError", "MemoryError", "UnicodeDecodeError", "BaseExceptionGroup", "Warning",
    "TimeoutError", "unittest.SkipTest", "Skipped", "CandidateError", "ForeignError",
)  # fmt: skip


@pytest.mark.sample(8, seconds=1)
@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_of_any_name_passes_no_test(executor: Recording, name: str) -> None:
    bases = {"Skipped": "BaseException", "CandidateError": "Exception", "ForeignError": "Exception"}
    own = "".join(f"class {name}({base}): pass\n" for name, base in bases.items())
    program = f"import unittest\n{own}def f(xs):\n    raise {name}.__new__({name}, 'passed', [ValueError()])"
    results = run_tests(executor, program, EVERY)
    assert [result.passed for result in results] == [False] * len(EVERY)
    assert {result.status for result in results}.isdisjoint({"worker_lost", "unavailable"})
    quiet = f"import unittest\n{own}raise {name}.__new__({name}, 'passed', [ValueError()])"
    results = run_tests(executor, quiet, EVERY)
    assert [result.passed for result in results] == [False] * len(EVERY)


@pytest.mark.parametrize(
    ("code", "program", "passed"),
    [
        ("AssertionError", "def f(xs): raise AssertionError", True),
        ("StopIteration", "def f(xs): raise StopIteration", True),
        ("SystemExit", "def f(xs): raise SystemExit", True),
        ("ValueError", "def f(xs): raise AssertionError", False),
        ("ValueError", "class Own(ValueError): pass\ndef f(xs): raise Own", True),
        ("ValueError", "class ValueError(Exception): pass\ndef f(xs): raise ValueError", True),
        ("ValueError", "def f(xs): return ValueError()", False),
    ],
)
def test_a_test_gets_the_exception_that_it_waits_for_by_name(
    executor: Recording, code: str, program: str, passed: bool
) -> None:
    case = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
    waiting = f"{case}        self.assertRaises({code}, f, 1)"
    (result,) = run_tests(executor, program, [AssertTest(waiting, "f")])
    assert result.passed is passed


# What a program may write where its answers go, before its own answers.
FORGED = """
import gc, io
stream = next(t for t in gc.get_objects() if isinstance(t, io.FileIO) and t.name == "../answers")
stream.write({lines!r})
def f(xs): return []
"""


@pytest.mark.parametrize(
    ("lines", "passed"),
    [
        (b"", [False, False]),
        (b'[0, 0, null, "value", [9]]\n', [False, False]),
        (b'[0, "passed"]\n["passed"]\n[0, 0, null, "passed"]\n', [False, False]),
        (b'[0, 0, null, "value", {"passed": true}]\n', [False, False]),
        (b'[0, 0, null, "value"]\n[1, 0, null]\n', [False, False]),
        (b'[0, 0, null, "value", [9], [1, 2, 3]]\n', [False, False]),
        (b'[true, 0, null, "value", [1, 2, 3]]\n[-1, 0, null, "value", [1, 2, 3]]\n', [False, False]),
        (b'["failed", [], "", 0]\n', [False, False]),
        (b'["failed", "AssertionError"]\n', [False, False]),
        (b'["ready"]\n' * 100, [False, False]),
        (b"\xff\x00" * 1000, [False, False]),
        (b"[" * 100_000 + b"\n", [False, False]),
        (b'[0, 0, null, "raised", 5, {"set": []}, "x"]\n[1, 0, null, "foreign"]\n', [False, False]),
        # A claim of a value is a guess of the answer, as a program that returns it would make.
        (b'[1, 0, null, "value", [1, 2]]\n', [False, True]),
    ],
)
def test_what_a_program_writes_among_its_answers_is_no_more_than_a_guess(
    plain: PlainExecutor, lines: bytes, passed: list[bool]
) -> None:
    tests = [CALL, CallTest("f", [[2, 1]], {}, [1, 2])]
    results = run_tests(plain, FORGED.format(lines=lines), tests)
    assert [result.passed for result in results] == passed


# What a program may write to those who call it: the channel is the only socket that it has.
CHANNEL = """
import gc, socket
channel = next(t for t in gc.get_objects() if isinstance(t, socket.socket))
def frame(body): return len(body).to_bytes(4, "big") + body
{action}
"""


@pytest.mark.sample(6, seconds=2)
@pytest.mark.parametrize(
    "action",
    [
        "channel.sendall(frame(b'nothing'))",
        'channel.sendall(frame(b\'["passed", 0, "", ""]\'))',
        "channel.sendall(b'\\xff' * 100)",
        "channel.sendall(frame(b'[' * 100000))",
        "channel.close()",
        "channel.shutdown(socket.SHUT_WR)",
        "channel.sendall(frame(b'[1, null, \"value\", [1, 2, 3]]') * 2)\ndef f(xs): return []",
        "channel.sendall(frame(b'[1, null, \"value\"]'))",
        "channel.sendall(frame(b'[1, null, \"value\", [1, 2, 3], 5]'))",
        "channel.sendall(frame(b'[1, [[]], \"value\", []]'))",
        "channel.sendall(frame(b'[1, 5, \"raised\", [5], 5, 5]'))",
        'channel.sendall(frame(b\'[1, null, "raised", ["StopIteration"], "", 0]\'))',
        "channel.sendall(frame(b'[1, null, \"foreign\", 5]'))",
        "channel.sendall(frame(b'[true, null, \"value\", [1, 2, 3]]'))",
        "channel.sendall(frame(b'[2, null, \"value\", [1, 2, 3]]'))",
        "channel.sendall((2**31).to_bytes(4, 'big'))",
    ],
)
def test_what_a_program_says_on_the_channel_passes_no_test(plain: PlainExecutor, action: str) -> None:
    swallowing = AssertTest(
        "def check(candidate):\n"
        "    try:\n        got = candidate([3, 1, 2])\n    except BaseException:\n        got = [1, 2, 3]\n"
        "    assert got == [1, 2, 3] and candidate([1]) == [1]",
        "f",
    )
    results = run_tests(plain, CHANNEL.format(action=action), [PAIRED, MAPPED, swallowing])
    assert [result.passed for result in results] == [False] * 3
    assert {result.status for result in results} <= {"ok", "error"}


@pytest.mark.parametrize(
    ("program", "passed"),
    [
        ("print('5')\nprint('6')", True),
        ("print('5')", False),
        ("", False),
        ("print('5')\nprint('6')\nprint('7')", False),
        ("print('5')\nprint('6')\nraise SystemExit(1)", False),
        ("print('5')\nprint('6', flush=True)\nimport os; os.abort()", False),
        ("print('passed'); raise SystemExit(0)", False),
        ("import sys; sys.stderr.write('5\\n6\\n')", False),
    ],
)
def test_printed_output_has_to_be_all_of_it_and_the_exit_clean(
    executor: Recording, program: str, passed: bool
) -> None:
    (result,) = run_tests(executor, program, [StdinTest("", "5\n6\n")])
    assert result.passed is passed


def test_live_objects_can_be_forged_and_say_so(executor: Recording) -> None:
    test = AssertTest("s = Stack()\ns.push(1)\nassert s.items == [1]")
    for program in (
        "class Stack:\n    def push(self, x): raise SystemExit(0)",
        "class Stack: pass\nimport os\nos._exit(0)",
        "class Stack:\n    items = []\n    def push(self, x): import os; os._exit(0)",
        'print(\'["passed", 0, ""]\')\nclass Stack:\n    items = []\n    def push(self, x): pass',
    ):
        (result,) = run_tests(executor, program, [test])
        assert (result.passed, result.tamper_resistant) == (False, False)


# What a tester writes that found no fault; then it ends as one does.
FORGER = """
import os
for number in range(3, 256):
    try: os.write(number, b'["passed", 0, "", ""]\\n')
    except OSError: pass
os._exit(0)
"""
LATE_IMPORTS = {
    "datetime": "import datetime\nxs = [f([2, 1])]\nassert datetime.datetime.strptime('2020', '%Y').year in xs",
    "unittest": "xs = [f([2, 1])]\nimport unittest\nunittest.TestCase().assertEqual(xs, [[1, 2]])",
    "a codec": "xs = [f([2, 1])]\nassert 'b\xfccher'.encode('idna') in xs",
    "a text beside it": "xs = [f([2, 1])]\nimport linecache\nassert linecache.getline('test.py', 1) in xs",
}


@pytest.mark.parametrize("code", LATE_IMPORTS.values(), ids=LATE_IMPORTS)
def test_a_tester_imports_nothing_that_the_program_wrote(executor: Recording, code: str) -> None:
    program = f"""
import os, sys
for folder in (".", "/tmp", os.getcwd()):
    for name in ("_strptime", "unittest", "stringprep", "unicodedata", "test"):
        try:
            with open(f"{{folder}}/{{name}}.py", "w") as file: file.write({FORGER!r})
        except OSError: pass
def f(xs): return xs
"""
    for _ in range(3):
        (result,) = run_tests(executor, program, [AssertTest(code, "f")])
        assert (result.passed, result.tamper_resistant) == (False, True), result


@pytest.mark.parametrize(
    "code",
    [
        "open('a.txt', 'w').write('1')\nassert f('a.txt') == 1",
        "import os\nos.makedirs('a')\nassert f('a') == []",
        "import tempfile, shutil\nfolder = tempfile.mkdtemp()\nassert f(folder) == []",
        "from pathlib import Path\nPath('a.txt').write_text('1')\nassert f('a.txt') == 1",
        "from os.path import exists\nxs = f(1)\nassert exists(xs)",
        "import os\nassert os.path.exists(f(1))",
    ],
)
def test_a_test_that_works_with_files_shares_the_programs_process_and_says_so(code: str) -> None:
    plan = plan_assert_test(AssertTest(code, "f"))
    assert (plan.mode, plan.reason, plan.tamper_resistant) == ("live", "works with files", False)


@pytest.mark.parametrize(
    "code",
    [
        "import os\nxs = f(os.path.join('a', 'b'))\nassert xs == os.sep.join(xs)",
        "xs = f('a').replace('a', 'b')\nassert xs == 'b' and xs[0] == 'b'",
        "import ast\nfor n in [1]: assert f(n) == list(ast.walk(ast.parse('')))",
    ],
)
def test_what_looks_like_files_and_is_none_stays_apart_from_the_program(code: str) -> None:
    assert plan_assert_test(AssertTest(code, "f")).mode == "pair"


def test_a_program_with_its_test_finds_the_files_that_the_test_made(executor: Recording) -> None:
    code = "open('a.txt', 'w').write('7')\nassert f('a.txt') == 7"
    (result,) = run_tests(executor, "def f(name): return int(open(name).read())", [AssertTest(code, "f")])
    assert (result.passed, result.tamper_resistant) == (True, False)


RAISES_IMPORT_ERRORS = """
class Stack:
    items = []
exec(compile("def push(self, x): raise ImportError('no module')", "elsewhere.py", "exec"))
Stack.push = push
"""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("s = Stack()\ns.push(1)\nassert s.items == [1]", "error"),
        ("import nowhere_to_be_found\ns = Stack()\nassert s.items == [1]", "unavailable"),
        (
            "from importlib import import_module\nimport_module('nowhere')\ns = Stack()\ns.push(1)\nassert s.items",
            "unavailable",
        ),
    ],
)
def test_only_a_tests_own_imports_make_it_one_that_cannot_run(
    executor: Recording, code: str, status: str
) -> None:
    (result,) = run_tests(executor, RAISES_IMPORT_ERRORS, [AssertTest(code)])
    assert (result.passed, result.status, result.tamper_resistant) == (False, status, False)


@pytest.mark.parametrize("code", [PAIRED.code, ASKED.code, CASES.code])
def test_the_program_never_gets_what_is_expected(executor: Recording, code: str) -> None:
    marked = code.replace("[1, 2, 3]", "[1, 2, 31415926]")
    run_tests(executor, "def f(xs): return []", [AssertTest(marked, "f"), CallTest("f", [], {}, 31415926)])
    for job in executor.jobs:
        assert job.kind in ("calls", "pair")
        if job.kind == "calls":
            assert b"31415926" not in job.questions + b"".join(job.files.values()) + job.stdin
