"""Cases with expected scores, from a file or a list.

A case is a row in chat form, or with ``response`` and ``prompt`` as texts, plus what is expected::

    {"id": "right", "prompt": "2 + 2?", "response": "A: 4", "ground_truth": "4", "expected": 1}
    {"response": "A: about 4", "ground_truth": "4", "expected": {"min": 0.2, "max": 0.8}}
    {"response": "A: 4", "ground_truth": "", "expected": {"error": "input"}}
    {"response": "A: 4", "ground_truth": "4", "expected": 1, "expected_metrics": {"answer_found": 1}}

``expected`` is a number, ``null`` where the reward does not apply, ``{"score": 0.5, "tolerance": 0.1}``, a
range with ``min``, ``max`` or both, or ``{"error": "timeout"}`` for a failure of that kind, ``true`` for
one of any kind. ``expected_metrics`` names metrics with the same forms of numbers and ranges.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.checks import finite
from guerdon.data.strict_json import parse_json
from guerdon.errors import InputError
from guerdon.testing.rows import chat_of, kind_of_value, name_of_cases, rows_of
from guerdon.types import EvaluateResult, Sample

TOLERANCE = 1e-6
_EXCERPT = 300
_KEYS = "a number, null, or an object with score and tolerance, with min and max, or with error"


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """One case, scored and compared."""

    id: str | int
    """The case's id, else the number of its line."""
    line: int
    """The line of the file that the case is on, or its number in a list; both count from 1."""
    expected: float | str | None
    """The expected score; None for "does not apply"; a range or ``error: KIND`` as text."""
    result: EvaluateResult
    ok: bool
    """Whether the result is as expected."""
    diff: str
    """What is not as expected, a line for each difference; empty where nothing is."""
    prompt: str = ""
    response: str = ""


@dataclass(frozen=True, slots=True)
class _ScoreRange:
    """The numbers that are as expected."""

    low: float
    high: float
    tolerance: float | None = None
    """None for the tolerance of the run."""

    def admits(self, number: float, tolerance: float) -> bool:
        slack = tolerance if self.tolerance is None else self.tolerance
        return self.low - slack <= number <= self.high + slack

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.low:.10g}" + (f" ± {self.tolerance:g}" if self.tolerance else "")
        if math.isinf(self.high):
            return f"at least {self.low:.10g}"
        return f"at most {self.high:.10g}" if math.isinf(self.low) else f"{self.low:.10g} to {self.high:.10g}"


@dataclass(frozen=True, slots=True)
class _Expected:
    """What a case expects: bounds, or a failure, or else that the reward does not apply."""

    bounds: _ScoreRange | None = None
    error: str | None = None
    """The kind of failure; ``error`` for any."""
    metrics: Mapping[str, _ScoreRange] = field(default_factory=dict)

    @property
    def plain(self) -> float | str | None:
        if self.error is not None:
            return "error" if self.error == "error" else f"error: {self.error}"
        if self.bounds is None:
            return None
        return self.bounds.low if self.bounds.low == self.bounds.high else str(self.bounds)

    def __str__(self) -> str:
        if self.error is not None:
            return "a failure" if self.error == "error" else f"a failure of kind {self.error}"
        return "no score, since it does not apply" if self.bounds is None else str(self.bounds)


@dataclass(frozen=True, slots=True)
class _TableCase:
    id: str | int
    line: int
    sample: Sample
    expected: _Expected


def run_cases(
    reward: Any,
    cases: str | Path | Iterable[Mapping[str, Any]],
    *,
    tolerance: float = TOLERANCE,
    timeout: float | None = None,
    workers: int | None = None,
    **parameters: Any,
) -> list[CaseOutcome]:
    """Score cases with a reward and compare each with what it expects; in the order of the cases.

    ``reward`` is anything that resolves, ``parameters`` are its parameters; ``cases`` is a file of JSON
    Lines or JSON, or the cases themselves; ``timeout`` and ``workers`` are those of ``guerdon.score``.
    Raises InputError, with file and line, for a malformed case and where there are none.

    >>> def exact(response, answer):
    ...     return response == answer
    >>> cases = [{"response": "4", "answer": "4", "expected": 1},
    ...          {"response": "5", "answer": "4", "expected": 1}]
    >>> [(outcome.ok, outcome.diff) for outcome in run_cases(exact, cases, workers=0)]
    [(True, ''), (False, 'score: expected 1, got 0')]
    """
    from guerdon.scoring.run import score

    slack = _number(tolerance, "tolerance")
    if slack < 0:
        raise InputError(f"tolerance must be 0 or more, not {tolerance!r}")
    read = list(_read(cases))
    if not read:
        raise InputError(f"{name_of_cases(cases)} holds no cases")
    samples = [case.sample for case in read]
    scores = score(reward, samples, timeout=timeout, workers=workers, on_error="result", **parameters)
    return [_outcome(case, result, slack) for case, result in zip(read, scores, strict=True)]


def assert_cases(
    reward: Any,
    cases: str | Path | Iterable[Mapping[str, Any]],
    *,
    tolerance: float = TOLERANCE,
    timeout: float | None = None,
    workers: int | None = None,
    **parameters: Any,
) -> None:
    """Fail, in a test, unless every case is as expected; takes the arguments of ``run_cases``.

    The AssertionError lists each case that is off with its prompt, its response and the differences.

    >>> assert_cases("guerdon.rewards.length:length", [{"response": "so brief", "expected": 1}],
    ...              maximum=5, workers=0)
    """
    __tracebackhide__ = True
    outcomes = run_cases(reward, cases, tolerance=tolerance, timeout=timeout, workers=workers, **parameters)
    off = [outcome for outcome in outcomes if not outcome.ok]
    if off:
        head = f"{len(off)} of {len(outcomes)} cases of {name_of_cases(cases)} are not as expected"
        raise AssertionError("\n".join([head, *map(_described, off)]))


def cases(path: str | Path) -> list[Any]:
    """The cases of a file, each a parameter for ``pytest.mark.parametrize`` under its id.

    For tests that count each case on its own: ``assert_cases(reward, [case])``. Needs pytest.
    """
    import pytest

    return [pytest.param(row, id=str(row.get("id", f"line {line}"))) for _, line, row in rows_of(path)]


def _described(outcome: CaseOutcome) -> str:
    lines = [f"case {outcome.id}, line {outcome.line}"]
    for name in ("prompt", "response"):
        if text := getattr(outcome, name):
            lines.append(f"  {name}: {text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + '…'!r}")
    return "\n".join([*lines, *(f"  {line}" for line in outcome.diff.splitlines())])


# Reading.


def _read(cases: Any) -> Iterator[_TableCase]:
    for where, line, row in rows_of(cases):
        try:
            sample = Sample.from_row(chat_of(row))
            expected = _expected_of(row)
        except InputError as error:
            raise InputError(f"{where}: {error}", line=line) from None
        yield _TableCase(line if sample.id is None else sample.id, line, sample, expected)


def _expected_of(row: Mapping[str, Any]) -> _Expected:
    if "expected" not in row:
        raise InputError(f'the case has no "expected": give {_KEYS}')
    metrics = row.get("expected_metrics") or {}
    if not isinstance(metrics, Mapping):
        raise InputError(f'"expected_metrics" must be an object, not {kind_of_value(metrics)}')
    wanted = {str(name): _bounds(value, f'the metric "{name}"') for name, value in metrics.items()}
    expected = row["expected"]
    if isinstance(expected, str):  # a cell of CSV is text
        with contextlib.suppress(InputError):
            value, end = parse_json(expected)
            expected = value if end == len(expected) else expected
    if expected is None:
        return _Expected(metrics=wanted)
    if isinstance(expected, Mapping) and "error" in expected:
        kind = expected["error"]
        if len(expected) > 1 or not (kind is True or (isinstance(kind, str) and kind)):
            raise InputError('"expected" with an error is {"error": KIND}, or true for any kind')
        return _Expected(error="error" if kind is True else kind, metrics=wanted)
    return _Expected(_bounds(expected, '"expected"'), metrics=wanted)


def _bounds(value: Any, what: str) -> _ScoreRange:
    if not isinstance(value, Mapping):
        number = _number(value, what)
        return _ScoreRange(number, number)
    keys = set(value)
    if keys and keys <= {"min", "max"}:
        low = _number(value["min"], f"min of {what}") if "min" in value else -math.inf
        high = _number(value["max"], f"max of {what}") if "max" in value else math.inf
        if low > high:
            raise InputError(f"{what} has a min of {low:g} over its max of {high:g}")
        return _ScoreRange(low, high)
    if "score" in keys and keys <= {"score", "tolerance"}:
        number = _number(value["score"], f"score of {what}")
        slack = _number(value["tolerance"], f"tolerance of {what}") if "tolerance" in value else None
        if slack is not None and slack < 0:
            raise InputError(f"tolerance of {what} must be 0 or more")
        return _ScoreRange(number, number, slack)
    raise InputError(f"{what} must be {_KEYS}; its keys: {', '.join(map(str, value)) or 'none'}")


def _number(value: Any, what: str) -> float:
    try:
        return finite(value, what)
    except ValueError as error:
        raise InputError(str(error)) from None


# Comparing.


def _outcome(case: _TableCase, result: EvaluateResult, tolerance: float) -> CaseOutcome:
    differences = [*_score_differences(case.expected, result, tolerance)]
    for name, bounds in case.expected.metrics.items():
        metric = result.metrics.get(name)
        if metric is None:
            differences.append(f"metric {name}: expected {bounds}, got none")
        elif not bounds.admits(metric.score, tolerance):
            because = f" ({metric.reason})" if metric.reason else ""
            differences.append(f"metric {name}: expected {bounds}, got {metric.score:.10g}{because}")
    sample = case.sample
    return CaseOutcome(
        case.id,
        case.line,
        case.expected.plain,
        result,
        not differences,
        "\n".join(differences),
        sample.prompt,
        sample.response,
    )


def _score_differences(expected: _Expected, result: EvaluateResult, tolerance: float) -> Iterator[str]:
    if expected.error is not None:
        as_expected = result.failed and expected.error in ("error", result.error_kind)
    elif expected.bounds is None or result.score is None:
        as_expected = expected.bounds is None and result.score is None and not result.failed
    else:
        as_expected = expected.bounds.admits(result.score, tolerance)
    if not as_expected:
        yield f"score: expected {expected}, got {_result_in_words(result)}"


def _result_in_words(result: EvaluateResult) -> str:
    if result.failed:
        return f"a failure of kind {result.error_kind} ({result.error})"
    text = "no score, since it does not apply" if result.score is None else f"{result.score:.10g}"
    return f"{text} ({result.reason})" if result.reason else text
