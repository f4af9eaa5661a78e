"""Gold answers of MATH against themselves, rewritten so that they stay right, and so that they turn wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from guerdon.accuracy.suite import LabelledCase, Suite
from guerdon.accuracy.suites._math_verifiers import CATALOGUE, EXTERNAL, row_of
from guerdon.accuracy.suites._rewrites import box
from guerdon.accuracy.suites._rewrites_breaking import breaking
from guerdon.accuracy.suites._rewrites_keeping import keeping

FILE = "math_test_golds_dev.jsonl"


def golds(data: Path) -> list[tuple[str, str, str]]:
    """Number, question and gold of each row; the golds of a question with several are one list."""
    rows = [json.loads(line) for line in (data / FILE).read_text(encoding="utf-8").split("\n") if line]
    return [
        (
            str(row["index"]),
            row["question"],
            gold if isinstance(gold := row["answer"], str) else ", ".join(gold),
        )
        for row in rows
    ]


def themselves(data: Path) -> Iterator[LabelledCase]:
    """Each gold in a box."""
    for index, question, gold in golds(data):
        yield LabelledCase(f"{index}/itself", row_of(question, box(gold), gold), True, "itself")


def kept(data: Path) -> Iterator[LabelledCase]:
    """Each gold in other forms and places."""
    for number, (index, question, gold) in enumerate(golds(data)):
        for rewrite in keeping(gold, turn=number):
            yield LabelledCase(
                f"{index}/{rewrite.kind}", row_of(question, rewrite.response, gold), True, rewrite.kind
            )


def broken(data: Path) -> Iterator[LabelledCase]:
    """Each gold made wrong, hidden, hedged or taken back."""
    rows = golds(data)
    for number, (index, question, gold) in enumerate(rows):
        other = rows[(number + 1) % len(rows)][2]
        for rewrite in breaking(gold, question, other, turn=number):
            yield LabelledCase(
                f"{index}/{rewrite.kind}", row_of(question, rewrite.response, gold), False, rewrite.kind
            )


SUITES = (
    Suite(
        "math-golds",
        "MATH: gold answers against themselves",
        (FILE,),
        themselves,
        CATALOGUE,
        EXTERNAL,
        "all are right",
    ),
    Suite(
        "math-rewrites",
        "MATH: gold answers in other forms, all right",
        (FILE,),
        kept,
        CATALOGUE,
        EXTERNAL,
        "at least 99.5 % are found right",
    ),
    Suite(
        "math-breaks",
        "MATH: gold answers made wrong, hidden, hedged or taken back",
        (FILE,),
        broken,
        CATALOGUE,
        EXTERNAL,
        "none is found right",
    ),
)
