"""Suites, each with its verifiers, one after the other; what is finished is kept when it is interrupted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from guerdon.accuracy.discovery import absent_files
from guerdon.accuracy.folder import Folder
from guerdon.accuracy.measurement import Measurement, measure
from guerdon.accuracy.suite import LabelledCase, Suite
from guerdon.accuracy.verifier import (
    Verifier,
    digest_of_cases,
    is_installed,
    resolve_catalogue,
    resolve_external,
    slug,
)
from guerdon.errors import CrashError, DeadlineError, InputError, RewardError
from guerdon.scoring.progress import Progress

Show = Callable[[str, str, Progress], None]
"""Called with the suite, the verifier and how far it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkOptions:
    """How suites are run."""

    external: bool = True
    """Whether other projects' verifiers run, too."""
    limit: int | None = None
    """At most that many cases of a suite: a fixed sample, spread over all of it."""
    workers: int | None = None
    timeout: float | None = None
    """Seconds for one case; by default the reward's own, else ten."""
    overwrite: bool = False
    """Run anew what the folder holds already."""


@dataclass(slots=True)
class SuiteReport:
    """What came of one suite."""

    suite: Suite
    measurements: list[Measurement] = field(default_factory=list)
    cases: int = 0
    """Cases that were run."""
    of: int = 0
    """Cases that there are; more than were run where a sample was asked for."""
    left_out: str = ""
    """Why nothing of it ran."""

    @property
    def ok(self) -> bool:
        """Whether each reward of the catalogue gave a verdict at least once."""
        rewards = [found for found in self.measurements if found.catalogue]
        return bool(self.left_out) or all(not found.left_out and found.counts.decided for found in rewards)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "suite": self.suite.name,
            "title": self.suite.title,
            "aim": self.suite.aim,
            "left_out": self.left_out,
            "cases": self.cases,
            "of": self.of,
            "verifiers": [found.to_dict() for found in self.measurements],
        }


def sample(cases: Sequence[LabelledCase], limit: int | None) -> list[LabelledCase]:
    """At most ``limit`` cases, in their order: always the same ones, whatever order or pattern they come in.

    They are those whose ids have the lowest hashes; every k-th case would keep step with a suite that repeats
    k kinds of case.
    """
    if limit is None or limit >= len(cases):
        return list(cases)
    order = sorted(range(len(cases)), key=lambda i: (hashlib.sha256(cases[i].id.encode()).digest(), i))
    return [cases[i] for i in sorted(order[:limit])]


def run_suite(
    suite: Suite,
    data: Path | None,
    options: BenchmarkOptions | None = None,
    *,
    folder: Folder | None = None,
    show: Show | None = None,
    report: SuiteReport | None = None,
) -> SuiteReport:
    """Run the verifiers of one suite. Results of ``folder`` are used again where nothing that decides them changed.

    ``report`` is filled as verifiers finish, and holds them also where Ctrl-C, as KeyboardInterrupt, ends the
    run. Raises InputError for a suite that is made wrong.
    """
    options = options or BenchmarkOptions()
    report = report or SuiteReport(suite)
    if absent := absent_files(suite, data or Path()):
        report.left_out = f"the folder {data} does not have {', '.join(absent)}"
        return report
    if suite.lacks is not None and (lacking := suite.lacks()) is not None:
        report.left_out = lacking
        return report
    everything = list(suite.cases(data or Path()))
    cases = sample(everything, options.limit)
    report.cases, report.of = len(cases), len(everything)
    _check(suite, everything)
    digest = digest_of_cases(cases)
    for verifier in _verifiers(suite, cases, options):
        if isinstance(verifier, Measurement):
            report.measurements.append(verifier)
            continue
        kept = None if folder is None or options.overwrite else folder.kept(suite.name, verifier, digest)
        found = kept or _measured(suite, verifier, cases, digest, options, show)
        if folder is not None and kept is None and not found.left_out:
            folder.keep(found, verifier)
        report.measurements.append(found)
    return report


def _check(suite: Suite, cases: Iterable[LabelledCase]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise InputError(f"the suite {suite.name!r} has two cases with the id {case.id!r}")
        seen.add(case.id)
    if not seen:
        raise InputError(f"the suite {suite.name!r} has no cases")
    labels = [given.label for given in suite.catalogue] + [given.label for given in suite.external]
    slugs = list(map(slug, labels))
    if len(set(slugs)) < len(slugs):
        raise InputError(f"the suite {suite.name!r} gives two verifiers the same name")


def _verifiers(
    suite: Suite, cases: Sequence[LabelledCase], options: BenchmarkOptions
) -> Iterator[Verifier | Measurement]:
    """Each verifier, or an empty measurement that says why it is left out."""
    for given in suite.catalogue:
        try:
            yield resolve_catalogue(given)
        except RewardError as error:
            yield Measurement(suite.name, given.label, True, left_out=str(error))
    if not options.external:
        return
    example = min((case.row for case in cases), key=lambda row: len(repr(row)))
    for external in suite.external:
        if is_installed(external):
            yield resolve_external(external, example)
        else:
            reason = f"{external.package} is not installed"
            yield Measurement(suite.name, external.label, False, left_out=reason)


def _measured(
    suite: Suite,
    verifier: Verifier,
    cases: Sequence[LabelledCase],
    digest: str,
    options: BenchmarkOptions,
    show: Show | None,
) -> Measurement:
    progress = None if show is None else partial(show, suite.name, verifier.label)
    try:
        return measure(
            verifier,
            cases,
            suite=suite.name,
            data=digest,
            timeout=options.timeout,
            workers=options.workers,
            progress=progress,
        )
    except (CrashError, DeadlineError) as error:
        if verifier.unwarmed is not None:  # the example that it tried was one that it does not survive
            cold = replace(verifier, reward=verifier.unwarmed, unwarmed=None)
            return _measured(suite, cold, cases, digest, options, show)
        return Measurement(suite.name, verifier.label, verifier.catalogue, left_out=str(error))
    except RewardError as error:  # the whole run of it: a column that it lacks, a worker that cannot load it
        return Measurement(suite.name, verifier.label, verifier.catalogue, left_out=str(error))
