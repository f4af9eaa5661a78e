"""A composed reward: mostly for a right answer, a little for a short one and for marking it.

guerdon score examples/composed.py::combined examples/conversations.jsonl
"""

from __future__ import annotations

import re

from guerdon import EvaluateResult, get_reward_function, reward_function, weighted

ANSWER = re.compile(
    r"""
    \\boxed\{(?P<boxed>.*)\}
    | \#\#\#\#\s*(?P<hashes>.+)
    | <answer>(?P<tag>.*?)</answer>
    | [Tt]he\ answer\ is\ (?P<said>[^\\\n]+?)\.?$
    """,
    re.MULTILINE | re.VERBOSE,
)


def final_answer(response: str) -> str | None:
    """The last marked answer, or None."""
    found = list(ANSWER.finditer(response))
    return next(filter(None, found[-1].groups()), "") if found else None


def plain(answer: str) -> str:
    """An answer without LaTeX fractions, case and spaces."""
    fraction = re.sub(r"\\d?frac\{(\d+)\}\{(\d+)\}", r"\1/\2", answer)
    return re.sub(r"[\s$]+", "", fraction).casefold()


@reward_function
def correct(response: str, ground_truth: str) -> EvaluateResult:
    """Whether the marked answer is the right one."""
    answer = final_answer(response)
    if answer is None:
        return EvaluateResult(0.0, "no answer is marked")
    return EvaluateResult(float(plain(answer) == plain(ground_truth)), f"answered {answer}")


@reward_function
def marked(response: str) -> bool:
    """Whether an answer is marked."""
    return final_answer(response) is not None


brief = get_reward_function("length", maximum=40)

combined = weighted({correct: 0.7, brief: 0.2, marked: 0.1}, name="combined")
