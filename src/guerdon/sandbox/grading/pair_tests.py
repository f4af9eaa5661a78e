"""Assert tests whose code runs: beside the program in a second process, or with its live objects in one."""

from __future__ import annotations

import json
import secrets
from typing import Any

from guerdon.sandbox.execution import NO_VERDICT, Report, SandboxJob
from guerdon.sandbox.grading.assert_tests import AssertPlan
from guerdon.sandbox.grading.cases import TestResult
from guerdon.sandbox.grading.verdicts import (
    MOST_LINES,
    ProgramUnderTest,
    as_text,
    exception_message,
    failed,
    result,
)
from guerdon.sandbox.inside import decoding


def run(under_test: ProgramUnderTest, plan: AssertPlan) -> TestResult:
    """The result of the test."""
    return _live(under_test, plan) if plan.mode == "live" else _pair(under_test, plan)


def _pair(under_test: ProgramUnderTest, plan: AssertPlan) -> TestResult:
    options = {"prelude": under_test.prelude, "plan": plan.test_plan}
    report = under_test.executor.execute(_job(under_test, "pair", options))
    return _verdict(report, plan, _outcome(report.answers, 4))


def _live(under_test: ProgramUnderTest, plan: AssertPlan) -> TestResult:
    nonce = secrets.token_hex(16)
    options = {"prelude": under_test.prelude, "plan": {}, "live": plan.test_plan, "nonce": nonce}
    report = under_test.executor.execute(_job(under_test, "calls", options, steps=2))
    outcome = _outcome(report.answers.rstrip().rpartition(b"\n")[2], 4)
    if outcome and outcome[0] == "failed" and isinstance(outcome[1], list):
        words, revealing = exception_message(outcome[1:])
        detail = f"the program raised {words}"
        return result(report, False, detail, revealing, status="error", tamper_resistant=False)
    outcome = [*outcome[1:], ""] if outcome and outcome[0] == nonce else []
    return _verdict(report, plan, outcome)


def _job(under_test: ProgramUnderTest, kind: Any, options: dict[str, Any], steps: int = 1) -> SandboxJob:
    return SandboxJob(
        kind=kind,
        program=under_test.source,
        questions=json.dumps(options).encode("ascii"),
        files=under_test.files,
        limits=under_test.limits,
        steps=steps,
    )


def _outcome(line: bytes, parts: int) -> list[Any]:
    """The one line that was written at the end; empty where there is no such line."""
    try:
        outcome = decoding.loads(line.strip())
    except decoding.DecodingError:
        return []
    return outcome if type(outcome) is list and len(outcome) == parts else []


def _verdict(report: Report, plan: AssertPlan, outcome: list[Any]) -> TestResult:
    guarded = plan.tamper_resistant
    if report.status in NO_VERDICT:
        return failed(report, report.detail or report.status, tamper_resistant=guarded)
    if report.status != "ok" or not outcome:
        detail = report.detail or (
            "the test did not get to its end" if report.status == "ok" else report.status
        )
        return failed(report, detail, tamper_resistant=guarded)
    word, line, text_of_outcome, last = outcome
    known = type(line) is int and 0 < line < MOST_LINES
    where = f"line {line} of the test" if known else "the test"
    source = plan.test_plan["code"].split("\n")
    text = source[line - 1].strip() if known and line <= len(source) else ""
    message = as_text(text_of_outcome)
    revealing = "; ".join(part for part in (f"{where}: {text}", message, as_text(last)) if part)
    if word == "passed":
        return result(report, True, tamper_resistant=guarded)
    if word == "failed":
        return result(
            report, False, f"{where}: the assertion does not hold", revealing, tamper_resistant=guarded
        )
    if word == "unable":
        detail = f"{where} cannot run here: {message}"
        return result(report, False, detail, revealing, status="unavailable", tamper_resistant=guarded)
    detail = message if word == "broken" else f"{where}: {message.partition(':')[0]}"
    return result(report, False, detail, revealing, status="error", tamper_resistant=guarded)
