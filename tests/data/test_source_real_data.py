"""The real files: every row is read, none is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.data import Columns, open_dataset


def test_gsm8k_solutions(data_dir: Path) -> None:
    path = data_dir / "gsm8k_model_solutions_dev.jsonl"
    data = open_dataset(path, columns=Columns(prompt="question", response="response", answer="gold"))
    assert data.check() == 1600
    rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    for sample, row in zip(data, rows, strict=True):
        assert (sample.prompt, sample.response, sample.ground_truth, sample.id) == (
            row["question"],
            row["response"],
            row["gold"],
            row["id"],
        )
        assert sample.metadata == {key: row[key] for key in ("gold_solution", "label", "model")}


@pytest.mark.parametrize(
    ("name", "columns", "rows"),
    [
        ("gsm8k_train_1000.jsonl", Columns(prompt="question", response="answer"), 1000),
        ("math_test_golds_dev.jsonl", Columns(response="question", answer="answer"), 1500),
        ("code_mbpp_dev.jsonl", Columns(prompt="prompt", response="response"), 240),
        ("ifeval_phi3_dev.jsonl", Columns(prompt="prompt", response="response"), 271),
        ("qa_evouna_dev.jsonl", Columns(prompt="question", response="response", answer="gold"), 1385),
        ("llmbar_natural_dev.jsonl", Columns(prompt="prompt", response="response_a"), 100),
        ("sql_geoquery_dev.jsonl", Columns(prompt="question", response="sql"), 670),
        ("function_calling/function_calling.jsonl", Columns(), 13),
        ("function_calling/json_schema.jsonl", Columns(), 12),
    ],
)
def test_every_row_of_a_file(data_dir: Path, name: str, columns: Columns, rows: int) -> None:
    data = open_dataset(data_dir / name, columns=columns)
    assert data.check() == rows
    assert sum(1 for _ in data) == rows


def test_json_lines_by_the_name_of_json(data_dir: Path) -> None:
    path = data_dir / "function_calling" / "BFCL_v4_live_simple.json"
    expected = sum(1 for line in path.read_bytes().split(b"\n") if line.strip())
    data = open_dataset(path, columns=Columns(response="id"))
    assert data.check() == expected > 1
