"""Runs a suite on a program in a sandbox, with the problem's limits and, where there is one, its checker."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from guerdon.errors import InputError, SandboxError
from guerdon.reward.binding.annotations import lowest
from guerdon.rewards.code.python import Broken, parsed
from guerdon.rewards.code.suite import SampleTests
from guerdon.rewards.common.parameters import non_negative, one_of, shown
from guerdon.sandbox.execution import NO_VERDICT
from guerdon.sandbox.grading.cases import StdinTest, Test, TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.sandbox import Sandbox

WORDS = ("exact", "lines", "tokens", "floats")
TIME_FACTORS: Mapping[str, float] = {
    "c": 1.0,
    "cpp": 1.0,
    "rust": 1.0,
    "go": 1.5,
    "java": 2.0,
    "javascript": 2.0,
    "python": 5.0,
    "bash": 5.0,
}
"""How many times a problem's own time limit, which is made for C++, a program of a language has."""

MOST_CPU_S = 120.0
MOST_MEMORY_MB = 2048
"""What a problem's own limits come to at most: a row may be a stranger's. ``limits`` may be higher."""
_CHECKER_LIMITS = Limits(cpu_s=10, wall_s=30, memory_mb=1024)
_LOOSE_WALL = 3.0
"""The wall limit is at least so many times the limit of processor time: a loaded machine is no slow program."""


@dataclass(frozen=True, slots=True)
class Judge:
    """How programs of one sample are run and compared."""

    sandbox: Sandbox
    language: str
    comparison: Comparison
    limits: Limits
    stop_on_failure: bool
    total_wall_s: float | None = None
    """Seconds by the clock that all runs of the program may take."""
    tuples_as_lists: bool = False

    def results(self, program: str, suite: SampleTests) -> list[TestResult]:
        """What came of each test, up to the first failure where the judge stops there.

        Raises SandboxError where a test has no verdict, InputError where the checker is broken.
        """
        found = self._run(program, suite.tests, self.total_wall_s)
        used = sum(result.wall_s for result in found)
        left = None if self.total_wall_s is None else self.total_wall_s - used
        if suite.other and not _all_passed(found) and (left is None or left > 0):
            others = self._run(program, suite.other, left)
            found = max(found, others, key=lambda results: sum(result.passed for result in results))
        if self.comparison.word == "checker":
            refused = (
                t for t, r in zip(suite.tests, found, strict=False) if not r.passed and r.status == "ok"
            )
            self._refuse_broken(next(refused, None))
        return found

    def _run(self, program: str, tests: Sequence[Test], total_wall_s: float | None) -> list[TestResult]:
        found = self.sandbox.run_tests(
            program,
            tests,
            language=self.language,
            compare=self.comparison,
            stop_on_failure=self.stop_on_failure,
            limits=self.limits,
            total_wall_s=total_wall_s,
            tuples_as_lists=self.tuples_as_lists,
        )
        for number, result in enumerate(found, 1):
            if result.status in NO_VERDICT:
                if self.comparison.word == "checker":
                    self._refuse_broken(tests[number - 1])
                raise SandboxError(
                    f"test {number} of {len(tests)} has no verdict: {result.detail or result.status}",
                    status=result.status,
                )
        return found

    def _refuse_broken(self, test: Test | None) -> None:
        """A checker that refuses the data's own output too says nothing. Raises InputError."""
        if not isinstance(test, StdinTest):
            return
        output = test.expected.encode("utf-8", "surrogatepass")
        judged = self.comparison.judge(self.sandbox, test.stdin, test.expected, output, self.limits)
        if judged is False:
            raise InputError("the checker refuses the data's own output; mend it, or give checker=false")
        if judged is not True and judged.status in NO_VERDICT:
            raise SandboxError(f"the checker has no verdict: {judged.detail}", status=judged.status)
        if judged is not True:
            raise InputError(
                f"the checker fails on the data's own output ({judged.status}); give checker=false"
            )


def _all_passed(results: Sequence[TestResult]) -> bool:
    return all(result.passed for result in results)


def comparison_of(compare: Any, tolerance: Any, checker: Any, suite: SampleTests) -> Comparison:
    """How output is compared: by the checker or the word that is given, else as the data has it.

    A checker is called as ``checker.py input.txt answer.txt output.txt`` and prints 1 where it accepts, which
    is the contract of open-r1/codeforces. Raises InputError for what makes no sense.
    """
    if isinstance(checker, str) and checker.strip().lower() in ("true", "false"):
        checker = checker.strip().lower() == "true"
    source = checker if isinstance(checker, str) and checker else None
    if checker is True or (checker is None and compare is None):
        source = suite.checker
    if checker is True and source is None:
        raise InputError("checker=true, but the row has no generated_checker")
    if checker is not None and not isinstance(checker, str | bool):
        raise InputError(f"checker must be Python source, true or false, not {shown(checker)}")
    if source is not None:
        if not all(isinstance(test, StdinTest) for test in suite.tests):
            raise InputError("a checker decides about printed output; these tests call functions")
        order = ("input", "answer", "output")
        return Comparison.by(_program(source), arguments=order, verdict="stdout", limits=_CHECKER_LIMITS)
    if not any(map(_expects_something, (*suite.tests, *suite.other))):
        raise InputError(
            "no test expects any output, so a program that does nothing would pass; leave the row out"
        )
    word = one_of(compare or suite.compare, WORDS, "compare")
    allowed = non_negative(tolerance, "tolerance")
    if allowed is None:
        return Comparison.of(word)
    if word != "floats":
        raise InputError(f"a tolerance belongs to compare=floats, not to {word}")
    return Comparison(word="floats", absolute=allowed, relative=allowed)


def _expects_something(test: Test) -> bool:
    return not isinstance(test, StdinTest) or bool(test.expected.strip())


@functools.lru_cache(maxsize=64)
def _program(source: str) -> str:
    if isinstance(broken := parsed(source), Broken):
        raise InputError(f"the checker is not Python: {broken}")
    return source


def limits_for(suite: SampleTests, language: str, given: Any, factor: float | None) -> Limits:
    """The limits of a test: what the user gave, else the problem's own, else its harness's, else the defaults.

    >>> limits_for(SampleTests(form="list", tests=(), time_limit_s=2.0), "cpp", {"memory_mb": 64}, None).cpu_s
    2.0
    """
    if isinstance(given, Limits):
        return given
    asked = limits_asked(given)
    cpu_s = asked.get("cpu_s")
    if cpu_s is None and suite.time_limit_s is not None:
        cpu_s = suite.time_limit_s * (TIME_FACTORS.get(language, 1.0) if factor is None else factor)
        cpu_s = min(cpu_s, MOST_CPU_S)
    if cpu_s is None:
        cpu_s = suite.cpu_s
    if cpu_s is not None:
        asked["cpu_s"] = cpu_s
        if isinstance(cpu_s, int | float) and "wall_s" not in asked:
            asked["wall_s"] = max(Limits().wall_s, _LOOSE_WALL * cpu_s)
    if suite.memory_mb is not None:
        asked.setdefault("memory_mb", min(suite.memory_mb, MOST_MEMORY_MB))
    return Limits(**asked)


def row_limits(given: Any, _: Any) -> Any:
    """The limits that a row asks for, none above the default, which only the owner of the reward raises.

    >>> row_limits({"cpu_s": 0.5, "memory_mb": 100_000}, None)
    {'cpu_s': 0.5, 'memory_mb': 512}
    """
    if not isinstance(given, Mapping):
        return given
    most = Limits()
    return {name: lowest(value, getattr(most, name, value)) for name, value in given.items()}


def limits_asked(given: Any) -> dict[str, Any]:
    """The limits that a parameter sets. Raises InputError for one that there is not."""
    names = [field.name for field in fields(Limits)]
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f'limits must be an object such as {{"cpu_s": 2}}, not {shown(given)}')
    if unknown := [name for name in given if name not in names]:
        raise InputError(f"limits has no {shown(unknown[0])}; it has {', '.join(names)}")
    set_to = {name: value for name, value in given.items() if value is not None}
    if wrong := [
        n for n, v in set_to.items() if isinstance(v, bool) or not isinstance(v, int | float) or v <= 0
    ]:
        raise InputError(f"the limit {wrong[0]} must be a number above 0, not {shown(set_to[wrong[0]])}")
    return set_to
