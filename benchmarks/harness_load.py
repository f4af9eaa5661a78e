"""Judges completions with another package's own harness, in that package's environment: a client of sandbox.py.

    python harness_load.py reward-kit|verl < CASES

Reads lines ``{"program": …, "tests": {"fn_name": …, "inputs": […], "outputs": […]}}``, the form of APPS, which both
take; the last line written is ``{"seconds": …, "passed": […]}``.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

Harness = Callable[[dict[str, Any], str], list[Any]]


def reward_kit() -> Harness:
    """reward-kit's harness for APPS."""
    check = importlib.import_module("reward_kit.rewards.apps_execution_utils").check_correctness
    return lambda tests, program: list(check(tests, program, 5, False)[0])


class RuntimeModule:
    """What verl takes from pyext, a package that does not import with Python 3.11 or later."""

    @staticmethod
    def from_string(name: str, doc: str, source: str) -> types.ModuleType:
        """A module with that source."""
        module = types.ModuleType(name, doc)
        exec(source, module.__dict__)
        return module


def verl() -> Harness:
    """verl's prime_code, loaded by its path: importing verl itself imports torch."""
    shim: Any = types.ModuleType("pyext")
    shim.RuntimeModule = RuntimeModule
    sys.modules["pyext"] = shim
    found = importlib.util.find_spec("verl")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "utils" / "reward_score" / "prime_code"
    package = types.ModuleType("prime_code")
    package.__path__ = [str(folder)]
    sys.modules["prime_code"] = package
    check = importlib.import_module("prime_code.utils").check_correctness
    return lambda tests, program: list(check(in_outs=tests, generation=program, timeout=5, debug=False)[0])


def main() -> None:
    """Judges what it reads."""
    harness = {"reward-kit": reward_kit, "verl": verl}[sys.argv[1]]()
    cases = [json.loads(line) for line in sys.stdin]
    passed = []
    with contextlib.redirect_stdout(io.StringIO()):
        begun = time.perf_counter()
        for case in cases:
            found = harness(case["tests"], case["program"])
            passed.append(bool(found) and all(one is True for one in found))
        seconds = time.perf_counter() - begun
    print(json.dumps({"seconds": seconds, "passed": passed}))


if __name__ == "__main__":
    main()
