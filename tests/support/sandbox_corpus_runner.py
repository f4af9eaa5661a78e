"""Runs the corpus in one tier as the user that it is started as, and writes what came of each attack.

    python sandbox_corpus_runner.py TIER WHICH RESULTS

``WHICH`` is ``host``, ``rewards`` or ``honest``, with ``:25`` each 25th of them; ``TIER`` also may be ``unconfined``,
which runs those attacks that are known to succeed without a sandbox. The standard library and guerdon.sandbox only,
so that any interpreter will do.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from host_canary import Outside, children, descendants, resident_mb, settled, shared_mb, threads_of
from sandbox_attacks import CORPUS, Attack, attacks

import guerdon
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.local import pool
from guerdon.sandbox.sandbox import Sandbox

PROBE = (CORPUS / "probe.py").read_text(encoding="utf-8")
VICTIM = "victim = input()  # the-program-of-the-{0}program\nprint(len(victim), len(open('given').read()))"
LATE_S = 5.0
"""Seconds beyond the wall limit in which a run must have been reported."""


class AttackMonitor:
    """One sandbox, and what is around it before and after each attack."""

    def __init__(self, tier: str, outside: Outside) -> None:
        self.outside = outside
        self.sandbox = Sandbox(tier, workers=1)
        self.sandbox.run("print(1)")
        self.sandbox.run("print(1)", limits=Limits(scratch_mb=8))
        self.probed = self.probe()
        self.targets = outside.targets([str(Path(p).resolve()) for p in guerdon.__path__])
        self.processes = descendants()
        self.first = children()
        self.threads = threads_of(self.processes)
        self.shared = shared_mb()
        self.state = outside.state()

    def probe(self) -> str:
        """What a run sees of the world: nothing that any run before it did."""
        done = self.sandbox.run(PROBE, stdin="stdin", limits=Limits(scratch_mb=8))
        return f"{done.status} {done.stdout} {done.stderr}"

    def attack(self, attack: Attack) -> dict[str, Any]:
        victim = "of-the-" + "victim-"
        self.sandbox.run(
            VICTIM.format("of-the-" + "victim-"),
            stdin=f"the-input-{victim}input",
            files={"given": f"the-file-{victim}file"},
            limits=Limits(scratch_mb=8),
        )
        limits = Limits(**attack.limits)
        started = time.monotonic()
        try:
            with self.outside.reaching(attack.reach):
                done = self.sandbox.run(attack.program(self.targets), language=attack.language, limits=limits)
        except Exception as error:  # whatever a program does, it must raise nothing here
            return {"id": attack.id, "findings": [f"it raised {error!r}"]}
        took = time.monotonic() - started
        findings = list(self._findings(attack, done, took, limits))
        return {
            "id": attack.id,
            "findings": findings,
            "status": done.status,
            "took": took,
            "cpu_s": done.cpu_s,
            "memory_mb": done.memory_mb,
            "stdout": done.stdout[:3000],
            "stderr": done.stderr[-2000:],
            "detail": done.detail,
        }

    def _findings(self, attack: Attack, done: Any, took: float, limits: Limits) -> Any:
        text = done.stdout + done.stderr
        for line in text.splitlines():
            if line.startswith("BREACH"):
                yield line[:300]
        if self.outside.secret in text:
            yield "the output holds the secret"
        if done.status not in attack.ends:
            yield f"ended as {done.status}: {done.detail}"
        if took > limits.wall_s + LATE_S:
            yield f"took {took:.1f} s of {limits.wall_s}"
        if done.cpu_s > limits.cpu_s * 1.5 + 0.4:
            yield f"used {done.cpu_s:.1f} s of {limits.cpu_s} s of processor time"
        if max(len(done.stdout), len(done.stderr)) > limits.output_kb * 1024:
            yield f"{len(done.stdout)} and {len(done.stderr)} characters of output"
        if self.outside.heard:
            yield f"servers heard of it: {sorted(set(self.outside.heard))}"
            self.outside.heard.clear()
        # A fork server may keep a fork ready for the next run, so it is their number that counts.
        if not settled(lambda: len(descendants()) <= len(self.processes)):
            now = descendants()
            yield f"processes are left: { {pid: now[pid] for pid in now if pid not in self.processes} }"
            self.processes = now
        if not self.first <= set(descendants()):
            yield "the fork server was lost"
            self.first = children()
        if not settled(lambda: threads_of(descendants()) <= self.threads):
            yield "threads are left"
        if (held := resident_mb(descendants())) > 400:
            yield f"{held:.0f} MiB are held"
        if not settled(lambda: shared_mb() < self.shared + 64):
            yield f"{shared_mb() - self.shared:.0f} MiB of files in memory are left"
            self.shared = shared_mb()
        state = self.outside.state()
        for what, value in self.state.items():
            if state[what] != value:
                yield f"{what}: {value} became {state[what]}"
        self.state = state
        probed = self.probe()
        if probed != self.probed:
            yield f"the next run sees {probed} instead of {self.probed}"


NUMBERS = ([3, 1, 2], [9, 7], [10, 4, 6, 2])
LOOP = """
def check(candidate):
    for numbers in ([3, 1, 2], [9, 7], [10, 4, 6, 2]):
        assert candidate(list(numbers)) == sorted(numbers)
"""
MEANS = """
from math import isclose

def check(candidate):
    assert isclose(candidate([1.0, 2.0]), 1.5)
    assert abs(candidate([4.0, 4.0]) - 4.0) < 1e-6
    assert round(candidate([2.0, 4.0, 3.0]), 3) == 3.0
"""
SAME_ARGUMENT = "numbers = [3, 1, 2]\nassert solve(numbers) == sorted(numbers)"
LOOKS = """
result = solve([3, 1, 2])
assert len(result) == 3
assert result[0] == 1 and result[-1] == 3
assert 2 in result
assert list(result) == [1, 2, 3]
assert isinstance(result, list)
"""
METHODS = """
import unittest

class Tests(unittest.TestCase):
    def test_three(self):
        self.assertEqual(solve([3, 1, 2]), [1, 2, 3])

    def test_mean(self):
        self.assertAlmostEqual(mean([1.0, 2.0]), 1.5)
"""
LATE = """
import datetime

def check(candidate):
    found = [candidate([3, 1, 2]), candidate([9, 7])]
    # From here on the program has had its time to write what is imported.
    import csv, difflib, locale, pprint, queue, string, unittest, uuid
    assert datetime.datetime.strptime("2020-02", "%Y-%m").month == 2
    assert "b\u00fccher".encode("idna") and difflib and pprint and uuid and csv and queue and locale
    unittest.TestCase().assertEqual(found, [[1, 2, 3], [7, 9]])
    assert found[1] == [7, 9]
"""
FORMS: dict[str, list[Any]] = {
    "stdin": [StdinTest(" ".join(map(str, n)) + "\n", " ".join(map(str, sorted(n))) + "\n") for n in NUMBERS],
    "call": [
        *(CallTest("solve", [list(n)], expected=sorted(n)) for n in NUMBERS),
        CallTest("mean", [[1.0, 2.0]], expected=1.5),
        CallTest("solve", (), {"numbers": [2, 1]}, [1, 2]),
    ],
    "plain assert": [
        AssertTest("assert solve([3, 1, 2]) == [1, 2, 3]"),
        AssertTest("assert solve([9, 7]) == [7, 9]\nassert solve([5, 4]) == [4, 5]"),
        AssertTest("import math\nassert math.isclose(mean([1.0, 2.0]), 1.5, abs_tol=1e-9)"),
        AssertTest("assert abs(mean([1.0, 2.0]) - 1.5) < 1e-6"),
    ],
    "assert program": [
        AssertTest(LOOP, entry_point="solve"),
        AssertTest(MEANS, entry_point="mean"),
        AssertTest(LOOKS, entry_point="solve"),
        AssertTest(SAME_ARGUMENT, entry_point="solve"),
        AssertTest(LATE, entry_point="solve"),
        AssertTest(METHODS, entry_point="solve", proxied=("mean",)),
    ],
}
"""The forms of test, for programs that sort numbers (``solve``) and average them (``mean``)."""


def judged(sandbox: Sandbox, attack: Attack) -> dict[str, Any]:
    """What each test of each form says of a program."""
    source = attack.program({})
    limits = Limits(cpu_s=0.4, wall_s=0.8, memory_mb=128)
    results: dict[str, list[Any]] = {}
    started = time.monotonic()
    findings = []
    # What never ends costs its whole limit each time, so once a form is enough.
    once = attack.name == "never_ends" or attack.variant == "recursion"
    for form, tests in FORMS.items():
        try:
            found = sandbox.run_tests(source, tests, limits=limits, stop_on_failure=once)
        except Exception as error:  # whatever a program does, it must raise nothing here
            findings.append(f"{form}: it raised {error!r}")
            continue
        if len(found) != (1 if once else len(tests)):
            findings.append(f"{form}: {len(found)} results of {len(tests)} tests")
        results[form] = [(one.passed, one.status, one.detail, one.tamper_resistant) for one in found]
    took = time.monotonic() - started
    return {"id": attack.id, "findings": findings, "took": took, "results": results}


def unconfined(outside: Outside, attack: Attack) -> dict[str, Any]:
    """An attack as an ordinary process: it must succeed, or it shows nothing."""
    targets = outside.targets([str(Path(p).resolve()) for p in guerdon.__path__])
    with tempfile.TemporaryDirectory() as folder:
        program = attack.program(targets)
        try:
            done = subprocess.run(
                [sys.executable, "-c", program],
                cwd=folder,
                capture_output=True,
                timeout=5,
                close_fds=False,
            )
            output = done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"") + (late.stderr or b"")
    text = output.decode("utf-8", "replace")
    succeeded = "BREACH" in text or outside.secret in text or bool(outside.heard)
    outside.heard.clear()
    return {"id": attack.id, "findings": ["succeeded"] if succeeded else [], "stdout": text[-3000:]}


def main(tier: str, which: str, results: str, *only: str) -> None:
    # However slow the disk is: a fork server that empties a folder would be replaced, and "lost" be seen in that.
    pool.CLEAN_S = 60.0
    # Orphans come to this process, so that none is missed. Its own priority may be looked at, not its memory.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
    chosen = [attack for attack in attacks(which) if not only or attack.id in only or attack.name in only]
    with tempfile.TemporaryDirectory() as folder, open(results, "w", encoding="utf-8") as file:
        os.chdir(folder)
        outside = Outside(Path(folder))
        try:
            if tier == "unconfined":
                for attack in chosen:
                    if attack.breaches_unconfined:
                        print(json.dumps(unconfined(outside, attack)), file=file, flush=True)
                return
            if which.partition(":")[0] != "host":
                with Sandbox(tier, workers=1) as sandbox:
                    for attack in chosen:
                        print(json.dumps(judged(sandbox, attack)), file=file, flush=True)
                return
            watch = AttackMonitor(tier, outside)
            for attack in chosen:
                print(json.dumps(watch.attack(attack)), file=file, flush=True)
            watch.sandbox.close()
            left = settled(lambda: set(descendants()) <= {outside.process.pid})
            ending = {"id": "end", "findings": [] if left else [f"after close: {descendants()}"]}
            print(json.dumps(ending), file=file, flush=True)
        finally:
            outside.close()
            os.chdir("/")


if __name__ == "__main__":
    main(*sys.argv[1:])
