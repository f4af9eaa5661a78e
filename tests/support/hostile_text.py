"""Responses that take a careless reader quadratic time, and which of them do."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import guerdon
from guerdon.scoring.worker.connection import resident_bytes
from guerdon.testing.rows import chat_of
from guerdon.types import Sample

SIZES = (3_000, 12_000, 48_000)
_UNITS = (
    "a", "0", "1,", "1 ", "a\n", "\n", " ", "\t", " \n", "```\n", "```json\n", "~~~\n", "<a", "<a>", "<think>",
    "<answer>", "</answer>", "\\boxed{", "\\frac{", "\\text{", "(", "[", "{", "[1,", '{"a":', "$", "$ ", "|", "*", "**",
    "_", "#", "- a\n", "1. ", "1,000,", "1^", "x^", "-", "=", "x=", ":", ".", "...", ". ", "!", "?", "'", '"', '"a\\',
    "\\", "\\(", "<!--", "<tool_call>{", "[a](", "A) ", "A or ", "answer: ", "The answer is ", "not ", "wait, ", "é",
    "½", "e\u0301", "字", "\r",
)  # fmt: skip
_AROUND = (
    "{}", "\\boxed{{{}}}", "<answer>{}</answer>", "${}$", "The answer is {}", "```json\n{}\n```",
    "\\boxed{{1}} x{}! \\boxed{{2}}", "It is 7{} or 8", "1, {}2", "\\boxed{{1}}{}x\\boxed{{2}}",
)  # fmt: skip
TEXTS: Mapping[str, tuple[str, str]] = {
    f"{unit!r} in {around!r}": (unit, around) for around in _AROUND for unit in _UNITS
}
"""What is repeated, and what stands around it."""
LONGEST_S = 5.0
"""Processor seconds for the largest text: quadratic work on it takes minutes, and linear work hundredths."""
MOST_MB = 400


class _OverError(BaseException):
    """The text takes too long; nothing that the reward catches."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _OverError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def excesses(
    name: str, row: Mapping[str, Any], texts: Sequence[str], parameters: Mapping[str, Any]
) -> list[str]:
    """Which of the texts, put in place of the row's response, take the reward too much."""
    reward = guerdon.get_reward_function(name, **parameters)
    found = []
    for text in texts:
        unit, around = TEXTS[text]
        for size in SIZES:
            sample = Sample.from_row(chat_of({**row, "response": around.format(unit * (size // len(unit)))}))
            started = time.process_time()
            try:
                with _limit(LONGEST_S):
                    result = reward.evaluate(sample)
            except _OverError:
                found.append(f"{text}: {size} characters take more than {LONGEST_S:g} s")
                break
            if result.error is not None and result.error_kind not in ("input", "timeout"):
                found.append(f"{text}: {result.error}")
            if time.process_time() - started > LONGEST_S:
                found.append(f"{text}: {size} characters take too long")
                break
    return found


def main() -> None:
    """Reads name, row, texts and parameters as JSON, and prints the excesses."""
    name, row, texts, parameters = json.load(sys.stdin)
    found = excesses(name, row, texts, parameters)
    used = resident_bytes() >> 20
    print(json.dumps([*found, *([f"{used} MiB of memory"] if used > MOST_MB else [])]))


if __name__ == "__main__":
    main()
