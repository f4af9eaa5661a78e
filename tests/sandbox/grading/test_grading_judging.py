"""Tests of programs that mean no harm: every form of test is judged right."""

from __future__ import annotations

import datetime
import decimal
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.sandbox.execution import Report, SandboxJob
from guerdon.sandbox.grading.assert_tests import plan_assert_test
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest, Test, TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.grading.judging import run_tests
from guerdon.sandbox.limits import Limits
from support.job_executors import PlainExecutor, Recording

QUICK = Limits(cpu_s=1, wall_s=5)


def said(results: list[TestResult]) -> list[tuple[bool, str, str]]:
    return [(result.passed, result.status, result.detail) for result in results]


PASS = (True, "ok", "")
WRONG = (False, "ok", "wrong answer")

FUNCTIONS = """
import collections, datetime, decimal, enum, sys
def double(x, *, times=2): return x * times
def pair(a, b): return (a, b)
def nothing(*_): return None
def spoil(xs): xs.clear(); return []
def later(): return datetime.date(2024, 1, 31) + datetime.timedelta(1)
def exact(x): return decimal.Decimal(x) / 8
def deep(n): return deep(n + 1)
def lazy(n): return (i for i in range(n))
def third(): return 1 / 3
def leave(): sys.exit()
class Thing: pass
def thing(): return Thing()
class Solution:
    def __init__(self): self.seen = []
    def rev(self, text): self.seen.append(text); return self.seen[::-1]
    @staticmethod
    def least(xs): return min(xs)
class Tools:
    class Inner:
        def one(self): return 1
limit = 3
"""


@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        (CallTest("double", [4], {}, 8), PASS),
        (CallTest("double", [4], {"times": 3}, 12), PASS),
        (CallTest("double", ["ab"], {}, "abab"), PASS),
        (CallTest("double", [4], {}, 9), WRONG),
        (CallTest("double", [1], {}, True), WRONG),
        (CallTest("double", [0.5], {}, True), PASS),
        (CallTest("pair", [1, {2: (3,)}], {}, (1, {2: (3,)})), PASS),
        (CallTest("pair", [1, 2], {}, [1, 2]), WRONG),
        (CallTest("pair", [{1}, b"x"], {}, ({1}, b"x")), PASS),
        (CallTest("nothing", [], {}, None), PASS),
        (CallTest("later", [], {}, datetime.date(2024, 2, 1)), PASS),
        (CallTest("exact", [1], {}, decimal.Decimal("0.125")), PASS),
        (CallTest("double", [float("nan")], {}, float("nan")), WRONG),
        (CallTest("third", [], {}, 0.333333), WRONG),
        (CallTest("lazy", [2], {}, [0, 1]), WRONG),
        (CallTest("rev", ["a"], {}, ["a"]), PASS),
        (CallTest("Solution.rev", ["a"], {}, ["a"]), PASS),
        (CallTest("Solution.least", [[2, 1]], {}, 1), PASS),
        (CallTest("Tools.Inner.one", [], {}, 1), PASS),
        (CallTest("double", [], {}, 1), (False, "error", "the program raised TypeError")),
        (CallTest("exact", [{}], {}, 1), (False, "error", "the program raised TypeError in line 8")),
        (CallTest("deep", [1], {}, 1), (False, "error", "the program raised RecursionError in line 9")),
        (CallTest("leave", [], {}, None), (False, "error", "the program raised SystemExit in line 12")),
        (CallTest("thing", [], {}, None), (False, "ok", "the program returned something that is not plain data")),
        (CallTest("limit", [], {}, 3), (False, "error", "the program does not define limit")),
        (CallTest("Solution.none", [], {}, 3), (False, "error", "the program does not define Solution.none")),
    ],
)  # fmt: skip
def test_a_call(executor: Recording, test: CallTest, outcome: tuple[bool, str, str]) -> None:
    assert said(run_tests(executor, FUNCTIONS, [test])) == [outcome]


def test_calls_share_a_process_and_get_arguments_of_their_own(executor: Recording) -> None:
    shared = [3, 1]
    tests: list[Test] = [
        CallTest("spoil", [shared], {}, []),
        AssertTest("assert double([1]) == [1, 1]", "double"),
        CallTest("double", [shared], {}, [3, 1, 3, 1]),
    ]
    assert said(run_tests(executor, FUNCTIONS, tests)) == [PASS, PASS, PASS]
    assert len(executor.jobs) == 1
    assert executor.jobs[0].steps == 4


def test_lists_may_equal_tuples_and_floats_may_be_near(executor: Recording) -> None:
    nested = CallTest("pair", [1, (2, {"a": (3,)})], {}, [1, [2, {"a": [3]}]])
    assert said(run_tests(executor, FUNCTIONS, [nested], tuples_as_lists=True)) == [PASS]
    near = [CallTest("third", [], {}, 0.333333), CallTest("pair", [1, 2], {}, (1.0000001, 3))]
    assert said(run_tests(executor, FUNCTIONS, near, compare="floats")) == [PASS, WRONG]
    strict = Comparison(word="floats", absolute=0, relative=1e-9)
    assert said(run_tests(executor, FUNCTIONS, near[:1], compare=strict)) == [WRONG]


def test_a_call_that_ends_the_process_does_not_take_the_others_along(executor: Recording) -> None:
    program = "import os\ndef f(n):\n    if n == 2: os._exit(0)\n    if n == 3:\n        while True: pass\n    return n"
    tests = [CallTest("f", [n], {}, n) for n in (1, 2, 3, 4)]
    results = run_tests(executor, program, tests, limits=QUICK)
    assert [(result.passed, result.status) for result in results] == [
        (True, "ok"), (False, "error"), (False, "timeout"), (True, "ok"),
    ]  # fmt: skip
    assert results[1].detail == "no answer: the program ended itself"
    assert len(executor.jobs) == 3
    stopped = run_tests(executor, program, tests, limits=QUICK, stop_on_failure=True)
    assert [result.passed for result in stopped] == [True, False]


SAME_HASH = ", ".join(str(n * (2**61 - 1)) for n in range(1, 4_000))


@pytest.mark.parametrize(
    ("answers", "detail"),
    [
        (b"\n" * (16 << 20), "no answer: the program ended itself"),
        (b"x\n" * (8 << 20), "no answer: the program ended itself"),
        (
            f'[0, 0, null, "value", {{"set": [{SAME_HASH}]}}]\n'.encode() * 150,
            "the program gave no answer that can be read",
        ),
    ],
)
def test_answers_that_are_none_take_no_long_time(answers: bytes, detail: str) -> None:
    started = time.process_time()
    flooded = Report(status="ok", answers=b'["ready"]\n' + answers)
    (result,) = run_tests(Lost(flooded), "def f(n): return n", [CallTest("f", [1], {}, 1)])
    assert said([result]) == [(False, "error", detail)]
    assert time.process_time() - started < 4


def test_output_of_the_tests_before_is_not_held_against_a_test() -> None:
    program = "def f(n): return n"
    tests = [CallTest("f", [n], {}, n) for n in (1, 2, 3)]
    room = Report(status="output_limit", answers=b'["ready"]\n[0, 0, null, "value", 1]\n')
    assert said(run_tests(Lost(room), program, tests)) == [PASS, PASS, PASS]
    alone = Report(status="output_limit", answers=b'["ready"]\n', detail="too much output")
    results = run_tests(Lost(alone), program, tests)
    assert said(results) == [(False, "output_limit", "no answer: too much output"), PASS, PASS]


@pytest.mark.parametrize(
    "report",
    [
        Report(status="error", exit_code=1, stderr=b"SyntaxError: " * 80_000 + b"\nx"),
        Report(status="ok", answers=b"\n" * (16 << 20)),
        Report(status="ok", answers=b'["ready"]\n' * 1_500_000),
    ],
    ids=["syntax errors", "empty lines", "lines"],
)
def test_reading_what_a_program_wrote_takes_no_time_to_speak_of(report: Report) -> None:
    tests = [CallTest("f", [1], {}, 2), StdinTest("", "2")]
    started = time.process_time()
    assert not any(result.passed for result in run_tests(Lost(report, report), "", tests))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("program", "detail"),
    [
        ("def f(: pass", "SyntaxError in line 1"),
        ("x = 1\n  y = 2", "IndentationError in line 2"),
        ("x = 1\nraise ValueError('secret')", "the program raised ValueError in line 2"),
        ("input()", "the program raised EOFError in line 1"),
        ("import os; os._exit(0)", "the program did not get to its end: the program ended itself"),
    ],
)
def test_a_program_that_fails_fails_all_tests_at_once(executor: Recording, program: str, detail: str) -> None:
    results = run_tests(executor, program, [CallTest("f", [n]) for n in range(5)])
    assert said(results) == [(False, "error", detail)] * 5
    assert len(executor.jobs) == 1


def test_a_program_that_does_not_compile_is_run_once(executor: Recording) -> None:
    tests: list[Test] = [
        StdinTest("1", "1"),
        CallTest("f", [1]),
        AssertTest("assert f(1) == [x for x in 'a']"),
    ]
    results = run_tests(executor, "print(", tests)
    assert said(results) == [(False, "error", "SyntaxError in line 1")] * 3
    assert len(executor.jobs) == 1


def test_a_program_by_what_it_prints(executor: Recording) -> None:
    program = "import sys\nif __name__ == '__main__':\n    n = int(input())\n    print(n * 2, open('add.txt').read())"
    tests: list[Test] = [StdinTest("2\n", "4 x"), StdinTest("2\n", "5 x"), StdinTest("two\n", "4")]
    results = run_tests(executor, program, tests, files={"add.txt": "x"})
    assert said(results) == [PASS, (False, "ok", "wrong output"), (False, "error", "exit code 1")]
    assert "expected '5 x'" in results[1].revealing
    assert "invalid literal" in results[2].revealing
    slow = run_tests(executor, "while True: pass", tests[:1], limits=QUICK)
    assert (slow[0].passed, slow[0].status) == (False, "timeout")


MORE = """
def add(a, b): return a + b
def sort(xs): xs.sort()
def unique(xs):
    xs[:] = sorted(set(xs))
    return len(xs)
def odd(n): return n % 2 == 1
def sure(n):
    if n < 0: raise ValueError("below zero")
    if n > 9: raise Own("above nine")
    return n
class Own(KeyError): pass
def mean(xs): return sum(xs) / len(xs)
def helper(n): return n + 1
def naturals():
    n = 0
    while n < 5:
        yield n
        n += 1
own_isinstance = isinstance
class Stack:
    def __init__(self): self.items = []
    def push(self, x): self.items.append(x); return self
    def top(self): return self.items[-1]
def twice(f): return lambda x: f(f(x))
def greet(): print("hello")
def leave(): raise SystemExit(3)
"""


WAYS = """
## calls add
assert add(1, 2) == 3
## calls
assert add(1, b=2) == 3, 'wrong ' + str(add(1, 2))
## calls add
def check(candidate):
    assert candidate(1, 2) == 3
    assert candidate('a', 'b') == 'ab'
## calls mean
def check(c):
    assert c([1.0, 2.0]) == 1.5
def test_check():
    check(mean)
test_check()
## calls odd
METADATA = {'a': 1}
assert odd(3) is True and not odd(4)
assert odd(5)
## calls mean
import math
assert math.isclose(mean([1, 2, 2]), 5 / 3)
assert abs(mean([0.1, 0.2]) - 0.15) < 1e-9
## calls add
for a, b in [(1, 2), (3, 4)]:
    assert add(a, b) - 1 == add(b, a) - 1 > 1 or False
## calls add
for a, b, c in [(1, 2, 3), (3, 4, 7)]:
    assert add(a, b) == c
## calls add
xs = [3, 1]
ys = list(range(2))
assert add(xs, ys)[2:] == [0, 1]
assert sorted(add(xs, ys)) == [0, 1, 1, 3]
## calls add
assert set(add((1,), (2,))) == {1, 2} and len(add([1], [2])) == 2 and add(1, 2) in (3, 4)
## calls add
if __name__ == '__main__':
    assert add(2, 2) == 4
## calls add
def test_a():
    assert add(2, 2) == 4
def test_b():
    assert add(2, 3) == 5
## calls naturals
assert list(naturals()) == [0, 1, 2, 3, 4] and naturals() != [0, 1, 2, 3, 4]
## pair add
assert math.fsum([add(1, 2)]) == 3
## pair sort
xs = [3, 1, 2]
sort(xs)
assert xs == [1, 2, 3]
## pair unique
xs = [3, 1, 3]
k = unique(xs)
assert xs[:k] == [1, 3]
## pair unique
def left(xs):
    unique(xs)
    return xs
assert left([3, 1, 3]) == [1, 3]
## pair add
import unittest
class TestAdd(unittest.TestCase):
    def test_it(self):
        self.assertEqual(add(1, 2), 3)
if __name__ == '__main__':
    unittest.main()
## pair sure
try:
    sure(-1)
    assert False
except ValueError as error:
    assert 'below' in str(error)
## pair sure
try:
    sure(10)
    assert False
except LookupError:
    pass
## pair leave
import unittest
class T(unittest.TestCase):
    def test_it(self):
        with self.assertRaises(SystemExit):
            leave()
## pair sure
import random
rng = random.Random(1)
for _ in range(20):
    n = rng.randint(0, 9)
    assert sure(n) == n
## pair naturals
assert [n for n in naturals() if n > 2] == [3, 4] and next(naturals()) == 0
## pair add
assert add([1], [2]).count(1) == 1
## pair add
def check(candidate):
    xs = [1]
    assert candidate(xs, xs) == [1, 1]
    assert candidate.__name__ == 'add'
## live odd
assert all(map(odd, [1, 3])) and own_isinstance(odd, object)
## live
s = Stack()
s.push(1).push(2)
assert s.top() == 2
## live twice
assert twice(lambda x: x + 1)(1) == 3
## live greet
import io, contextlib
out = io.StringIO()
with contextlib.redirect_stdout(out):
    greet()
assert out.getvalue() == 'hello\\n'
## live sure
assert helper(1) == sure(2) == 2
"""
NAMES = re.findall(r"^(?:def|class) (\w+)", MORE, re.MULTILINE)
IDLE = "".join(f"def {name}(*_, **__): return None\n" for name in [*NAMES, "own_isinstance"])


def ways() -> list[tuple[str, str | None, str]]:
    found: list[tuple[str, str | None, str]] = []
    for part in WAYS.split("## ")[1:]:
        head, _, code = part.partition("\n")
        mode, _, entry_point = head.partition(" ")
        found.append((code, entry_point or None, mode))
    return found


@pytest.mark.parametrize(("code", "entry_point", "mode"), ways())
def test_an_assert_test_runs_in_the_way_its_text_needs(
    executor: Recording, code: str, entry_point: str | None, mode: str
) -> None:
    test = AssertTest(code, entry_point)
    assert plan_assert_test(test).mode == mode
    (result,) = run_tests(executor, MORE, [test])
    assert (result.passed, result.status, result.detail) == PASS
    assert result.tamper_resistant is (mode != "live")
    (result,) = run_tests(executor, IDLE, [test])
    assert not result.passed


@pytest.mark.parametrize(
    ("program", "detail", "status"),
    [
        ("def f(x): return x", "line 2 of the test: the assertion does not hold", "ok"),
        ("def f(x): raise IndexError(x)", "line 2 of the test: IndexError", "error"),
        ("def f(x): return None", "line 2 of the test: TypeError", "error"),
        ("def g(x): return x", "the program does not define the function", "error"),
        ("1 / 0", "the program raised ZeroDivisionError in line 1", "error"),
        ("import os\nos._exit(0)", "the program answered nothing: it has ended", "error"),
        ("def f(x): return object()", "line 2 of the test: CandidateError", "error"),
    ],
)
def test_what_is_said_of_a_failed_assert_test(
    executor: Recording, program: str, detail: str, status: str
) -> None:
    test = AssertTest(
        "for n in [5] * len('a'):\n    assert f(n) + 0 * f(n) == n + 1 - 0 * (1 if n else 2)", "f"
    )
    assert plan_assert_test(test).mode == "pair"
    (result,) = run_tests(executor, program, [test])
    assert (result.passed, result.detail, result.status) == (False, detail, status)
    assert "5" not in result.detail


def test_what_is_revealed_is_for_the_owner_only(executor: Recording) -> None:
    program = (
        "class E(Exception): pass\ndef f(x):\n    if x == 'hidden': raise type(x, (E,), {})(x)\n    return x"
    )
    results = run_tests(executor, program, [CallTest("f", ["hidden"]), CallTest("f", ["covert"], {}, "gold")])
    assert [result.detail for result in results] == ["the program raised Exception in line 3", "wrong answer"]
    assert "hidden" in results[0].revealing
    assert results[1].revealing == "f('covert') returned 'covert', expected 'gold'"


@pytest.mark.parametrize(
    ("test", "words"),
    [
        (AssertTest("assert f( =="), "test 2: the test's code does not compile: SyntaxError in line 1"),
        (AssertTest("assert f(g(1))", setup="def f(:"), "test 2: the test's set-up does not compile"),
        (AssertTest("assert True"), "test 2: the test's code uses no name that it does not define"),
        (AssertTest("def check(c):\n    assert c(g(1), h(2))"), "uses several names .* give entry_point"),
        (CallTest("f", [object()]), "test 2: a value of type object"),
        (CallTest("f", [], {}, object()), "test 2: a value of type object"),
        ("assert f(1) == 1", "test 2 must be a StdinTest, CallTest or AssertTest, not a str"),
    ],
)
def test_a_malformed_test_is_refused(executor: Recording, test: Any, words: str) -> None:
    tests = [CallTest("f", [1], {}, 1), test]
    with pytest.raises(InputError, match=words):
        run_tests(executor, "def f(x): return x", tests)


@pytest.mark.parametrize(
    "code",
    [
        "import nowhere_to_be_found\nassert nowhere_to_be_found.same(f(1), 1)",
        "assert 1 == 1 or f",
        "assert f(open('test.py', 'w')) == 1",
    ],
)
def test_a_test_that_cannot_run_says_nothing_of_the_program(executor: Recording, code: str) -> None:
    (result,) = run_tests(executor, "def f(x): return x", [AssertTest(code, "f", live_objects=False)])
    assert (result.passed, result.status) == (False, "unavailable")


def test_the_prelude_is_there_when_asked_for(executor: Recording) -> None:
    program = """class Solution:
    def f(self, xs: List[int]) -> Optional[int]:
        return heapq.nlargest(1, xs)[0] if xs else inf"""
    tests: list[Test] = [
        CallTest("f", [[1, 3]], {}, 3),
        AssertTest("assert f([1, 3]) + sum(n for n in [1]) == 4", "f"),
    ]
    assert [result.passed for result in run_tests(executor, program, tests)] == [False, False]
    assert said(run_tests(executor, program, tests, prelude=True)) == [PASS, PASS]


class Lost:
    """An executor whose workers are lost, or that has none."""

    def __init__(self, *reports: Report) -> None:
        self.reports = list(reports)
        self.plain = PlainExecutor()

    def execute(self, job: SandboxJob) -> Report:
        return self.reports.pop(0) if self.reports else self.plain.execute(job)


@pytest.mark.parametrize(
    "test", [StdinTest("", "2"), CallTest("f", [], {}, 2), AssertTest("assert f() in [n for n in [2]]")]
)
def test_a_lost_worker_is_tried_once_more_and_then_told(test: Test) -> None:
    program = "def f(): return 2\nprint(2)"
    lost = Report(status="worker_lost", detail="gone")
    for times, outcome in ((1, PASS), (2, (False, "worker_lost", "gone"))):
        assert said(run_tests(Lost(*[lost] * times), program, [test])) == [outcome]
    none = Report(status="unavailable", detail="install bubblewrap")
    assert said(run_tests(Lost(none), program, [test])) == [(False, "unavailable", "install bubblewrap")]


def test_real_completions_get_the_verdict_that_they_have(executor: Recording, data_dir: Path) -> None:
    lines = (data_dir / "code_mbpp_dev.jsonl").read_text(encoding="utf-8").splitlines()
    wrong = []
    for row in map(json.loads, lines):
        test = AssertTest(row["test"], row["entry_point"])
        (result,) = run_tests(executor, row["response"], [test])
        if result.passed != row["label"] or not result.tamper_resistant:
            wrong.append((row["id"], result))
    assert len(lines) == 240
    assert wrong == []


def test_what_winds_up_the_clocks_of_a_test_is_its_answer() -> None:
    late = (
        b'["ready"]\n[1,junk\n[0, 0, null, "value", 0]\n[1, 0, null, "value", 1]\n[2, 0, null, "value", 2]\n'
    )
    tests = [CallTest("f", [n], {}, n) for n in range(3)]
    results = run_tests(Lost(Report(status="ok", answers=late)), "def f(n): return n", tests)
    assert [result.passed for result in results] == [True, False, True]
