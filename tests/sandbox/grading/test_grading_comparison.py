"""Output compared with what was expected."""

from __future__ import annotations

import pytest

from guerdon.errors import InputError
from guerdon.sandbox.grading.cases import StdinTest
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.grading.judging import run_tests
from support.job_executors import Recording

WORDS = ("exact", "lines", "tokens", "floats")


@pytest.mark.parametrize(
    ("expected", "output", "accepting"),
    [
        ("1\n2\n", b"1\n2\n", WORDS),
        ("1\n2\n", b"1\n2", ("lines", "tokens", "floats")),
        ("1\n2", b"1\n2\n\n\n", ("lines", "tokens", "floats")),
        ("1\n2", b"1  \n2\r\n", ("lines", "tokens", "floats")),
        ("1\r\n2\r\n", b"1\n2\n", ("lines", "tokens", "floats")),
        ("1 2", b"1\n2", ("tokens", "floats")),
        ("1\n2", b" 1\n2", ("tokens", "floats")),
        ("1\n2", b"\n1\n2", ("tokens", "floats")),
        ("1\n\n2", b"1\n2", ("tokens", "floats")),
        ("1\n2", b"1\n", ()),
        ("1\n2", b"", ()),
        ("1\n2", b"1\n2\n3", ()),
        ("1", b"1.0", ("floats",)),
        ("1", b"01", ("floats",)),
        ("0.5", b"0.5000001", ("floats",)),
        ("0.5", b"0.50001", ()),
        ("1000000007", b"1000000008", ()),
        ("1e3", b"1000", ("floats",)),
        ("-0", b"0", ("floats",)),
        ("nan", b"nan", WORDS),
        ("nan", b"1", ()),
        ("1", b"nan", ()),
        ("1", b"inf", ()),
        ("1e999", b"1e998", ()),
        ("Yes", b"YES", ()),
        ("", b"", WORDS),
        ("", b"\n", ("lines", "tokens", "floats")),
        ("", b"x", ()),
        ("1", b"1\x00", ()),
        ("1", b"\x001", ()),
        ("1", b"1\x1f", ()),
        ("1", b"1\xc2\xa0", ()),
        ("\ufffd", b"\xff", ()),
        ("1" * 1000, b"1" * 999 + b"2", ()),
        ("1_000", b"1000", ()),
        ("0x10", b"16", ()),
    ],
)
def test_output_is_accepted_by_these_words_and_no_others(
    expected: str, output: bytes, accepting: tuple[str, ...]
) -> None:
    assert tuple(word for word in WORDS if Comparison.of(word).accepts(expected, output)) == accepting


def test_a_tolerance_of_ones_own() -> None:
    loose = Comparison(word="floats", absolute=0.0, relative=0.1)
    assert loose.accepts("100.0", b"109.9")
    assert not loose.accepts("0.0", b"0.001")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Comparison.of("fuzzy"), "unknown comparison 'fuzzy'"),
        (lambda: Comparison.of("checker"), "Comparison.by"),
        (lambda: Comparison(word="floats", absolute=-1), "absolute must be"),
        (lambda: Comparison(word="floats", relative=float("nan")), "relative must be"),
        (lambda: Comparison.by("", arguments=("jury",)), "unknown argument 'jury'"),
    ],
)
def test_a_malformed_comparison_is_refused(make: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        make()  # type: ignore[operator]


# A sum of two numbers that is the wanted one, in any split.
CHECKER = """
import sys
given, output, answer = sys.argv[1:]
parts = list(map(int, open(output).read().split()))
if parts == [13]:
    sys.exit(7)
sys.exit(0 if len(parts) == 2 and sum(parts) == int(open(given).read()) else 1)
"""


@pytest.mark.parametrize(
    ("program", "passed", "status"),
    [
        ("n = int(input()); print(1, n - 1)", True, "ok"),
        ("n = int(input()); print(n)", False, "ok"),
        ("print('no number')", False, "ok"),
        ("print(13)", False, "ok"),  # the checker stumbles, but knows the jury's answer
        ("raise SystemExit(3)", False, "error"),
    ],
)
def test_a_data_sets_own_checker_decides(
    executor: Recording, program: str, passed: bool, status: str
) -> None:
    (result,) = run_tests(executor, program, [StdinTest("5\n", "2 3\n")], compare=Comparison.by(CHECKER))
    assert (result.passed, result.status) == (passed, status)


@pytest.mark.parametrize("answer", ["13", "4"])
def test_a_checker_that_cannot_tell_the_jurys_answer_gives_no_verdict(
    executor: Recording, answer: str
) -> None:
    compare = Comparison.by(CHECKER)
    (result,) = run_tests(executor, "print(13)", [StdinTest("5\n", answer)], compare=compare)
    assert (result.passed, result.status) == (False, "unavailable")


def test_a_checker_may_print_its_verdict_and_get_files_in_another_order(executor: Recording) -> None:
    checker = "import sys; i, a, o = sys.argv[1:]; print(int(open(a).read() == open(o).read()))"
    compare = Comparison.by(checker, arguments=("input", "answer", "output"), verdict="stdout")
    tests = [StdinTest("5\n", "5\n"), StdinTest("5\n", "6\n")]
    results = run_tests(executor, "print(input())", tests, compare=compare)
    assert [(result.passed, result.status) for result in results] == [(True, "ok"), (False, "ok")]
    talkative = Comparison.by("print('perhaps')", verdict="stdout")
    (result,) = run_tests(executor, "print(input())", tests[:1], compare=talkative)
    assert (result.passed, result.status) == (False, "unavailable")


def test_output_that_stops_a_sound_checker_is_wrong(executor: Recording) -> None:
    checker = (
        "import os, signal\nif open('output.txt').read() != '1\\n': os.kill(os.getpid(), signal.SIGKILL)"
    )
    for expected, status, passed in (("1\n", "ok", [True, False]), ("2\n", "unavailable", [True, False])):
        tests = [StdinTest("1", expected), StdinTest("2", expected)]
        results = run_tests(executor, "print(input())", tests, compare=Comparison.by(checker))
        assert [result.passed for result in results] == passed
        assert results[1].status == status
