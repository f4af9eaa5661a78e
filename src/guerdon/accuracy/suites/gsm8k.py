"""Solutions to problems of grade-school mathematics, of models and of people, labelled right or wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from guerdon.accuracy.suite import LabelledCase, Suite
from guerdon.accuracy.suites._math_verifiers import CATALOGUE, EXTERNAL, row_of

FILE = "gsm8k_model_solutions_dev.jsonl"


def cases(data: Path) -> Iterator[LabelledCase]:
    """The solutions of the models, and once for each problem that of a person, which is right."""
    seen: set[str] = set()
    for line in (data / FILE).read_text(encoding="utf-8").split("\n"):
        if not line:
            continue
        row = json.loads(line)
        question, gold = row["question"], row["gold"]
        if question not in seen:
            seen.add(question)
            yield LabelledCase(
                f"{row['id']}-gold", row_of(question, row["gold_solution"], gold), True, "people"
            )
        yield LabelledCase(row["id"], row_of(question, row["response"], gold), row["label"], row["model"])


SUITE = Suite(
    name="gsm8k",
    title="GSM8K: whole solutions of models and of people",
    files=(FILE,),
    cases=cases,
    catalogue=CATALOGUE,
    external=EXTERNAL,
    aim="every verdict equals the label",
)
