"""Calls of a program's functions, many in one process.

``questions`` is lines. The first holds options, every other one the calls of one test: ``[[function, arguments,
keyword arguments or null], …]`` as inside.encoding writes it. The program's answers are written in the same order,
those of one test at once, a line each: ``[test, call, null, word, …]`` (see solution.call_outcome). Before the
first test comes ``["ready"]``, or ``["failed", names, message, line]`` where the program itself raised.

No line is more than a claim: it was written by a process that runs the program, which may write what it likes.
What is expected is not known here. The exception is a test that needs the program's live objects: its code runs
here after the program, and its outcome is written behind a number that the options hold, which can be forged.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

from . import decoding, encoding, solution, testcode


def answer(source: bytes, questions: bytes, write: Callable[[bytes], None]) -> None:
    """Runs the program and answers the questions."""
    first, *lines = questions.split(b"\n")
    options: dict[str, Any] = json.loads(first)
    live = options.get("live")
    try:
        module = solution.load(source, prelude=options["prelude"], setup=live["setup"] if live else "")
    except BaseException as error:  # whatever the program raises is reported
        write(_line(["failed", *solution.describe_exception(error)]))
        return
    write(b'["ready"]\n')
    if live:
        write(
            _line([options["nonce"], *testcode.run(testcode.TestPlan(**live), module, beside_program=True)])
        )
        return
    for number, line in enumerate(lines):
        calls = decoding.loads(line)
        write(b"".join(_answered(module, [number, at], *call) for at, call in enumerate(calls)))


def _answered(
    module: ModuleType, number: list[int], name: str, arguments: list[Any], keywords: dict[str, Any] | None
) -> bytes:
    return (
        solution.call_outcome(number, lambda: solution.find(module, name)(*arguments, **keywords or {}))
        + b"\n"
    )


def _line(answer: list[Any]) -> bytes:
    return encoding.dumps(answer) + b"\n"
