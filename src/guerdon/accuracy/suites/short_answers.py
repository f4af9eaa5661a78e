"""Answers of five systems to questions of fact, judged right or wrong by people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from guerdon.accuracy.suite import CatalogueVerifier, ExternalVerifier, LabelledCase, Suite

FILE = "qa_evouna_dev.jsonl"
_RATIO = 90.0


def cases(folder: Path) -> Iterator[LabelledCase]:
    """One case an answer; its kind is the system that gave it."""
    with (folder / FILE).open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            row = json.loads(line)
            messages = [
                {"role": "user", "content": row["question"]},
                {"role": "assistant", "content": row["response"]},
            ]
            yield LabelledCase(
                row["id"], {"messages": messages, "ground_truth": row["gold"]}, row["label"], row["model"]
            )


def substring(row: Mapping[str, Any]) -> bool:
    """Whether an accepted answer is a substring of the response, as the field's scripts have it."""
    response = row["messages"][-1]["content"].lower()
    return any(gold.lower() in response for gold in row["ground_truth"])


def partial_ratio(row: Mapping[str, Any]) -> bool:
    """Whether a part of the response is nearly an accepted answer, letter by letter."""
    from rapidfuzz import fuzz

    response = row["messages"][-1]["content"].lower()
    return any(fuzz.partial_ratio(gold.lower(), response) >= _RATIO for gold in row["ground_truth"])


SUITE = Suite(
    name="short-answers",
    title="1,385 answers to questions of fact, judged by people (EVOUNA, Natural Questions)",
    files=(FILE,),
    cases=cases,
    catalogue=(
        CatalogueVerifier("short_answer (strict)", "short_answer"),
        CatalogueVerifier("short_answer (tolerant)", "short_answer", {"mode": "tolerant"}),
        CatalogueVerifier("contains", "contains"),
        CatalogueVerifier("token_f1 ≥ 0.5", "token_f1", threshold=0.5),
        CatalogueVerifier("exact_match", "exact_match"),
    ),
    external=(
        ExternalVerifier("gold in response", "json", substring),
        ExternalVerifier("rapidfuzz partial_ratio ≥ 90", "rapidfuzz", partial_ratio),
    ),
    aim="a better F1 than contains at a precision of .99 or more in strict mode",
)
