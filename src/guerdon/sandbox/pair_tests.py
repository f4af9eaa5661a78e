"""Assert tests whose code runs: beside the program in a second process, or with its live objects in one."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from guerdon.sandbox.asserts import Reading
from guerdon.sandbox.cases import TestResult
from guerdon.sandbox.execution import NO_VERDICT, Job, Report
from guerdon.sandbox.inside import values
from guerdon.sandbox.verdicts import MOST_LINES, Program, as_text, exception_words, failed, result


@dataclass(frozen=True, slots=True)
class Planned:
    """A test with how it is to be run."""

    reading: Reading


def run(setting: Program, test: Planned) -> TestResult:
    """The result of the test."""
    return _live(setting, test.reading) if test.reading.way == "live" else _pair(setting, test.reading)


def _pair(setting: Program, reading: Reading) -> TestResult:
    options = {"prelude": setting.prelude, "plan": reading.plan}
    report = setting.executor.execute(_job(setting, "pair", options))
    return _verdict(report, reading, _outcome(report.answers, 4))


def _live(setting: Program, reading: Reading) -> TestResult:
    nonce = secrets.token_hex(16)
    options = {"prelude": setting.prelude, "plan": {}, "live": reading.plan, "nonce": nonce}
    report = setting.executor.execute(_job(setting, "calls", options, steps=2))
    outcome = _outcome(report.answers.rstrip().rpartition(b"\n")[2], 4)
    if outcome and outcome[0] == "failed" and isinstance(outcome[1], list):
        words, revealing = exception_words(outcome[1:])
        detail = f"the program raised {words}"
        return result(report, False, detail, revealing, status="error", tamper_resistant=False)
    outcome = [*outcome[1:], ""] if outcome and outcome[0] == nonce else []
    return _verdict(report, reading, outcome)


def _job(setting: Program, kind: Any, options: dict[str, Any], steps: int = 1) -> Job:
    return Job(
        kind=kind,
        program=setting.source,
        questions=json.dumps(options).encode("ascii"),
        files=setting.files,
        limits=setting.limits,
        steps=steps,
    )


def _outcome(line: bytes, parts: int) -> list[Any]:
    """The one line that was written at the end; empty where there is no such line."""
    try:
        outcome = values.loads(line.strip())
    except values.DecodingError:
        return []
    return outcome if type(outcome) is list and len(outcome) == parts else []


def _verdict(report: Report, reading: Reading, outcome: list[Any]) -> TestResult:
    guarded = reading.tamper_resistant
    if report.status in NO_VERDICT:
        return failed(report, report.detail or report.status, tamper_resistant=guarded)
    if report.status != "ok" or not outcome:
        detail = report.detail or (
            "the test did not get to its end" if report.status == "ok" else report.status
        )
        return failed(report, detail, tamper_resistant=guarded)
    word, line, told, last = outcome
    known = type(line) is int and 0 < line < MOST_LINES
    where = f"line {line} of the test" if known else "the test"
    source = reading.plan["code"].split("\n")
    text = source[line - 1].strip() if known and line <= len(source) else ""
    message = as_text(told)
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
