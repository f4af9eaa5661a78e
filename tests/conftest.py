"""What every test shares: where the data is, and which skips are accepted where nothing may be skipped."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

# On a busy machine commands would say what they are doing, where a test compares all that they say.
os.environ.setdefault("GUERDON_SAY_AFTER", "600")

# The key that marks runs as one's own, for all processes of a test run.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="guerdon-tests-state-")

ROOT = Path(__file__).resolve().parent.parent
NOT_RUN = pytest.StashKey[list[str]]()


def data_directory() -> Path:
    """Where the real data is: ``GUERDON_DATA``, else ``shared/data`` beside the project."""
    return Path(os.environ.get("GUERDON_DATA") or ROOT.parent / "shared" / "data")


def references_directory() -> Path:
    """Where the reference documents are: ``GUERDON_REFERENCES``, else ``references`` beside the data."""
    return Path(os.environ.get("GUERDON_REFERENCES") or data_directory().parent / "references")


def _no_namespaces() -> str:
    from guerdon.sandbox.isolation.machine import machine

    return machine().namespaces


def _landlock() -> int:
    from guerdon.sandbox.isolation.machine import machine

    return machine().landlock


def _memory_cgroup() -> bool:
    from guerdon.sandbox.isolation.machine import machine

    return machine().memory_cgroup


def _no_readable_python() -> bool:
    from support.unprivileged_users import readable_python

    return readable_python() is None


def _no_torch() -> bool:
    return importlib.util.find_spec("torch") is None


def _no_later_python() -> bool:
    from interop.environments import PeerError, base_python

    try:
        base_python((3, 12))
    except PeerError:
        return True
    return False


# With GUERDON_CI set every skip is a failure, unless its reason starts with one of these words and what
# they claim is so.
ACCEPTED_SKIPS: Mapping[str, Callable[[], bool]] = {
    "no shared data": lambda: not data_directory().is_dir(),
    "no reference documents": lambda: not references_directory().is_dir(),
    "no tools for": lambda: (
        not all(map(shutil.which, ("bash", "gcc", "g++", "go", "javac", "node", "rustc")))
    ),
    "no user namespaces": lambda: bool(_no_namespaces()),
    # Not whether the tier is there: one that has come to fail must not go unnoticed.
    "no native tier": lambda: bool(_no_namespaces()),
    "no bubblewrap tier": lambda: bool(_no_namespaces()) or shutil.which("bwrap") is None,
    "no landlock tier": lambda: not _landlock(),
    # The extra test leaves it out; make test-all installs the extra dev.
    "no torch": _no_torch,
    # Often there is none to be made, which changes nothing but what is counted.
    "no memory cgroup": lambda: not _memory_cgroup(),
    "no root": lambda: os.geteuid() != 0,
    # Said by support/time_limit.py, which only .ci/run loads.
    "no time left": lambda: "GUERDON_END_BY" in os.environ,
    "no Python 3.12": lambda: _no_later_python(),
    "no Python that an ordinary user may read": lambda: _no_readable_python(),
}


def pytest_configure(config: pytest.Config) -> None:
    """Property tests find the same cases in every continuous integration, however slow the machine is."""
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import HealthCheck, settings

        settings.register_profile(
            "guerdon",
            deadline=None,
            derandomize=bool(os.environ.get("GUERDON_CI")),
            suppress_health_check=[HealthCheck.too_slow],
        )
        settings.load_profile("guerdon")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with the mark ``sample``, leave so many cases to make test, spread evenly; the others are slow."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sample"):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in cases.values():
        mark = group[0].get_closest_marker("sample")
        assert mark is not None
        count, seconds = mark.args[0], mark.kwargs["seconds"]
        kept = {number * len(group) // count for number in range(count)}
        for number, item in enumerate(group):
            if number not in kept:
                item.add_marker(pytest.mark.slow(seconds=seconds))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The directory of real data; a test that asks for it is skipped where there is none."""
    directory = data_directory()
    if not directory.is_dir():
        pytest.skip(f"no shared data: {directory} is no directory; set GUERDON_DATA to where it is")
    return directory


@pytest.fixture(scope="session")
def references_dir() -> Path:
    """The directory of reference documents; a test that asks for it is skipped where there is none."""
    directory = references_directory()
    if not directory.is_dir():
        pytest.skip(f"no reference documents: {directory} is no directory; set GUERDON_REFERENCES")
    return directory


@pytest.fixture(scope="session")
def not_run_in_docs(pytestconfig: pytest.Config) -> list[str]:
    """Blocks of the documentation that are marked as not to be run; listed at the end."""
    return pytestconfig.stash.setdefault(NOT_RUN, [])


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand what this process of pytest-xdist noted to the one that prints it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["not_run"] = session.config.stash.get(NOT_RUN, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process of pytest-xdist noted."""
    noted = getattr(node, "workeroutput", {}).get("not_run", [])
    node.config.stash.setdefault(NOT_RUN, []).extend(noted)


# Programs that tests use where they are there, with the package of Debian and Ubuntu that has them.
PROGRAMS = {
    "bwrap": "bubblewrap",
    "openssl": "openssl",
    "gcc": "gcc",
    "g++": "g++",
    "go": "golang-go",
    "javac": "default-jdk-headless",
    "node": "nodejs",
    "rustc": "rustc",
}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    lines = sorted(set(config.stash.get(NOT_RUN, [])))
    if lines:
        terminalreporter.section(f"{len(lines)} blocks of the documentation not run", sep="-")
        for line in lines:
            terminalreporter.line(line)
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent and terminalreporter.stats.get("skipped"):
        packages = " ".join(PROGRAMS[name] for name in absent)
        terminalreporter.section(
            f"{len(absent)} programs are missing, and tests with them are skipped", sep="-"
        )
        terminalreporter.line(
            f"missing: {' '.join(absent)}; on Debian and Ubuntu: apt-get install {packages}"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or not os.environ.get("GUERDON_CI"):
        return
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    reason = text.removeprefix("Skipped: ")
    if any(reason.startswith(words) and holds() for words, holds in ACCEPTED_SKIPS.items()):
        return
    report.outcome = "failed"
    report.longrepr = f"GUERDON_CI is set, so no test may be skipped, and this one was: {reason}"
