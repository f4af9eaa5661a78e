"""Tests of a program: which jobs they become, and what the reports mean.

What is expected stays here, or in the tester's process; a job of kind ``program`` or ``calls`` never holds it.
What such a job reports was written by the program: it is a claim of values, compared here, and never a verdict.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from guerdon.errors import InputError
from guerdon.sandbox.execution import NO_VERDICT, Executor, Report, SandboxJob, Tier
from guerdon.sandbox.grading import call_tests, pair_tests
from guerdon.sandbox.grading.assert_tests import AssertPlan, plan_assert_test
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest, Test, TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.grading.verdicts import ProgramUnderTest, failed, result
from guerdon.sandbox.inside import encoding
from guerdon.sandbox.limits import Limits

BESIDE_S = 180.0
"""Seconds by the clock, beside ``total_wall_s``, for all that is not the program: checkers, waiting for a worker."""
CHECKING_S = 90.0
"""Seconds of those that checkers may take. Who prints what is slow to check is wrong then, and no failure."""
_NO_TIME = "no time was left for it"
_BATCH = 200
"""Tests that share a process at most."""
_SYNTAX_ERRORS = re.compile(rb"(SyntaxError|IndentationError|TabError): ")
_LINE = re.compile(rb'File "[^"\n]*", line (\d{1,7})')


def run_tests(
    executor: Executor,
    program: str,
    tests: Sequence[Test],
    *,
    compare: Comparison | str = "lines",
    stop_on_failure: bool = False,
    files: Mapping[str, str | bytes] | None = None,
    limits: Limits | None = None,
    tuples_as_lists: bool = False,
    prelude: bool = False,
    total_wall_s: float | None = None,
) -> list[TestResult]:
    """Runs the tests, and gives a result for each in their order; up to the first failure if so asked.

    Tests that are calls share a process until one of them ends it. ``compare`` is for what is printed; "floats"
    allows its tolerance for returned floats, too. ``tuples_as_lists`` lets a tuple equal a list, for data sets
    whose JSON made lists of tuples. ``prelude`` gives the program the names that online judges provide, such
    as ``List``. With ``total_wall_s`` the runs of the program may take so many seconds by the clock together; the
    tests that are left then are failed, with the status ``timeout``; checkers, and waiting for a worker that is busy,
    may take ``BESIDE_S`` more. A worker that was lost is tried once more;
    then, and where no worker is to be had, the result's status is in NO_VERDICT and says nothing of the program.

    Raises InputError for a test that is malformed: code that does not compile, an argument or an expected value
    that is not plain data.
    """
    if total_wall_s is not None and not total_wall_s > 0:
        raise InputError(f"total_wall_s must be a number above 0, not {total_wall_s!r}")
    under_test = ProgramUnderTest(
        executor=_BudgetedExecutor(executor, total_wall_s),
        source=program.encode("utf-8", "surrogatepass"),
        files={name: _bytes(content) for name, content in (files or {}).items()},
        limits=limits or Limits(),
        compare=Comparison.of(compare),
        tuples_as_lists=tuples_as_lists,
        prelude=prelude,
    )
    results: list[TestResult] = []
    for found in _results(under_test, tests, stop_on_failure):
        results.append(found)
        if stop_on_failure and not found.passed:
            break
    return results


class _BudgetedExecutor:
    """An executor that tries once more where a worker was lost, and runs a program for so many seconds in all."""

    def __init__(self, executor: Executor, total_wall_s: float | None) -> None:
        self.executor = executor
        self.left = total_wall_s
        self.beside = BESIDE_S
        """Seconds for checkers, and for waiting: neither is the program's time."""
        self.checking = CHECKING_S
        self._judged = time.thread_time()
        self.tier: Tier = "none"

    def execute(self, job: SandboxJob) -> Report:
        if self.left is None:
            return self._tried(job)
        # Reading and comparing answers takes what the program makes it take.
        before, self._judged = self._judged, time.thread_time()
        self.left -= self._judged - before
        left = min(self.beside, self.checking) if job.reveals else self.left
        if self.checking <= 0 or (self.left <= 0 and not job.reveals):
            return Report(status="timeout", detail=_NO_TIME, tier=self.tier)
        if left <= 0:
            return Report(
                status="unavailable", detail="a checker waited too long for a worker", tier=self.tier
            )
        begun = time.monotonic()
        report = self._tried(replace(job, total_wall_s=left, queue_s=max(self.beside, 0.0)))
        took = time.monotonic() - begun
        if not job.reveals:
            # What it ran, not what it waited: other users of the sandbox must not use up its time.
            self.left -= report.wall_s
            took -= report.wall_s
        else:
            self.checking -= report.wall_s
        self.beside -= max(took, 0.0)
        self.tier = report.tier
        ended = report.status == "timeout" and self.checking <= 0
        return replace(report, detail=_NO_TIME) if ended else report

    def _tried(self, job: SandboxJob) -> Report:
        report = self.executor.execute(job)
        left = job.longest_s - report.wall_s
        if report.status != "worker_lost" or left <= 0:
            return report
        # Both together take no longer than one may.
        return self.executor.execute(replace(job, total_wall_s=left) if report.wall_s else job)


def _results(
    under_test: ProgramUnderTest, tests: Sequence[Test], stop_on_failure: bool
) -> Iterator[TestResult]:
    broken: TestResult | None = None
    for batch in _batches(tests):
        first = batch[0]
        if broken is not None:
            yield from (broken for _ in batch)
        elif isinstance(first, StdinTest):
            found, broken = _printed(under_test, first)
            yield found
        elif isinstance(first, call_tests.CallPlan):
            plans = [test for test in batch if isinstance(test, call_tests.CallPlan)]
            for found, no_python in call_tests.run(under_test, plans, stop_on_failure):
                broken = found if no_python else None
                yield found
        elif isinstance(first, AssertPlan):
            yield pair_tests.run(under_test, first)


def _batches(tests: Sequence[Test]) -> Iterator[list[StdinTest | call_tests.CallPlan | AssertPlan]]:
    """Tests in their order; calls that follow each other together."""
    calls: list[StdinTest | call_tests.CallPlan | AssertPlan] = []
    for number, test in enumerate(tests, 1):
        step = _step(test, number)
        if isinstance(step, call_tests.CallPlan) and len(calls) < _BATCH:
            calls.append(step)
            continue
        if calls:
            yield calls
        calls = []
        if isinstance(step, call_tests.CallPlan):
            calls.append(step)
        else:
            yield [step]
    if calls:
        yield calls


def _step(test: Test, number: int) -> StdinTest | call_tests.CallPlan | AssertPlan:
    try:
        match test:
            case StdinTest():
                return test
            case CallTest():
                return call_tests.plan_call(test)
            case AssertTest():
                plan = plan_assert_test(test)
                return call_tests.plan_assertions(plan.assertions) if plan.mode == "calls" else plan
    except (InputError, encoding.EncodingError) as error:
        raise InputError(f"test {number}: {error}") from None
    raise InputError(
        f"test {number} must be a StdinTest, CallTest or AssertTest, not a {type(test).__name__}"
    )


def _printed(under_test: ProgramUnderTest, test: StdinTest) -> tuple[TestResult, TestResult | None]:
    """The result of a test by what is printed, and the result of all others where the program is not Python."""
    job = SandboxJob(
        kind="program",
        program=under_test.source,
        stdin=test.stdin.encode("utf-8", "surrogatepass"),
        files=under_test.files,
        limits=under_test.limits,
    )
    report = under_test.executor.execute(job)
    revealing = _revealing(test, report)
    if report.status != "ok":
        found = failed(report, _ended(report), revealing)
        return found, found if _no_python(report) else None
    judged = under_test.compare.judge(
        under_test.executor, test.stdin, test.expected, report.stdout, under_test.limits
    )
    if isinstance(judged, Report) and judged.status not in NO_VERDICT:
        judged = _without_verdict(under_test, test, judged)
    if isinstance(judged, Report) and judged.detail == _NO_TIME:
        return failed(judged, "no time was left to check its output", revealing), None
    if isinstance(judged, Report):
        status = judged.status if judged.status in NO_VERDICT else "unavailable"
        why = f"the checker gave no verdict: {_ended(judged)}"
        return replace(failed(report, why, revealing), status=status), None
    if not judged:
        return result(report, False, "wrong output", revealing), None
    return result(report, True), None


def _without_verdict(under_test: ProgramUnderTest, test: StdinTest, judged: Report) -> bool | Report:
    """What it means that a checker gave no verdict on a program's output.

    A program may print what a checker stumbles over, such as a count of 10**12: if that were not a verdict, it
    would be the way out of a bad one. So the output is wrong where the checker can tell that the jury's is right.
    """
    answer = test.expected.encode("utf-8", "surrogatepass")
    on_answer = under_test.compare.judge(
        under_test.executor, test.stdin, test.expected, answer, under_test.limits
    )
    if on_answer is True:
        return False
    if isinstance(on_answer, Report) and (on_answer.status in NO_VERDICT or on_answer.detail == _NO_TIME):
        return on_answer
    return judged


def _revealing(test: StdinTest, report: Report) -> str:
    def shown(text: str | bytes) -> str:
        return repr(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)[:2000]

    shown_parts = (
        f"input {shown(test.stdin)}, expected {shown(test.expected)}, printed {shown(report.stdout)}"
    )
    return f"{shown_parts}, standard error {shown(report.stderr[-2000:])}" if report.stderr else shown_parts


def _ended(report: Report) -> str:
    """How a program ended, without a word of its own."""
    if _no_python(report):
        name = _SYNTAX_ERRORS.search(_last_line(report.stderr))
        lines = _LINE.findall(report.stderr)
        where = f" in line {int(lines[-1])}" if lines else ""
        return f"{name[1].decode() if name else 'SyntaxError'}{where}"
    if report.status == "ok":
        return "it ended without one"
    if report.status == "error":
        return f"exit code {report.exit_code}"
    return report.detail or report.status


def _no_python(report: Report) -> bool:
    """Whether the program did not compile: the interpreter's words, and no call on the way to them."""
    if report.status != "error" or not _SYNTAX_ERRORS.search(_last_line(report.stderr)):
        return False
    return b"Traceback (most recent call last)" not in report.stderr


def _last_line(text: bytes) -> bytes:
    return text.rstrip().rpartition(b"\n")[2]


def _bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
