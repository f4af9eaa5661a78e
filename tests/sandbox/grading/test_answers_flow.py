"""What a program returned may go back to it, but nothing runs it as code in a test that claims to be safe."""

from __future__ import annotations

import pytest

from guerdon.sandbox.grading import judging
from guerdon.sandbox.grading.assert_tests import plan_assert_test
from guerdon.sandbox.grading.cases import AssertTest, StdinTest, TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.sandbox import Sandbox

RUNNING = {
    "eval": "assert eval(f(4)) == 24",
    "eval in check": "def check(c):\n    for n in range(2):\n        assert eval(c(n), {}) == 24",
    "exec": "names = {}\nexec(f(4), names)\nassert names['x'] == 24",
    "compile": "assert eval(compile(f(4), 'x', 'eval')) == 24",
    "mapped": "assert list(map(eval, f([4]))) == [24]",
    "builtins": "import builtins\nassert builtins.eval(f(4)) == 24",
    "renamed": "from builtins import eval as value\nassert value(f(4)) == 24",
    "kept": "run = exec\nrun(f(4))\nassert f(2) == 3",
    "pickle": "import pickle\nassert pickle.loads(f(4)) == [24]",
    "marshal": "from marshal import loads\nassert loads(f(4)) == [24]",
    "__import__": "assert __import__(f(4)).x == 24",
    "import_module": "import importlib\nassert importlib.import_module(f(4)).x == 24",
    "getattr": "import builtins\ng = f(1)\nassert getattr(builtins, g)(f(2)) == 24",
    "globals": "assert globals()[f(1)](2) == 24",
    "methodcaller": "from operator import methodcaller\nxs = []\nxs.append(f(1))\n"
    "assert methodcaller(xs[0], f(2))(xs) == 24",
    "timeit": "import timeit\nassert timeit.timeit(f(4)) < 5",
    "by a helper": "def helper(text):\n    return eval(text)\nassert helper(f(4)) == 24",
    "through an object": "class A:\n    pass\na = A()\na.x = f(1)\nassert getattr(int, a.x)(3) == 24",
    "an f-string": "assert eval(f'{f(4)} + 1') == 25",
    "doctest": "import doctest\ndoctest.run_docstring_examples(f(4), {})\nassert f(4) == 24",
}
HARMLESS = {
    "a literal": "x = eval('1 + 2')\nfor n in range(2):\n    assert f(n) == x",
    "another compile": "import re\nfor n in range(2):\n    assert re.compile('a+').match(f(n))",
    "literal_eval": "import ast\nfor n in range(2):\n    assert ast.literal_eval(f(n)) == [1]",
    "its own name": "for name in ('sqrt', 'floor'):\n    import math\n    assert getattr(math, name)(f(4)) == 2",
    "json": "import json\nfor n in range(2):\n    assert json.loads(f(n)) == [1]",
}
# Everything that is no plain data, made of what an honest program could return as well.
HANDED_BACK = {
    "zone": "for n in range(2):\n    assert f(f(n).tzinfo) == 77",
    "named": "y = f(2)\nz = y.tzinfo\nassert f(z) == 77",
    "helper": "def again(y):\n    return f(y.tzinfo)\nassert again(f(1)) == 77",
    "keyword": "ys = [f(n) for n in range(2)]\nassert all(f(n=y.tzinfo) == 77 for y in ys)",
}
ZONED = "import datetime\ndef f(n): return datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)"
# It writes a verdict to whatever the process holds.
SOURCE = (
    'import os\nfor n in range(3, 40):\n    try: os.pwrite(n, b\'["passed", 0, "", ""]\\n\', 0)\n'
    "    except OSError: pass\nos._exit(0)"
)
FORGES = f"def f(n): return {f'exec({SOURCE!r})'!r}"
SLOW_TO_CHECK = """
import sys
output, answer = (open(name).read().split() for name in sys.argv[2:])
sum(a < b for a in output for b in output)
sys.exit(output != answer)
"""


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    with Sandbox() as made:
        yield made


def judged(sandbox: Sandbox, program: str, code: str) -> TestResult:
    (found,) = sandbox.run_tests(program, [AssertTest(code, "f")], limits=Limits(cpu_s=1, wall_s=3))
    return found


@pytest.mark.parametrize("name", RUNNING)
def test_a_test_that_may_run_an_answer_says_that_it_can_be_forged(name: str) -> None:
    plan = plan_assert_test(AssertTest(RUNNING[name], "f"))
    assert not plan.tamper_resistant, plan
    assert not plan_assert_test(AssertTest(RUNNING[name], "f", live_objects=False)).tamper_resistant


@pytest.mark.parametrize("name", HARMLESS)
def test_a_test_that_runs_only_its_own_code_stays_apart(name: str) -> None:
    assert plan_assert_test(AssertTest(HARMLESS[name], "f")).tamper_resistant


def test_set_up_code_may_run_an_answer_too() -> None:
    setup = "def value(text):\n    return eval(text)"
    assert not plan_assert_test(AssertTest("assert value(f(4)) == 24", "f", setup)).tamper_resistant


@pytest.mark.parametrize("code", [RUNNING["eval"], RUNNING["eval in check"], RUNNING["by a helper"]])
def test_an_answer_that_writes_a_verdict_is_not_taken_for_safe(sandbox: Sandbox, code: str) -> None:
    found = judged(sandbox, FORGES, code)
    assert not (found.passed and found.tamper_resistant), found


@pytest.mark.parametrize("name", HANDED_BACK)
def test_a_program_cannot_have_its_test_hand_over_what_cannot_travel(sandbox: Sandbox, name: str) -> None:
    found = judged(sandbox, ZONED, HANDED_BACK[name])
    assert (found.passed, found.status, found.tamper_resistant) == (False, "error", True), found


def test_what_a_test_makes_itself_is_not_held_against_the_program(sandbox: Sandbox) -> None:
    found = judged(sandbox, ZONED, "import datetime\nx = datetime.timezone.utc\nassert f(x) == 77")
    assert found.status == "unavailable", found


@pytest.mark.parametrize("wrapped", ["reversed(f(x))", "iter(f(x))", "map(int, f(x))", "enumerate(f(x))"])
def test_iterators_over_an_answer_travel(sandbox: Sandbox, wrapped: str) -> None:
    program = "from collections import deque\ndef f(x): return deque(x)"
    found = judged(sandbox, program, f"x = [1]\ny = f({wrapped})\nassert list(y) in ([1], [(0, 1)])")
    assert found.passed, found


def test_output_that_is_slow_to_check_is_wrong(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "CHECKING_S", 1.0)
    tests = [StdinTest("", f"{n}\n") for n in range(6)]
    checker = Comparison.by(SLOW_TO_CHECK, limits=Limits(cpu_s=0.4, wall_s=5))
    found = sandbox.run_tests("print('1 ' * 99_999)", tests, compare=checker, total_wall_s=60)
    assert not any(one.passed for one in found)
    assert {one.status for one in found} <= {"ok", "timeout"}, found
    assert found[-1].status == "timeout"
    (right,) = sandbox.run_tests("print(0)", tests[:1], compare=checker, total_wall_s=60)
    assert right.passed
