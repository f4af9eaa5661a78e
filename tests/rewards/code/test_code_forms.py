"""Tests of programming problems in the forms of the field's data sets; the samples are our own."""

from __future__ import annotations

import base64
import json
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.rewards.code.forms import suite_in, suite_of
from guerdon.rewards.code.private import decompressed
from guerdon.rewards.code.suite import SampleTests
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest

STUB = "import math\n\n\ndef area(r: float) -> float:\n    '''The area of a circle.'''\n"
CHECK = "def check(candidate):\n    assert candidate(0) == 0\n"
LIVE = [{"input": "1 2", "output": "3", "testtype": "stdin"}]
CALLS = [{"input": "[1, 2]\n3", "output": "[4, 5]", "testtype": "functional"}]


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


STDIN = (StdinTest("1 2", "3"),)
CALL = (CallTest("shift", [[1, 2], 3], {}, [4, 5]),)

FORMS: list[tuple[str, dict[str, Any], str, tuple[Any, ...]]] = [
    ("HumanEval", {"test": CHECK, "entry_point": "area"}, "humaneval", (AssertTest(CHECK, "area", "import math"),)),
    ("MBPP", {"test_list": ["assert area(0) == 0"], "test_setup_code": "import cmath", "code": "…"}, "mbpp",
     (AssertTest("assert area(0) == 0", "area", "import cmath\nimport math"),)),
    ("MBPP, challenges", {"test_list": ["assert area(0) == 0"], "challenge_test_list": ["assert area(1) > 3"]},
     "mbpp", (AssertTest("assert area(0) == 0", "area", "import math"),
              AssertTest("assert area(1) > 3", "area", "import math"))),
    ("MBPP, sanitized", {"test_list": ["assert area(0) == 0"], "test_imports": ["import os", "import re"]},
     "mbpp", (AssertTest("assert area(0) == 0", "area", "import os\nimport re\nimport math"),)),
    ("APPS", {"input_output": json.dumps({"inputs": ["1 2"], "outputs": ["3"]})}, "apps", STDIN),
    ("APPS, lines", {"input_output": {"inputs": [["1", "2"]], "outputs": [["3", "4"]]}}, "apps",
     (StdinTest("1\n2", "3\n4"),)),
    ("APPS, a function", {"input_output": json.dumps(
        {"fn_name": "shift", "inputs": [[[1, 2], 3]], "outputs": [[4, 5]]})}, "apps", CALL),
    ("APPS, keys that are numbers", {"input_output": json.dumps(
        {"fn_name": "get", "inputs": [[{"1": "a"}]], "outputs": [{"1": "b", "2": "c"}]})}, "apps",
     (CallTest("get", [{1: "a"}], {}, {1: "b", 2: "c"}),)),
    ("LiveCodeBench", {"public_test_cases": json.dumps(LIVE), "private_test_cases": packed(json.dumps(LIVE))},
     "livecodebench", STDIN * 2),
    ("LiveCodeBench, a function", {"public_test_cases": json.dumps(CALLS), "metadata": '{"func_name": "shift"}'},
     "livecodebench", CALL),
    ("LiveCodeBench, private in JSON", {"private_test_cases": json.dumps(CALLS), "func_name": "shift"},
     "livecodebench", CALL),
    ("Codeforces", {"official_tests": [{"input": "1 2", "output": "3"}], "input_mode": "stdio",
                    "generated_checker": None, "generated_tests": 12}, "codeforces", STDIN),
    ("CodeContests", {"public_tests": {"input": ["1 2"], "output": ["3"]},
                      "private_tests": {"input": [], "output": []},
                      "generated_tests": {"input": ["1 2"], "output": ["3"]}}, "codecontests", STDIN * 2),
    ("verl", {"tests": json.dumps({"inputs": ["1 2"], "outputs": ["3"]})}, "prime", STDIN),
    ("verl, a function", {"tests": {"fn_name": "shift", "inputs": ["[1, 2]\n3"], "outputs": ["[4, 5]"]}},
     "prime", CALL),
    ("open-r1", {"verification_info": {"language": "python", "test_cases": [
        {"input": "1 2", "output": "3", "type": "stdin_stdout", "fn_name": None}]}}, "list", STDIN),
    ("NeMo Gym", {"unit_tests": {"inputs": ["1 2"], "outputs": ["3"]}}, "prime", STDIN),
    ("a list", {"tests": [{"input": "1 2", "output": "3"}]}, "list", STDIN),
    ("a list of stdin and expected", {"tests": [{"stdin": "1 2", "expected": "3"}]}, "list", STDIN),
    ("an empty output", {"tests": [{"input": "", "output": ""}]}, "list", (StdinTest("", ""),)),
    ("numbers as input and output", {"tests": [{"input": 4, "output": 2.5}]}, "list", (StdinTest("4", "2.5"),)),
    ("a list of calls", {"tests": [{"function": "shift", "args": [[1, 2], 3], "expected": [4, 5]}]}, "list", CALL),
    ("a call with names", {"tests": [{"function": "f", "args": [], "kwargs": {"a": 1}, "expected": None}]}, "list",
     (CallTest("f", [], {"a": 1}, None),)),
    ("calls of a named function", {"tests": [{"input": [[1, 2], 3], "output": [4, 5]}], "fn_name": "shift"}, "list",
     CALL),
    ("test code in a list", {"tests": [{"code": "assert f(1)", "entry_point": "f"}]}, "list",
     (AssertTest("assert f(1)", "f"),)),
    ("a sandbox's own tests", {"tests": [StdinTest("1 2", "3")]}, "list", STDIN),
    ("assertions", {"tests": ["assert area(0) == 0"]}, "mbpp",
     (AssertTest("assert area(0) == 0", "area", "import math"),)),
    ("one object", {"tests": {"input": "1 2", "output": "3"}}, "list", STDIN),
]  # fmt: skip


@pytest.mark.parametrize(("row", "form", "tests"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
def test_a_form_is_read(row: dict[str, Any], form: str, tests: tuple[Any, ...]) -> None:
    suite = suite_of(row, STUB)
    assert suite is not None
    assert (suite.form, suite.tests) == (form, tests)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tests": []}, "there are no tests"),
    ({"tests": "print(1)"}, "must be a list of tests, JSON, or Python with assertions"),
    ({"tests": "[1, 2"}, "tests is not JSON"),
    ({"tests": [{"input": "1"}]}, "tests[0] has none of output, expected"),
    ({"tests": [{"output": "1"}]}, "tests[0] has none of input, stdin"),
    ({"tests": [{"input": "1", "output": "2"}, 5]}, "tests[1] must be an object, not 5"),
    ({"tests": [{"input": "1", "output": {"a": 1}}]}, "tests[0]: the output must be text, not a dict"),
    ({"tests": {"questions": 1}}, "no known form (its keys: questions)"),
    ({"tests": ["assert f(1)", "f(2)"]}, "assertion 2 asserts nothing"),
    ({"tests": ["assert f("]}, "assertion 1 is not Python"),
    ({"tests": [{"input": "1", "output": "2", "weight": 1}, {"input": "1", "output": "2"}]},
     "gives a weight to 1 of 2 tests"),
    ({"test": "x = 1", "entry_point": "f"}, "test holds no assertion"),
    ({"test": "def check(candidate):\n    candidate(1)\n", "entry_point": "f"}, "test holds no assertion"),
    ({"test_list": ["assert f(1)", "assert (f(1) == 2, 'why')"]}, "assertion 2 asserts a tuple in line 1"),
    ({"test": "def check(f):\n    assert (f(1) == 2, 'why')\n", "entry_point": "f"}, "a tuple in line 2"),
    ({"test": 5, "entry_point": "f"}, "test must be text, not 5"),
    ({"test": CHECK, "entry_point": 5}, "entry_point must be text, not 5"),
    ({"test_list": "assert f(1)"}, "test_list must be a list"),
    ({"test_list": [5]}, "test_list must hold assertions in text, not 5"),
    ({"test_list": ["assert f(1)"], "test_setup_code": "import ("}, "test_setup_code is not Python"),
    ({"input_output": "{"}, "input_output is not JSON"),
    ({"input_output": "[1]"}, "input_output must be an object"),
    ({"input_output": '{"inputs": ["1"]}'}, "input_output has no outputs; its keys: inputs"),
    ({"input_output": {"inputs": ["1"], "outputs": []}}, "input_output has 1 inputs and 0 outputs"),
    ({"inputs": ["1"], "outputs": ["1"], "fn_name": 5}, "the function's name must be text"),
    ({"inputs": ["{"], "outputs": ["1"], "fn_name": "f"}, "tests[0]: an argument is not JSON"),
    ({"inputs": ["1"], "outputs": ["x"], "fn_name": "f"}, "tests[0]: the output is not JSON"),
    ({"inputs": [5], "outputs": ["1"], "fn_name": "f"}, "tests[0]: the arguments must be a list"),
    ({"public_test_cases": "[}"}, "public_test_cases is not JSON"),
    ({"public_test_cases": '[{"input": "1"}]'}, "public_test_cases[0] must have input and output"),
    ({"public_test_cases": json.dumps(CALLS)}, "is functional, and metadata has no func_name"),
    ({"public_test_cases": [{"input": "", "output": "", "testtype": "x"}]}, 'the testtype "x"'),
    ({"private_test_cases": "§§"}, "neither JSON nor base64"),
    ({"official_tests": [{"input": "1", "output": "1"}], "input_mode": "file"}, 'input_mode is "file"'),
    ({"official_tests": [{"input": "1", "output": "1"}], "interaction_format": "Ask."}, "interactive"),
    ({"official_tests": [{"input": "1"}]}, "official_tests[0] must have input and output"),
    ({"official_tests": [{"input": "1", "output": "1"}], "time_limit": "fast"}, "time_limit must be a number"),
    ({"official_tests": [{"input": "1", "output": "1"}], "memory_limit": -1}, "memory_limit must be a number"),
    ({"public_tests": {"input": ["1"]}}, "public_tests must have input and output"),
    ({"verification_info": {"language": "python"}}, "verification_info has no test_cases"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "says"), WRONG)
def test_what_is_malformed_is_named(row: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        suite_of(row)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "test",
    [
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(f(1), 2)\n",
        "import numpy as np\ndef check(candidate):\n    np.testing.assert_allclose(candidate(1), 2)\n",
        "if f(1) != 2:\n    raise ValueError('wrong')\n",
    ],
)
def test_there_are_other_assertions_than_assert(test: str) -> None:
    suite = suite_of({"test": test, "entry_point": "f"})
    assert suite is not None
    assert suite.tests[0].code == test  # type: ignore[union-attr]


def test_an_empty_entry_point_is_none() -> None:
    suite = suite_of({"test_list": ["assert f(1) == 2"], "entry_point": ""})
    assert suite is not None
    assert suite.entry_point == "f"


def test_a_row_without_tests_has_no_suite() -> None:
    assert suite_of({"question": "2 + 2?", "tests": None}) is None


class Loaded:
    """What would run code where a pickle of it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("loaded",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (packed(Loaded()), "it is not loaded"),
        (packed(["[]"]), "it is not loaded"),
        (packed(5), "it is not loaded"),
        (base64.b64encode(zlib.compress(b"no pickle")).decode(), "not a pickle"),
        (base64.b64encode(zlib.compress(pickle.dumps("[]"))[:-4]).decode(), "cut off"),
        (base64.b64encode(b"not compressed").decode(), "neither JSON nor base64"),
    ],
)
def test_a_pickle_is_read_and_never_loaded(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=says):
        decompressed(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_a_text_is_read(protocol: int) -> None:
    for text in ("[]", "ä€\U0001f600\n'\"\\", "x" * 70_000):
        data = pickle.dumps(text, protocol)
        assert decompressed(base64.b64encode(zlib.compress(data)).decode()) == text


def suite(row: dict[str, Any]) -> SampleTests:
    found = suite_of(row)
    assert found is not None
    return found


def test_outputs_that_may_be_wrapped_have_two_readings() -> None:
    wrapped = suite({"input_output": {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[3], [4]]}})
    assert [test.expected for test in wrapped.tests if isinstance(test, CallTest)] == [[3], [4]]
    assert [test.expected for test in wrapped.other if isinstance(test, CallTest)] == [3, 4]
    plain = suite({"input_output": {"fn_name": "f", "inputs": [[1], [2]], "outputs": [[3], [4, 5]]}})
    assert plain.other == ()


CODEFORCES: dict[str, Any] = {"official_tests": [{"input": "1", "output": "1"}]}


@pytest.mark.parametrize(
    ("row", "time_limit", "memory"),
    [
        ({"time_limit": 2.0, "memory_limit": 256.0}, 2.0, 256),
        ({"time_limit": "2.5 seconds", "memory_limit": "256.0 megabytes"}, 2.5, 256),
        ({"time_limit": {"seconds": 1, "nanos": 500_000_000}, "memory_limit_bytes": 64 << 20}, 1.5, 64),
        ({"time_limit": "500 ms", "memory_limit": "1 gigabyte"}, 0.5, 1024),
        ({"time_limit": None, "memory_limit": None}, None, None),
        ({}, None, None),
    ],
)
def test_limits_of_a_problem(row: dict[str, Any], time_limit: float | None, memory: int | None) -> None:
    found = suite(CODEFORCES | row)
    assert (found.time_limit_s, found.memory_mb) == (time_limit, memory)


@pytest.mark.parametrize(
    ("tests", "entry_point"),
    [
        (["assert f(1) == 2", "assert set(f(2)) == {1}"], "f"),
        (["assert f(g(1)) == 2", "assert f(2)"], "f"),
        (["assert f(g(1)) == 2"], None),
        (["import math\nassert math.isclose(f(1), 2)"], "f"),
        (["def near(a, b): return a == b\nassert near(f(1), 2)"], "f"),
    ],
)
def test_the_function_under_test_is_the_one_that_all_assertions_call(
    tests: list[str], entry_point: str | None
) -> None:
    assert suite_in(tests, {}).entry_point == entry_point


def test_of_several_functions_it_is_the_one_in_the_prompt() -> None:
    assert suite_in(["assert f(g(1)) == 2"], {}, "def f(x):\n    '''It.'''\n").entry_point == "f"


def test_arrays_and_scalars_of_numpy_are_values() -> None:
    numpy = pytest.importorskip("numpy")
    tests = numpy.array([{"input": numpy.str_("1 2"), "output": numpy.str_("3")}], dtype=object)
    assert suite_in(tests, {}).tests == STDIN
    apps = {"input_output": numpy.str_(json.dumps({"inputs": ["1 2"], "outputs": ["3"]}))}
    assert suite(apps).tests == STDIN


def test_the_sample_of_apps(data_dir: Path) -> None:
    lines = (
        (data_dir / "function_calling" / "apps_sample_dataset.jsonl").read_text(encoding="utf-8").split("\n")
    )
    suites = [suite(json.loads(line)) for line in lines if line]
    assert [(s.form, len(s.tests), type(s.tests[0])) for s in suites] == [("apps", 1, StdinTest)] * 3
