"""LLMBar: pairs of responses of which people say which one follows its instruction.

It costs requests to a judge, so it is run only where the environment names one (GUERDON_JUDGE_MODEL, and what
else docs/judge.md describes).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from guerdon.accuracy.suite import CatalogueVerifier, LabelledCase, Suite
from guerdon.errors import InputError
from guerdon.rewards.judge.endpoint import endpoint

FILE = "llmbar_natural_dev.jsonl"
_RUBRIC = (
    "Which response does what the instruction asks? What it asks for comes first; whether the response is correct "
    "comes second; how well it is written comes last. Leaving out what was asked for, doing something else, and "
    "adding what was not asked for are faults."
)


def lacks() -> str | None:
    """Why no judge can be asked; None where one can."""
    try:
        endpoint(None, None, None)
    except InputError as error:
        return str(error)
    return None


def cases(data: Path) -> Iterator[LabelledCase]:
    """The pairs in their order; right where the first response is the better one."""
    with (data / FILE).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            row = json.loads(line)
            if row["label"] not in ("A", "B"):
                raise InputError(f"{FILE}, line {number}: the label must be A or B, not {row['label']!r:.20}")
            messages = [
                {"role": "user", "content": row["prompt"]},
                {"role": "assistant", "content": row["response_a"]},
            ]
            columns = {"messages": messages, "reference_response": row["response_b"], "rubric": _RUBRIC}
            yield LabelledCase(row["id"], columns, row["label"] == "A", row["subset"])


SUITE = Suite(
    name="llmbar",
    title='LLMBar, 100 natural pairs; "right" is that the first response is better, a tie is not',
    files=(FILE,),
    cases=cases,
    lacks=lacks,
    catalogue=(
        CatalogueVerifier(
            "judge (pairwise)", "guerdon.rewards.judge.reward:judge", {"kind": "pairwise"}, threshold=0.501
        ),
    ),
)
