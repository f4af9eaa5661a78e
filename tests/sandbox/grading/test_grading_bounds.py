"""What the trusted side does with hostile answers, programs and tests is bounded before it starts."""

from __future__ import annotations

import ast
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.rewards.code.python import MAX_TOKENS, Broken, parsed
from guerdon.sandbox.grading.assert_tests import plan_assert_test
from guerdon.sandbox.grading.assertions import read_assertions
from guerdon.sandbox.grading.cases import AssertTest
from guerdon.sandbox.grading.judging import run_tests
from guerdon.sandbox.grading.operations import NotPlainError
from guerdon.sandbox.grading.verdicts import as_text, shortened
from guerdon.sandbox.inside import decoding, encoding
from support.job_executors import Recording

MIB = 1 << 20


@contextmanager
def memory_below(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


LONG_RANGES = (
    "all(f(1))", "any(f(1)) == 2", "list(f(1)) == []", "tuple(f(1)) == ()", "sorted(f(1)) == []",
    "set(f(1)) == {1}", "frozenset(f(1)) == {1}", "max(f(1)) == 1", "min(f(1), key=None) == 1", "1.5 in f(1)",
    "'a' not in f(1)",
)  # fmt: skip


@pytest.mark.parametrize("expression", LONG_RANGES)
def test_a_long_range_is_never_walked_through(executor: Recording, expression: str) -> None:
    program = "def f(x): return range(1, 10**15)"
    with memory_below(20 * MIB):
        (result,) = run_tests(executor, program, [AssertTest(f"assert {expression}", entry_point="f")])
    assert not result.passed
    assert result.status == "ok"


@pytest.mark.parametrize(
    "expression", ["len(f(1)) == 10**15 - 1", "5 in f(1)", "f(1)[7] == 8", "f(1) == range(1, 10**15)", "bool(f(1))"]
)  # fmt: skip
def test_what_needs_no_walk_works_with_a_long_range(executor: Recording, expression: str) -> None:
    program = "def f(x): return range(1, 10**15)"
    test = AssertTest(f"assert {expression}", entry_point="f", live_objects=False)
    (result,) = run_tests(executor, program, [test])
    assert result.passed, result.revealing


def test_short_ranges_are_walked_through(executor: Recording) -> None:
    code = "assert list(f(1)) == [1, 2] and sorted(f(1))[0] == 1 and 1.0 in f(1) and max(f(1)) == 2"
    (result,) = run_tests(executor, "def f(x): return range(1, 3)", [AssertTest(code, entry_point="f")])
    assert result.passed


@pytest.mark.parametrize("text", ["1E+1000000", "-1E+999999999999999999", "1E-1000000", "9" * 5000])
def test_decimals_with_endless_digits_are_no_answer(executor: Recording, text: str) -> None:
    program = f"from decimal import Decimal\ndef f(x): return Decimal({text!r})"
    code = "assert round(f(1)) == 1"
    (result,) = run_tests(executor, program, [AssertTest(code, entry_point="f")])
    assert not result.passed
    with pytest.raises(decoding.DecodingError):
        decoding.loads(json.dumps({"decimal": text}).encode())
    with pytest.raises(encoding.EncodingError):
        encoding.dumps(Decimal(text))


def test_decimals_of_ordinary_size_travel() -> None:
    values = [Decimal("1E+10000"), Decimal("-0.1"), Decimal("Infinity"), Decimal("1e-10000"), Fraction(1, 3)]
    assert decoding.loads(encoding.dumps(values)) == values


def test_large_integers_beside_exact_numbers_are_refused() -> None:
    """Each comparison of the two converts the integer: ``min`` of them would take hours."""
    exact = [Decimal(1)] * 20_000
    with pytest.raises(decoding.DecodingError, match="beside"):
        decoding.loads(encoding.dumps([-(16**900_000), *exact]))
    with pytest.raises(decoding.DecodingError, match="decimals"):
        decoding.loads(encoding.dumps([Fraction(1, 3)] * 60_000))
    assert len(decoding.loads(encoding.dumps(exact))) == 20_000
    assert decoding.loads(encoding.dumps(16**900_000)) == 16**900_000


def test_the_lines_of_one_program_share_what_reading_may_cost() -> None:
    line = encoding.dumps([Decimal(1)] * 30_000)
    decoding.loads(line)
    with pytest.raises(decoding.DecodingError):
        decoding.loads(line, first=False)
    decoding.loads(line)


@pytest.mark.parametrize(
    "text", [b'{"deque":[]}', b'{"set":[]}', b"[]", b'{"keys":[]}', b'{"dict":[]}', b'"ab"']
)
def test_values_take_little_more_memory_than_their_text(text: bytes) -> None:
    many = b"[" + b",".join([text] * (2 * MIB // (len(text) + 1))) + b"]"
    tracemalloc.start()
    try:
        decoding.loads(many)
    except decoding.DecodingError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 40 * len(many)


@pytest.mark.parametrize(
    "value",
    [
        list(range(10**6)),
        {"a": ["b" * 10**6] * 3},
        [[[[0] * 10] * 10] * 1000] * 100,
        "é" * 10**6,
        {1: {2: 3}},
    ],
    ids=range(5),
)
def test_of_a_long_value_only_the_beginning_is_written(value: Any) -> None:
    with memory_below(MIB):
        text = shortened(value)
        assert as_text(value)[:50] == (value if isinstance(value, str) else text)[:50]
    assert len(text) < 40_000
    assert text[:100] == repr(value)[:100]


# Programs and tests that are read.

HOSTILE_SOURCES: dict[str, str] = {
    "dotted import": "import a" + ".a" * 50_000,
    "dotted import with spaces": "import a" + " . a" * 30_000,
    "dotted import over lines": "import a" + ".\\\na" * 30_000,
    "dotted import with form feeds": "import a" + ".\fa" * 30_000,
    "dotted from": "from a" + ".a" * 50_000 + " import b",
    "dotted from that does not end": "from " + "a." * 50_000,
    "many lines": "a\n" * 199_000,
    "many items": "x = [" + "1," * 190_000 + "]",
    "many signs": "-" * 390_000,
    "many calls": "a()\n" * 90_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_SOURCES)
def test_programs_that_would_fill_memory_are_not_parsed(name: str) -> None:
    with memory_below(60 * MIB):
        assert isinstance(parsed(HOSTILE_SOURCES[name]), Broken)


@pytest.mark.parametrize("name", [name for name in HOSTILE_SOURCES if name.startswith("dotted")])
def test_tests_with_endless_names_are_refused(name: str) -> None:
    with memory_below(60 * MIB), pytest.raises(InputError, match="import of more than"):
        plan_assert_test(AssertTest(HOSTILE_SOURCES[name]))


def test_large_programs_of_ordinary_kind_are_parsed() -> None:
    table = "table = [" + "123456, " * (MAX_TOKENS // 2 - 1000) + "]\n"
    assert isinstance(parsed(table + "import os.path\nprint(table[0])"), ast.Module)
    assert isinstance(parsed("x = '''" + "word " * 30_000 + "'''"), ast.Module)
    chained = "x" + ".strip()" * 150 + "\nimport a.b.c; from a.b import c; y = 1.5\n"
    assert isinstance(parsed(chained * 4), ast.Module)


GROWING: dict[str, Callable[[], str]] = {
    "doubling lists": lambda: "x = [1]\n" + "x = x + x\n" * 60,
    "nesting lists": lambda: "x = [1]\n" + "x = [x, x]\n" * 60,
    "nesting tuples as keys": lambda: "x = (1,)\n" + "x = (x, x)\n" * 60 + "y = {x: 1}\n",
    "comparing nested lists": lambda: "x = [1]\ny = [1]\n" + "x = [x, x]\ny = [y, y]\n" * 40 + "assert x == y\n",
    "squares": lambda: "x = 10**18\n" + "x = x * x\n" * 60,
    "repetition": lambda: "x = 'a'\n" + "x = x * 1000\n" * 20,
    "repetition of nested lists": lambda: "x = [1]\n" + "x = [x] * 1000\n" * 20,
    "text of nested lists": lambda: "x = [1]\n" + "x = [x, x]\n" * 60 + "y = str(x)\n",
    "nested loops": lambda: "".join(f"{' ' * n}for a{n} in range(1000):\n" for n in range(8)) + " " * 8 + "pass\n",
    "functions that call twice": lambda: "".join(
        f"def f{n}():\n f{n - 1}()\n f{n - 1}()\n" if n else "def f0():\n pass\n" for n in range(21)
    ) + "f20()\n",
    "nested answers": lambda: "x = f(1)\n" + "x = [x, x]\n" * 60 + "assert x == 1\n",
    "added answers": lambda: "x = f(1)\n" + "x = x + 1 if False else x\n" + "x = max(x, x)\n" * 60 + "assert x == 1\n",
    "loops over texts": lambda: "for a in range(1000):\n  assert f(1) == [" + "0," * 9000 + "]\n",
}  # fmt: skip


@pytest.mark.parametrize("name", GROWING)
def test_what_reading_a_test_makes_is_bounded(name: str) -> None:
    source = GROWING[name]() + "assert f(1) == 1\n"
    with memory_below(200 * MIB), pytest.raises(NotPlainError):
        read_assertions(ast.parse(source), ["f"], [])


@pytest.mark.slow(seconds=9)
def test_answers_that_take_long_to_compare_are_no_pass(executor: Recording) -> None:
    program = "def f(x): return [1] * 900_000"
    code = "x = f(1)\n" + "\n".join("assert len(sorted(x)) and len(list(x)) and min(x)" for _ in range(900))
    (result,) = run_tests(executor, program, [AssertTest(code, entry_point="f")])
    assert (result.passed, result.detail) == (False, "the answers take too long to compare")


def test_equal_items_are_no_collisions(executor: Recording) -> None:
    code = "assert set(f(1)) == {1} and len(frozenset(f(2))) == 1 and set(f('a')) == {'a'}"
    (result,) = run_tests(executor, "def f(x): return [x] * 20_000", [AssertTest(code, entry_point="f")])
    assert result.passed, result.revealing
