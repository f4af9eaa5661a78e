"""Records how long each test takes, and says at the end of a run which ones are slow.

``make test`` loads it with ``-p support.durations``. Processor time is recorded beside wall-clock time, because on a
busy machine the latter says little about a test.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

SLOW_SECONDS = 5.0
SHOWN = 10
LONG = ("slow", "peers", "torch")
"""Marks of the tests that make test leaves out."""
CPU = "cpu_seconds"


@dataclass
class Duration:
    """What one test took; ``cpu_seconds`` counts the processes that it started and waited for."""

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    slow: bool = False
    outcome: str = "passed"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--durations-file", help="write what each test took to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(
        Meter() if hasattr(config, "workerinput") else Recorder(config), "guerdon-durations"
    )


def _cpu_seconds() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in spent)


class Meter:
    """Measures the processor time of each test where the test runs."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._start = _cpu_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            report.user_properties.append((CPU, round(_cpu_seconds() - self._start, 3)))
        return report


class Recorder(Meter):
    """Collects the durations in the process that the user started."""

    def __init__(self, config: pytest.Config) -> None:
        self._file: str | None = config.getoption("--durations-file")
        self._started = time.time()
        self.tests: dict[str, Duration] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = self.tests.setdefault(report.nodeid, Duration())
        test.seconds = round(test.seconds + report.duration, 3)
        test.slow = any(mark in report.keywords for mark in LONG)
        test.cpu_seconds = dict(report.user_properties).get(CPU, 0.0)  # type: ignore[assignment]
        if report.outcome != "passed":
            test.outcome = report.outcome

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._file and self.tests:
            Path(self._file).write_text(json.dumps(self._record(session), indent=1) + "\n", encoding="utf-8")

    def _record(self, session: pytest.Session) -> dict[str, Any]:
        return {
            "started": round(self._started),
            "seconds": round(time.time() - self._started, 1),
            "cpu_seconds": round(sum(test.cpu_seconds for test in self.tests.values()), 1),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 1),
            "exit_status": int(session.exitstatus),
            "tests": {name: asdict(test) for name, test in sorted(self.tests.items())},
        }

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        slowest = sorted(self.tests.items(), key=lambda entry: -entry[1].seconds)
        if not slowest:
            return
        terminalreporter.section(f"the {min(SHOWN, len(slowest))} slowest tests", sep="-")
        for name, test in slowest[:SHOWN]:
            terminalreporter.line(_line(name, test))
        unmarked = [(name, test) for name, test in slowest if test.seconds > SLOW_SECONDS and not test.slow]
        if unmarked:
            terminalreporter.section(
                f"{len(unmarked)} tests over {SLOW_SECONDS:g} s are not marked slow", sep="-"
            )
            load, cores = os.getloadavg()[0], os.cpu_count() or 1
            busy = (
                f", but the machine is busy: a load of {load:.0f} on {cores} cores"
                if load > 2 * cores
                else ""
            )
            terminalreporter.line(f"Mark them or make them faster{busy}.")
            for name, test in unmarked:
                terminalreporter.line(_line(name, test))


def _line(name: str, test: Duration) -> str:
    return f"{test.seconds:7.1f} s ({test.cpu_seconds:.1f} s of processor time)  {name}"
