"""Tests by calls: many in one process, whose answers are compared here."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.sandbox.execution import NO_VERDICT, Report, SandboxJob, Status
from guerdon.sandbox.grading.assertions import Assertions
from guerdon.sandbox.grading.cases import CallTest, TestResult
from guerdon.sandbox.grading.comparison import near
from guerdon.sandbox.grading.verdicts import (
    SYNTAX_ERRORS,
    ProgramUnderTest,
    exception_message,
    failed,
    result,
    shortened,
)
from guerdon.sandbox.inside import decoding, encoding

_Replies = Mapping[int, list[Any]]
"""What the program replies to the calls of one test, by their number: a word and what belongs to it."""
_SHARED_LIMITS = frozenset({"output_limit", "memory_limit"})
_CLAIM = re.compile(rb"\[(\d{1,9}),")
_UNREADABLE = ["unreadable"]
_MORE_LINES = 100
"""Lines that are read beyond one for each call."""
_COMPARING_S = 5.0
"""Seconds of processor time in which the answers to a test are compared; honest ones take milliseconds."""
_MANY_ANSWERS = 8 << 20
"""Bytes; a report holds 16 MiB of answers at most, and the last may be cut off."""


@dataclass(frozen=True, slots=True)
class CallPlan:
    """A test as what is asked, and how it is returned from the answers; Failure raised says why not."""

    question: bytes
    calls: int
    judge: Callable[[ProgramUnderTest, _Replies], None]


class FailureError(Exception):
    """The answers are not what they should be: what everybody may know, and what the owner may."""

    def __init__(self, detail: str, revealing: str, *, raised: bool = False) -> None:
        super().__init__(detail)
        self.detail = detail
        self.revealing = revealing
        self.raised = raised


def plan_call(test: CallTest) -> CallPlan:
    """Raises EncodingError for an argument or expected value that is not plain data."""
    arguments = list(test.arguments)
    expected = encoding.plain(test.expected)

    def asked() -> str:
        return f"{test.function}{_shown(arguments, test.keyword_arguments)}"

    def judge(under_test: ProgramUnderTest, replies: _Replies) -> None:
        got = _value(replies, 0, test.function, asked)
        tolerance = under_test.compare.tolerance
        if not same(expected, got, tuples_as_lists=under_test.tuples_as_lists, tolerance=tolerance):
            raise FailureError("wrong answer", f"{asked()} returned {_text(got)}, expected {_text(expected)}")

    question = encoding.dumps([[test.function, arguments, dict(test.keyword_arguments) or None]])
    return CallPlan(question, 1, judge)


def plan_assertions(found: Assertions) -> CallPlan:
    """A whole assert test, read as calls and what has to hold of them."""
    calls = found.calls

    def asked(number: int) -> str:
        return f"{calls[number].function}{_shown(calls[number].arguments, calls[number].keywords)}"

    def value(replies: _Replies, number: int) -> Any:
        return _value(replies, number, calls[number].function, lambda: asked(number))

    def judge(_: ProgramUnderTest, replies: _Replies) -> None:
        used: list[int] = []

        def answer(number: int) -> Callable[[], Any]:
            def get() -> Any:
                used.append(number)
                return value(replies, number)

            return get

        answers = [answer(number) for number in range(len(calls))]
        ends = time.thread_time() + _COMPARING_S
        for assertion in found.assertions:
            used.clear()
            if time.thread_time() > ends:
                raise FailureError(
                    "the answers take too long to compare", f"{_COMPARING_S} s were not enough"
                )
            try:
                holds, why = assertion.holds(answers), "the assertion does not hold"
            except (
                ValueError,
                TypeError,
                LookupError,
                ArithmeticError,
                RecursionError,
                MemoryError,
            ) as error:
                holds, why = False, f"the assertion raised {type(error).__name__}"
            if not holds:
                returned = ", ".join(f"{asked(n)} returned {_text(value(replies, n))}" for n in used[:20])
                where = f"line {assertion.line} of the test"
                raise FailureError(f"{where}: {why}", f"{where}: assert {assertion.text}: {why}; {returned}")

    return CallPlan(
        encoding.dumps([[call.function, call.arguments, call.keywords or None] for call in calls]),
        len(calls),
        judge,
    )


def run(
    under_test: ProgramUnderTest, tests: Sequence[CallPlan], stop_on_failure: bool
) -> Iterator[tuple[TestResult, bool]]:
    """A result for each test; true beside it where the program does not compile, so that no test can pass.

    A test that ends the process is failed, and the tests after it get a new process.
    """
    rest = list(tests)
    while rest:
        report = under_test.executor.execute(_job(under_test, rest))
        if report.status in NO_VERDICT:
            yield from ((failed(report, report.detail or report.status), False) for _ in rest)
            return
        replies = _parse_replies(report.answers, [test.calls for test in rest])
        if replies.failure is not None:
            words, revealing = exception_message(replies.failure)
            no_python = words.startswith(SYNTAX_ERRORS)
            detail = words if no_python else f"the program raised {words}"
            found = result(report, False, detail, revealing, status="error")
            yield from ((found, no_python) for _ in rest)
            return
        if not replies.ready:
            found = failed(report, f"the program did not get to its end: {_ended(report)}")
            yield from ((found, False) for _ in rest)
            return
        done = next((n for n, test in enumerate(rest) if len(replies.tests[n]) < test.calls), len(rest))
        share = max(1, min(done + 1, len(rest)))
        for number in range(done):
            found = _judged(under_test, rest[number], replies.tests[number], report, share)
            yield found, False
            if stop_on_failure and not found.passed:
                return
        # What the tests before it filled up is not this one's fault; alone it may have room.
        crowded = report.status in _SHARED_LIMITS or len(report.answers) > _MANY_ANSWERS
        if done < len(rest) and not (done and crowded):
            yield failed(report, f"no answer: {_ended(report)}", share=share), False
            done += 1
        rest = rest[done:]


def _job(under_test: ProgramUnderTest, tests: Sequence[CallPlan]) -> SandboxJob:
    options = json.dumps({"prelude": under_test.prelude}).encode()
    return SandboxJob(
        kind="calls",
        program=under_test.source,
        questions=b"\n".join([options, *(test.question for test in tests)]),
        files=under_test.files,
        limits=under_test.limits,
        steps=len(tests) + 1,  # the program itself is the first
    )


@dataclass(slots=True)
class _ParsedReplies:
    tests: list[dict[int, list[Any]]]
    ready: bool = False
    failure: Any = None


def _parse_replies(text: bytes, calls: Sequence[int]) -> _ParsedReplies:
    """What a program's process wrote, whatever that is. Of two answers to one call the first counts."""
    found = _ParsedReplies([{} for _ in calls])
    # Who writes more lines than were asked for only wants them read.
    lines = sum(calls) + _MORE_LINES
    for number, line in enumerate(text.split(b"\n", lines)[:lines]):
        try:
            answer = decoding.loads(line, first=number == 0)
        except decoding.DecodingError:
            answer = None
        match answer:
            case ["ready"]:
                found.ready = True
                continue
            case ["failed", *account] if not found.ready:
                found.failure = account
                return found
            case [int(test), int(call), _, str(), *_] if type(test) is int and type(call) is int:
                if 0 <= test < len(calls) and 0 <= call < calls[test]:
                    found.tests[test].setdefault(call, answer[3:])
                    continue
        # It wound up the clocks as the answers to a test, so that these are what it said.
        if (claim := _CLAIM.match(line)) and (test := int(claim[1])) < len(calls):
            for call in range(calls[test]):
                found.tests[test].setdefault(call, _UNREADABLE)
    return found


def _judged(
    under_test: ProgramUnderTest, test: CallPlan, replies: _Replies, report: Report, share: int
) -> TestResult:
    try:
        test.judge(under_test, replies)
    except FailureError as failure:
        status: Status = "error" if failure.raised else "ok"
        return result(report, False, failure.detail, failure.revealing, status=status, share=share)
    return result(report, True, share=share)


def _value(replies: _Replies, number: int, function: str, asked: Callable[[], str]) -> Any:
    match replies[number]:
        case ["value", value]:
            return value
        case ["raised", *account]:
            words, revealing = exception_message(account)
            raise FailureError(f"the program raised {words}", f"{asked()} raised {revealing}", raised=True)
        case ["missing"]:
            raise FailureError(f"the program does not define {function}", asked(), raised=True)
        case ["foreign", str(why)]:
            raise FailureError(
                "the program returned something that is not plain data", f"{asked()} returned {why[:200]}"
            )
    raise FailureError("the program gave no answer that can be read", asked(), raised=True)


def same(
    expected: Any, got: Any, *, tuples_as_lists: bool = False, tolerance: tuple[float, float] | None = None
) -> bool:
    """Whether an answer equals the expected value, as Python's ``==`` has it for plain data.

    >>> same([1, 2.0], [1.0, 2]), same([1], (1,)), same([1], (1,), tuples_as_lists=True)
    (True, False, True)
    """
    try:
        if tuples_as_lists:
            expected, got = _listed(expected), _listed(got)
        return bool(expected == got) if tolerance is None else _alike(expected, got, tolerance)
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return False  # a signalling NaN, or nesting that has no end


def _listed(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_listed(item) for item in value]
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return value


def _alike(expected: Any, got: Any, tolerance: tuple[float, float]) -> bool:
    if isinstance(expected, float) or isinstance(got, float):
        numbers = isinstance(expected, int | float) and isinstance(got, int | float)
        return near(float(expected), float(got), tolerance) if numbers else bool(expected == got)
    if type(expected) is type(got) and isinstance(expected, list | tuple):
        return len(expected) == len(got) and all(
            _alike(e, g, tolerance) for e, g in zip(expected, got, strict=True)
        )
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            _alike(e, got[k], tolerance) for k, e in expected.items()
        )
    return bool(expected == got)


def _ended(report: Report) -> str:
    if report.status == "ok":
        return "the program ended itself"
    if report.status == "error":
        return f"the program ended itself with exit code {report.exit_code}"
    return report.detail or report.status


def _shown(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    parts = [*map(_text, arguments), *(f"{name}={_text(value)}" for name, value in keywords.items())]
    return f"({', '.join(parts)})"


def _text(value: Any) -> str:
    return shortened(value)[:1000]
