"""A suite: the tests of one sample as a sandbox runs them, and what else its data set says about running."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.sandbox.grading.cases import Test


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTests:
    """The tests of one sample."""

    form: str
    """The form that they came in, as the documentation names it."""
    tests: tuple[Test, ...]
    other: tuple[Test, ...] = ()
    """The same tests read otherwise, where the form does not say which is meant; a program has to pass all
    tests of one reading."""
    weights: tuple[float, ...] = ()
    """One for each test, where the data gives any."""
    entry_point: str | None = None
    """The function that the program has to define."""
    language: str | None = None
    """The language that the data asks for."""
    compare: str = "lines"
    """How output is compared where the user does not say."""
    lends_imports: bool = False
    """Whether the data's own harness imports for a program what it forgot to import."""
    tuples_as_lists: bool = False
    """Whether a tuple is right where a list is expected, since the expectations are of JSON."""
    checker: str | None = None
    """Python source that decides about an output, for problems with several right answers."""
    cpu_s: float | None = None
    """The time limit of the data's own harness for a test, in seconds."""
    time_limit_s: float | None = None
    """The problem's own time limit, made for a compiled language."""
    memory_mb: int | None = None


def joined(suites: Sequence[SampleTests]) -> SampleTests:
    """Suites of one form as one: the tests of the first, then those of the next."""
    first = suites[0]
    tests = tuple(test for suite in suites for test in suite.tests)
    other = tuple(test for suite in suites for test in (suite.other or suite.tests))
    return SampleTests(
        form=first.form,
        tests=tests,
        other=other if any(suite.other for suite in suites) else (),
        entry_point=next((suite.entry_point for suite in suites if suite.entry_point), None),
        compare=first.compare,
        lends_imports=first.lends_imports,
        tuples_as_lists=first.tuples_as_lists,
        cpu_s=first.cpu_s,
    )
