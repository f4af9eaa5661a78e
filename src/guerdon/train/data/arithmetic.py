"""Sums made on the spot, with a reward for them: a task that a tiny model learns from nothing in a minute.

A problem is ``3+4`` or ``3 + 4``, and the response wanted is ``=7.`` and nothing more.
"""

from __future__ import annotations

import re

from guerdon.reward.function import RewardFunction
from guerdon.train.data.problem import Problem

_LARGEST = 4
_NOTATIONS = ("{}+{}", "{} + {}")
_ANSWER = re.compile(r"=(\d+)")


def arithmetic() -> list[Problem]:
    """The sums of two numbers from 0 to 4, each in two notations; ``ground_truth`` is the sum as text.

    >>> problem = arithmetic()[-1]
    >>> problem.prompt, problem.columns, len(arithmetic())
    ('4 + 4', {'ground_truth': '8'}, 50)
    """
    numbers = range(_LARGEST + 1)
    texts = [(form.format(a, b), str(a + b)) for a in numbers for b in numbers for form in _NOTATIONS]
    return [Problem(text, text, {"ground_truth": result}) for text, result in texts]


def form(response: str) -> float:
    """How near a response is to the form ``=7.``: a quarter each for the sign, a digit, the full stop and the end.

    The digit counts beside the sign or the full stop only, and the end only after the full stop.

    >>> [form(text) for text in ("=7.", "=7.3", "=7", "=", "7", "+7.")]
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.75]
    """
    sign, stop = response[:1] == "=", response[2:3] == "."
    digit = response[1:2] in set("0123456789") and (sign or stop)
    return (sign + digit + stop + (stop and len(response) == 3)) / 4


def right(response: str, ground_truth: str) -> bool:
    """Whether the number after the equals sign is the sum.

    >>> right("=7.", "7"), right("=77", "7"), right("7", "7")
    (True, False, False)
    """
    match = _ANSWER.match(response)
    return match is not None and match[1] == ground_truth


sums = (0.5 * RewardFunction(form, name="format") + 0.5 * RewardFunction(right, name="correct")).with_name(
    "sums"
)
"""Half for the format and half for the right sum, from 0 to 1."""
