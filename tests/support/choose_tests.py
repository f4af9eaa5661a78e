"""Runs those of the long tests that fit into a time: first what the change touches, then the others in turn.

``.ci/run`` calls it after ``make test``:

    python -m support.choose_tests --end-by 1700000000 --before .durations.json

The long tests are those that ``make test`` leaves out. A test file is the closer to the change the fewer imports lie
between it and a changed module; files equally far are taken in an order that changes with every commit, so that each
gets its turn. What runs and what does not is printed first. A test that would end too late is not begun. What still
runs five minutes after the end hangs: it is stopped, which counts as a failure.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
LONG = "slow or peers or torch"
FUZZ_CASES = "20000"
FUZZ_SECONDS = "60"
"""Of each guided fuzz target; make test-all takes ten minutes."""
GRACE_SECONDS = 300.0
"""What still runs so long after the end is stopped."""
SPARE_SECONDS = 90.0
"""No test is begun that is expected to end later than this before the end."""
FAR = 99


@dataclass(frozen=True)
class LongFile:
    """A file with long tests."""

    path: str
    tests: int
    seconds: float
    """What its long tests take on a quiet machine, by their marks."""
    distance: int
    """Imports between it and a changed module; ``FAR`` where the change does not touch it."""


# What changed.


def git(*arguments: str) -> str | None:
    """What git prints; None where it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def base_commit() -> tuple[str, str]:
    """The commit to compare with, and how it was found."""
    head = git("rev-parse", "HEAD")
    for branch in ("origin/main", "origin/master", "main"):
        base = git("merge-base", "HEAD", branch)
        if base and base != head:
            return base, f"where this branch left {branch}"
    day_old = git("rev-list", "-1", "--first-parent", "--before=1.day", "HEAD")
    if day_old and day_old != head:
        return day_old, "the last commit that is over a day old"
    first = (git("rev-list", "--first-parent", "--max-count=20", "HEAD") or "HEAD").split()[-1]
    return first, "the earliest of the last 20 commits"


def changed_files(base: str) -> list[str]:
    """Paths that differ between a commit and the checkout."""
    return (git("diff", "--name-only", base) or "").splitlines()


# How far each test file is from the change.


def module_of(path: str) -> str | None:
    """The module in a file: ``src/guerdon/a/b.py`` is ``guerdon.a.b``; ``tests/support/x.py`` is ``support.x``."""
    for prefix in ("src/", "tests/"):
        if path.startswith(prefix) and path.endswith(".py"):
            return path.removeprefix(prefix).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return None


def imported_by(path: Path) -> Iterator[str]:
    """Names of modules that a file imports; of ``from a import b`` both ``a`` and ``a.b``, which may be no module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def importers() -> dict[str, set[str]]:
    """For each module of the package and of the tests, the modules that import it."""
    import grimp

    graph = grimp.build_graph("guerdon")
    found = {module: set(graph.find_modules_that_directly_import(module)) for module in graph.modules}
    for path in sorted(TESTS.rglob("*.py")):
        name = module_of(path.relative_to(ROOT).as_posix())
        assert name
        for imported in imported_by(path):
            found.setdefault(imported, set()).add(name)
    return found


def distances(changed: Iterable[str], importers: Mapping[str, set[str]]) -> dict[str, int]:
    """The least number of imports from each module to one that changed.

    >>> distances(["b"], {"b": {"a"}, "a": {"test_a"}, "c": {"test_c"}})
    {'b': 0, 'a': 1, 'test_a': 2}
    """
    found = dict.fromkeys(changed, 0)
    queue = deque(found)
    while queue:
        module = queue.popleft()
        for importer in sorted(importers.get(module, ())):
            if importer not in found:
                found[importer] = found[module] + 1
                queue.append(importer)
    return found


def mirrored(path: str) -> str:
    """The folder of the package that a test's folder mirrors: ``tests/a/test_b.py`` belongs to ``guerdon.a``."""
    return ".".join(["guerdon", *Path(path).parent.parts[1:]])


def distance_of(path: str, changed: Sequence[str], far: Mapping[str, int]) -> int:
    """How far a test file is from the change; 1 where it stands beside the changed file in the mirrored folder."""
    if path in changed:
        return 0
    folder = mirrored(path)
    beside = any((module_of(file) or "").rpartition(".")[0] == folder for file in changed)
    return min(1 if beside else FAR, far.get(module_of(path) or "", FAR))


# What runs.


def long_tests() -> dict[str, list[float]]:
    """By test file, the seconds that each long test is expected to take."""
    listing = ROOT / ".long_tests.json"
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", LONG]
    command += ["-p", "support.time_limit", f"--list-seconds={listing}"]
    done = subprocess.run(command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 5):
        sys.exit(f"{done.stdout}\nThe long tests cannot be listed.")
    found: dict[str, list[float]] = json.loads(listing.read_text(encoding="utf-8"))
    listing.unlink()
    return found


def environment() -> dict[str, str]:
    # As in the Makefile: many processes import guerdon, and none should compile it anew.
    ours = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    return os.environ | ours | {"GUERDON_FUZZ_CASES": FUZZ_CASES, "GUERDON_FUZZ_SECONDS": FUZZ_SECONDS}


def turn(path: str, commit: str) -> str:
    """Where a file stands among those equally far: an order that each commit draws anew."""
    return hashlib.sha256(f"{commit} {path}".encode()).hexdigest()


def in_order(files: Iterable[LongFile], commit: str) -> list[LongFile]:
    """The closest to the change first; those that the change does not touch last."""
    return sorted(files, key=lambda file: (file.distance, turn(file.path, commit)))


def split_by_time(files: Sequence[LongFile], seconds: float) -> tuple[list[LongFile], list[LongFile]]:
    """Those that fit into the seconds, in order, and those that do not.

    >>> a, b = LongFile("a", 1, 40.0, 0), LongFile("b", 1, 10.0, 1)
    >>> [[file.path for file in part] for part in split_by_time([a, b], 20.0)]
    [['b'], ['a']]
    """
    fit, left_out = [], []
    for file in files:
        if file.seconds <= seconds:
            fit.append(file)
            seconds -= file.seconds
        else:
            left_out.append(file)
    return fit, left_out


def shown(file: LongFile) -> str:
    why = "not touched" if file.distance >= FAR else f"{file.distance} imports from the change"
    return f"  {file.path}: {file.tests} tests, about {file.seconds:.0f} s, {why}"


def run(files: Sequence[LongFile], end_by: float, workers: int, record: Path) -> int:
    """Run the long tests of these files until the end; the exit status of pytest, 124 where it was stopped."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-m", LONG, "-n", str(workers)]
    # File after file in the given order, so that those closest to the change come first.
    command += ["--dist", "loadfile", "--no-loadscope-reorder", "-p", "support.time_limit"]
    command += ["-p", "support.durations", f"--durations-file={record}", *(file.path for file in files)]
    variables = {**environment(), "GUERDON_END_BY": str(end_by - SPARE_SECONDS)}
    process = subprocess.Popen(command, cwd=ROOT, env=variables, start_new_session=True)
    try:
        return process.wait(max(end_by + GRACE_SECONDS - time.time(), 0))
    except subprocess.TimeoutExpired:
        print("The time is long over: the tests that still run are stopped.", flush=True)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return 124


def outcomes(record: Path) -> dict[str, int]:
    """How many tests ended how, from a record of durations."""
    if not record.exists():
        return {}
    counts: dict[str, int] = {}
    for test in json.loads(record.read_text(encoding="utf-8"))["tests"].values():
        counts[test["outcome"]] = counts.get(test["outcome"], 0) + 1
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--end-by", type=float, required=True, help="when all is over, in seconds since 1970")
    parser.add_argument("--before", type=Path, required=True, help="the record of the tests that ran before")
    parser.add_argument("--dry-run", action="store_true", help="print what would run")
    arguments = parser.parse_args()
    workers = os.cpu_count() or 1

    base, how = base_commit()
    changed = changed_files(base)
    print(f"Compared with {base[:12]}, {how}: {len(changed)} files changed.")
    far = distances(filter(None, map(module_of, changed)), importers())
    files = [
        LongFile(path, len(seconds), sum(seconds), distance_of(path, changed, far))
        for path, seconds in long_tests().items()
    ]
    left = arguments.end_by - time.time() - SPARE_SECONDS
    fit, left_out = split_by_time(in_order(files, git("rev-parse", "HEAD") or ""), left * workers)
    print(f"{max(left, 0) / 60:.0f} minutes are left. Of the long tests, these run, in this order:")
    print("\n".join(map(shown, fit)) or "  none")
    print("These are left out; make test-all runs them:")
    print("\n".join(map(shown, left_out)) or "  none", flush=True)
    if arguments.dry_run:
        return

    record = arguments.before.with_suffix(".long.json")
    record.unlink(missing_ok=True)
    status = run(fit, arguments.end_by, workers, record) if fit else 0
    total = {
        outcome: outcomes(arguments.before).get(outcome, 0) + outcomes(record).get(outcome, 0)
        for outcome in ("passed", "failed", "skipped")
    }
    if status not in (0, 5) and not total["failed"]:
        total["failed"] = 1
    print(", ".join(f"{count} {outcome}" for outcome, count in total.items()))
    sys.exit(status not in (0, 5))


if __name__ == "__main__":
    main()
