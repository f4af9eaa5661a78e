"""The reward ``code``: does the program in a response pass its tests?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from guerdon.errors import InputError
from guerdon.reward.binding.annotations import Ceiling, Lowered, Setting
from guerdon.reward.decorator import reward_function
from guerdon.rewards.code.extraction import BLOCKS, Extraction, extract, language_named, stub_in
from guerdon.rewards.code.findings import KINDS, findings_in
from guerdon.rewards.code.forms import suite_in, suite_of
from guerdon.rewards.code.judging import WORDS, Judge, comparison_of, limits_asked, limits_for, row_limits
from guerdon.rewards.code.python import Broken, missing_imports, parsed, preamble, with_before
from guerdon.rewards.code.suite import SampleTests
from guerdon.rewards.code.values import list_of, plain
from guerdon.rewards.common import sandboxes
from guerdon.rewards.common.parameters import (
    among,
    non_negative,
    one_of,
    parameter_check,
    response_text,
    shown,
    text_list,
    yes_or_no,
)
from guerdon.sandbox.grading.cases import TestResult
from guerdon.sandbox.isolation.tiers import ISOLATIONS
from guerdon.types import EvaluateResult, MetricResult

SCORINGS = ("all", "fraction", "weighted")
_REVEALED = 2_000
"""Characters of a failed test's input, output and expectation that a reason may have."""


def _check(**given: Any) -> None:
    parameter_check(
        scoring=among(SCORINGS),
        weights=lambda value, what: [
            non_negative(weight, "a weight") for weight in list_of(plain(value), what)
        ],
        language=lambda value, _: _known_language(value),
        block=among(BLOCKS),
        compare=among(WORDS),
        tolerance=non_negative,
        imports=yes_or_no,
        limits=lambda value, _: limits_asked(value),
        time_factor=non_negative,
        total_wall_s=lambda value, _: _total_wall(value),
        stop_on_failure=yes_or_no,
        isolation=among(ISOLATIONS),
        preload=text_list,
        reveal=yes_or_no,
        findings=yes_or_no,
    )(**given)


@reward_function(timeout=300, enforces_timeout=True, scale=(0, 1), check=_check, reach=sandboxes.reach)
def code(
    response: str,
    tests: Any = None,
    ground_truth: Any = None,
    prompt: str = "",
    metadata: Mapping[str, Any] | None = None,
    *,
    scoring: str = "all",
    weights: Sequence[float] | None = None,
    language: str | None = None,
    block: str = "last",
    compare: str | None = None,
    tolerance: float | None = None,
    checker: str | bool | None = None,
    prompt_code: str | None = None,
    imports: bool | None = None,
    limits: Annotated[Mapping[str, Any] | None, Lowered(row_limits)] = None,
    time_factor: float | None = None,
    total_wall_s: Ceiling[float] = 120,
    stop_on_failure: bool | None = None,
    isolation: Setting[str] = "auto",
    preload: Setting[Sequence[str] | str | None] = None,
    reveal: Setting[bool] = False,
    findings: bool = False,
) -> EvaluateResult:
    """Scores whether the program in the response passes its tests, run in a sandbox.

    The program is the last fenced block in the language (``block``: ``last``, ``first``, ``longest``,
    ``all``), or the whole response where it is one, or goes on with the code in the prompt. The tests are
    ``tests``, or the columns of the row as HumanEval, MBPP, APPS, TACO, LiveCodeBench, CodeContests, Codeforces
    (open-r1) and verl have them, or the ground truth.

    ``scoring`` is ``all`` (1 where every test passes, else 0), ``fraction`` (the share that passes) or
    ``weighted`` (by ``weights``). ``compare`` says how output is compared: ``exact``, ``lines``, ``tokens`` or
    ``floats`` with a ``tolerance``; ``checker`` is a Python program that decides instead. ``limits`` are those
    of a test, such as ``{"cpu_s": 2, "memory_mb": 512}``; else they are the problem's own, times
    ``time_factor`` for the language; all tests together may take ``total_wall_s`` seconds by the clock, and
    those that are left then are failed; checkers, and waiting for a worker that is busy, may take 180 s more. A row can
    lower ``limits`` and ``total_wall_s`` and never raise them.
    ``preload`` names modules that programs may use besides the standard library, such as ``numpy``; ``reveal``
    puts the first failed test's input into the reason. Neither of them nor ``isolation`` is taken from a row.
    ``findings`` adds what in the source looks like an attempt to cheat.

    Scale: 0 to 1.

    The metrics say whether there was a program and whether it compiles, how many tests passed, which failed
    first, what it used, how it was isolated and which share of the tests it could not have forged.

    Source: functional correctness on unit tests (Chen et al. 2021, HumanEval; Hendrycks et al. 2021, APPS).

    Raises InputError for tests that cannot be read, SandboxError where nothing can be said of the program.

    >>> task = {"tests": [{"input": "2 3", "output": "5"}]}
    >>> code("```python\\nprint(sum(map(int, input().split())))\\n```", **task).score
    1.0
    """
    stub = stub_in(prompt if prompt_code is None else prompt_code)
    suite = _suite(tests, ground_truth, dict(metadata or {}), stub)
    written_in = _language(language, suite)
    said, chosen = response_text(response), one_of(block, BLOCKS, "block")
    extraction = extract(said, written_in, block=chosen, entry_point=suite.entry_point, stub=stub)
    scale = _Scale.of(scoring, weights, suite)
    stop = _given_or(scale.scoring == "all", stop_on_failure, "stop_on_failure")
    judge = Judge(
        sandbox=sandboxes.shared(isolation, preload=(*sandboxes.PRELOADED, *text_list(preload, "preload"))),
        language=written_in,
        comparison=comparison_of(compare, tolerance, checker, suite),
        limits=limits_for(suite, written_in, limits, non_negative(time_factor, "time_factor")),
        stop_on_failure=stop,
        total_wall_s=_total_wall(total_wall_s),
        tuples_as_lists=suite.tuples_as_lists,
    )
    lends = _given_or(suite.lends_imports, imports, "imports")
    program = _complete(extraction.program, written_in, stub, suite, lends)
    verdict = _verdict(extraction, program, judge, suite)
    metrics = verdict.metrics()
    if yes_or_no(findings, "findings"):
        metrics |= _finding_metrics(program, written_in, suite)
    return EvaluateResult(
        scale.score(verdict.results), reason=verdict.reason(yes_or_no(reveal, "reveal")), metrics=metrics
    )


def _suite(tests: Any, ground_truth: Any, row: Mapping[str, Any], stub: str) -> SampleTests:
    """The tests: those that are given, else those in the row's columns, else the ground truth."""
    rest = {key: value for key, value in row.items() if key != "tests"}
    if tests is not None:
        return suite_in(tests, rest, stub)
    found = suite_of(rest, stub)
    if found is not None:
        return found
    if ground_truth is not None:
        return suite_in(ground_truth, rest, stub, "the ground truth")
    columns = ", ".join(sorted(map(str, row))[:12]) or "none"
    raise InputError(
        f"there are no tests (columns: {columns}); give tests, or a column that docs/code.md names"
    )


def _language(given: str | None, suite: SampleTests) -> str:
    return _known_language(given or suite.language or "python")


def _known_language(name: Any) -> str:
    known = language_named(name) if isinstance(name, str) else None
    if known is None:
        raise InputError(
            f"language must be one that the sandbox runs, such as python or cpp, not {shown(name)}"
        )
    return known


def _given_or(default: bool, given: Any, name: str) -> bool:
    return default if given is None else yes_or_no(given, name)


def _total_wall(given: Any) -> float:
    seconds = non_negative(given, "total_wall_s")
    if not seconds:
        raise InputError(f"total_wall_s must be a number above 0, not {shown(given)}")
    return seconds


def _complete(program: str | None, language: str, stub: str, suite: SampleTests, lends: bool) -> str | None:
    """The program with the prompt's imports and helpers, and with imports that its harness would lend."""
    if program is None or language != "python":
        return program
    if stub and suite.entry_point:
        before = preamble(stub, suite.entry_point)
        program = program if before in program else with_before(program, before)
    return with_before(program, missing_imports(program)) if lends else program


_COMPILE_ERRORS = ("compile error", "the program does not compile")
"""How the details of results begin that come from a compiler, here or at a provider."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """How results become a score."""

    scoring: str
    weights: tuple[float, ...]

    @classmethod
    def of(cls, scoring: Any, weights: Any, suite: SampleTests) -> _Scale:
        word = one_of(scoring, SCORINGS, "scoring")
        count = len(suite.tests)
        if word != "weighted":
            return cls(word, (1.0,) * count)
        given = plain(weights) if weights is not None else list(suite.weights)
        if not given:
            raise InputError(
                "scoring=weighted needs weights: a column of that name, or a weight in each test"
            )
        found = [non_negative(weight, "a weight") or 0.0 for weight in list_of(given, "weights")]
        if len(found) != count:
            raise InputError(f"there are {len(found)} weights and {count} tests")
        if not sum(found):
            raise InputError("the weights are all 0")
        return cls(word, tuple(found))

    def score(self, results: Sequence[TestResult]) -> float:
        passed = sum(w for w, result in zip(self.weights, results, strict=False) if result.passed)
        share = passed / sum(self.weights)
        if self.scoring == "all":
            return float(len(results) == len(self.weights) and all(result.passed for result in results))
        return share


@dataclass(frozen=True, slots=True)
class _ProgramVerdict:
    """What is to be said of a program."""

    extraction: Extraction
    broken: Broken | None
    results: Sequence[TestResult]
    count: int

    @property
    def passed(self) -> int:
        return sum(result.passed for result in self.results)

    @property
    def failed(self) -> tuple[int, TestResult] | None:
        """The first test that failed, with its number, counted from 1."""
        return next(((i, r) for i, r in enumerate(self.results, 1) if not r.passed), None)

    def reason(self, reveal: bool) -> str:
        if self.extraction.program is None:
            return f"no program found: {self.extraction.how}"
        if self.broken is not None:
            return f"the program does not compile: {self.broken}"
        text = f"{self.passed} of {self.count} tests passed"
        if self.failed is None:
            return text
        number, result = self.failed
        text += f"; test {number}: {_described(result)}"
        return f"{text}; {result.revealing[:_REVEALED]}" if reveal and result.revealing else text

    def metrics(self) -> dict[str, MetricResult]:
        """The same metrics for every sample; where nothing ran, nothing was used and nothing was forged."""
        is_there = self.extraction.program is not None
        error = self.compile_error
        number, failed = self.failed or (0, None)
        tiers = sorted({result.tier for result in self.results})
        # Without walls a program reaches whatever its judge knows.
        fair = [result.tamper_resistant and result.tier != "none" for result in self.results] or [True]
        share = self.passed / self.count
        return {
            "program_found": MetricResult(float(is_there), success=is_there, reason=self.extraction.how),
            "compiles": MetricResult(
                float(is_there and not error), success=is_there and not error, reason=error
            ),
            "tests_passed": MetricResult(
                self.passed, success=self.passed == self.count, reason=f"{self.passed} of {self.count}"
            ),
            "pass_rate": MetricResult(share, success=self.passed == self.count),
            "first_failure": MetricResult(
                number, success=self.passed == self.count, reason=_described(failed) if failed else None
            ),
            "cpu_s": MetricResult(sum(result.cpu_s for result in self.results)),
            "memory_mb": MetricResult(max((result.memory_mb for result in self.results), default=0.0)),
            "isolated": MetricResult(
                float("none" not in tiers), reason=", ".join(tiers) or "nothing was run"
            ),
            "tamper_resistant": MetricResult(sum(fair) / len(fair), success=all(fair)),
        }

    @property
    def compile_error(self) -> str | None:
        """Why the program does not compile; None where it does."""
        if self.broken is not None:
            return str(self.broken)
        if self.failed and self.failed[1].detail.startswith(_COMPILE_ERRORS):
            return self.failed[1].detail
        return None


def _verdict(
    extraction: Extraction, program: str | None, judge: Judge, suite: SampleTests
) -> _ProgramVerdict:
    """Runs the tests where there is a program that can run."""
    count = len(suite.tests)
    if program is None:
        return _ProgramVerdict(extraction, None, [], count)
    broken = parsed(program) if judge.language == "python" else None
    if isinstance(broken, Broken):
        return _ProgramVerdict(extraction, broken, [], count)
    return _ProgramVerdict(extraction, None, judge.results(program, suite), count)


def _described(result: TestResult) -> str:
    detail = " ".join(result.detail.split())[:300]
    return f"{result.status}: {detail}" if detail and result.status != "ok" else detail or result.status


def _finding_metrics(program: str | None, language: str, suite: SampleTests) -> dict[str, MetricResult]:
    found = findings_in(program, suite.tests) if program is not None and language == "python" else {}
    return {
        f"found_{kind}": MetricResult(
            len(places), success=not places, reason="; ".join(places[:5]) if places else None
        )
        for kind, places in ((kind, found.get(kind, [])) for kind in KINDS)
    }
