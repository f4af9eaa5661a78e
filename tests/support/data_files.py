"""Data files as people have them, in the shapes that trainers, evaluators and annotators write: two answers each.

The first answer is right and the second is wrong; some have them twice.
"""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Row = dict[str, Any]

PROMPTS = ("What is 2 + 2?", "What is 2 + 3?")
RESPONSES = ("The answer is 4.", "The answer is 6.")
TRUTHS = ("4", "5")
EACH = list(zip(PROMPTS, RESPONSES, TRUTHS, strict=True))


def user(text: str) -> Row:
    return {"role": "user", "content": text}


def assistant(text: str) -> Row:
    return {"role": "assistant", "content": text}


def turn(speaker: str, text: str) -> Row:
    return {"from": speaker, "value": text}


# Writers.


def lines(rows: list[Row]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)

    return write


def document(value: Any, indent: int | None = None) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(json.dumps(value, indent=indent), encoding="utf-8")

    return write


def table(rows: list[Row], delimiter: str = ",", start: str = "") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(start)
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
            writer.writeheader()
            for row in rows:
                writer.writerow({k: v if isinstance(v, str | int) else json.dumps(v) for k, v in row.items()})

    return write


def parquet(rows: list[Row]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        pa = pytest.importorskip("pyarrow", reason="Parquet needs the extra data")
        pytest.importorskip("pyarrow.parquet").write_table(pa.Table.from_pylist(rows), path)

    return write


def arrow(rows: list[Row]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        pa = pytest.importorskip("pyarrow", reason="Arrow needs the extra data")
        made = pa.Table.from_pylist(rows)
        with pytest.importorskip("pyarrow.ipc").new_stream(str(path), made.schema) as writer:
            writer.write_table(made)

    return write


def archive(samples: list[Row]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
            for sample in samples:
                name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
                made.writestr(name, json.dumps(sample))

    return write


# Rows.


def named(prompt: str, response: str, truth: str | None = None, **more: Any) -> list[Row]:
    return [{prompt: p, response: r, **({truth: t} if truth else {}), **more} for p, r, t in EACH]


def chat(**more: Any) -> list[Row]:
    return [{"messages": [user(p), assistant(r)], "ground_truth": t, **more} for p, r, t in EACH]


def inspect_samples() -> list[Row]:
    return [
        {
            "id": number,
            "epoch": 1,
            "input": p,
            "choices": None,
            "target": t,
            "messages": [
                {"id": "m1", "content": p, "source": "input", "role": "user"},
                {"id": "m2", "content": [{"type": "text", "text": r}], "role": "assistant", "model": "m"},
            ],
            "output": {
                "model": "m",
                "choices": [{"message": assistant(r), "stop_reason": "stop"}],
                "completion": r,
            },
            "scores": {"match": {"value": "C", "answer": r}},
            "metadata": {"level": 1},
            "events": [],
        }
        for number, (p, r, t) in enumerate(EACH, 1)
    ]


def nemo_rollouts() -> list[Row]:
    return [
        {
            "responses_create_params": {"input": [{**user(p), "type": "message"}], "tools": []},
            "response": {
                "output": [
                    {"type": "reasoning", "summary": []},
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": r, "annotations": []}],
                    },
                ]
            },
            "reward": 1.0,
            "expected_answer": t,
        }
        for p, r, t in EACH
    ]


def verl_rows(**more: Any) -> list[Row]:
    return [
        {
            "data_source": "openai/gsm8k",
            "prompt": [user(p)],
            "ability": "math",
            "reward_model": {"ground_truth": t, "style": "rule"},
            "extra_info": {"answer": f"so {t}", "index": 0, "question": p, "split": "train"},
            "responses": [r],
            **more,
        }
        for p, r, t in EACH
    ]


COLUMNS = ("prompt", "response", "ground_truth")
LISTS = [list(each) for each in EACH]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file, and what is said of its columns."""

    name: str
    write: Callable[[Path], None]
    line: str | None = None
    """The line about its columns, without what it begins with; None where rows are in chat form."""
    refused: tuple[str, ...] = ()
    """Why it is refused without options; the error names those that work."""
    scores: tuple[float | None, ...] = (1.0, 0.0)
    groups: str | None = None
    """What its groups are, where some have two samples."""
    truth_refused: bool = False
    """Whether it is the ground truth that is unclear."""
    prompts: bool = True
    """Whether there are prompts to train on, all with what the reward reads."""


STANDARD = "prompt, response, ground_truth"

DATA_FILES = {
    # Chat form, and other conversations.
    "chat": DataFile("d.jsonl", lines(chat())),
    "chat with an answer": DataFile(
        "d.jsonl", lines([{"messages": [user(p), assistant(r)], "answer": t} for p, r, t in EACH])
    ),
    "chat compressed": DataFile("d.jsonl.gz", lines(chat(id=None))),
    "chat in a list": DataFile("d.json", document(chat(), indent=1)),
    "chat in CSV": DataFile("d.csv", table(chat())),
    "chat in Parquet": DataFile("d.parquet", parquet(chat())),
    "chat with a solution": DataFile(
        "d.jsonl",
        lines([{"messages": [user(p), assistant(r)], "solution": t} for p, r, t in EACH]),
        "ground_truth=solution",
    ),
    "OpenAI fine-tuning with labels": DataFile(
        "d.jsonl",
        lines([{"messages": [user(p), assistant(r)], "label": True, "gold": t} for p, r, t in EACH]),
        "ground_truth=gold",
    ),
    "ShareGPT": DataFile(
        "d.json",
        document([{"conversations": [turn("human", p), turn("gpt", r)], "answer": t} for p, r, t in EACH]),
        "messages=conversations",
    ),
    "ShareGPT with a system prompt": DataFile(
        "d.jsonl",
        lines(
            [
                {
                    "conversations": [turn("system", "Be brief."), turn("human", p), turn("gpt", r)],
                    "target": t,
                }
                for p, r, t in EACH
            ]
        ),
        "messages=conversations, ground_truth=target",
    ),
    "messages that wait, and the response": DataFile(
        "d.jsonl",
        lines([{"messages": [user(p)], "response": r, "ground_truth": t} for p, r, t in EACH]),
        "prompt=messages, response, ground_truth",
    ),
    # Flat tables.
    "question, completion, answer": DataFile(
        "d.csv",
        table(named("question", "completion", "answer")),
        "prompt=question, response=completion, ground_truth=answer",
    ),
    "prompt, response, ground_truth": DataFile(
        "d.jsonl", lines(named("prompt", "response", "ground_truth")), STANDARD
    ),
    "TRL's prompt and completion, messages": DataFile(
        "d.jsonl",
        lines([{"prompt": [user(p)], "completion": [assistant(r)], "solution": t} for p, r, t in EACH]),
        "prompt, response=completion, ground_truth=solution",
    ),
    "problem, generation, gold": DataFile(
        "d.jsonl",
        lines(named("problem", "generation", "gold", level=3)),
        "prompt=problem, response=generation, ground_truth=gold",
    ),
    "instruction, output, label": DataFile(
        "d.parquet",
        parquet(named("instruction", "output", "label")),
        "prompt=instruction, response=output, ground_truth=label",
    ),
    "input, output, target": DataFile(
        "d.arrow",
        arrow(named("input", "output", "target")),
        "prompt=input, response=output, ground_truth=target",
    ),
    "query, prediction, reference": DataFile(
        "d.tsv",
        table(named("query", "prediction", "reference"), "\t"),
        "prompt=query, response=prediction, ground_truth=reference",
    ),
    "semicolons, as Excel writes them": DataFile(
        "d.csv",
        table(named("prompt", "response", "answer"), ";", "\ufeff"),
        "prompt, response, ground_truth=answer",
    ),
    "capitals and spaces": DataFile(
        "d.csv",
        table(named("Question", "Model Response", "Ground Truth")),
        "prompt=Question, response=Model Response, ground_truth=Ground Truth",
    ),
    "an index, as pandas writes it": DataFile(
        "d.csv",
        table([{"": n, **row} for n, row in enumerate(named("prompt", "response", "answer"))]),
        "prompt, response, ground_truth=answer",
    ),
    "RAGAS": DataFile(
        "d.jsonl",
        lines(named("question", "answer", "ground_truth", contexts=["a text"])),
        "prompt=question, response=answer, ground_truth",
    ),
    "question, model_response, expected_answer": DataFile(
        "d.ndjson",
        lines(named("question", "model_response", "expected_answer")),
        "prompt=question, response=model_response, ground_truth=expected_answer",
    ),
    "a null truth": DataFile(
        "d.jsonl",
        lines([*named("prompt", "response", "answer"), {"prompt": "p", "response": "r", "answer": None}]),
        "prompt, response, ground_truth=answer",
        scores=(1.0, 0.0, None),
        prompts=False,
    ),
    "responses only": DataFile(
        "d.jsonl",
        lines([{"response": r, "answer": t} for _, r, t in EACH]),
        "response, ground_truth=answer",
        prompts=False,
    ),
    "equal prompts": DataFile(
        "d.jsonl",
        lines([*named("prompt", "response", "answer"), *named("prompt", "response", "answer")]),
        "prompt, response, ground_truth=answer",
        scores=(1.0, 0.0, 1.0, 0.0),
        groups="equal prompts",
    ),
    # Several responses in a row.
    "lists of responses": DataFile(
        "d.jsonl",
        lines([{"prompt": p, "responses": [r, "No idea."], "answer": t} for p, r, t in EACH]),
        "prompt, response=responses, ground_truth=answer",
        scores=(1.0, 0.0, 0.0, 0.0),
        groups="equal prompts",
    ),
    "lists of completions in CSV": DataFile(
        "d.csv",
        table([{"prompt": p, "completions": [r, "No idea."], "answer": t} for p, r, t in EACH]),
        "prompt, response=completions, ground_truth=answer",
        scores=(1.0, 0.0, 0.0, 0.0),
        groups="equal prompts",
    ),
    "OpenAI's choices": DataFile(
        "d.jsonl",
        lines(
            [
                {
                    "prompt": p,
                    "choices": [
                        {"index": 0, "message": assistant(r)},
                        {"index": 1, "message": assistant("")},
                    ],
                    "answer": t,
                }
                for p, r, t in EACH
            ]
        ),
        "prompt, response=choices, ground_truth=answer",
        scores=(1.0, 0.0, 0.0, 0.0),
        groups="equal prompts",
    ),
    "choices to choose from": DataFile(
        "d.jsonl",
        lines(named("question", "output", "answer", choices=["4", "5"])),
        "prompt=question, response=output, ground_truth=answer",
    ),
    "OpenAI's batch output": DataFile(
        "d.jsonl",
        lines(
            [
                {
                    "custom_id": p,
                    "response": {"status_code": 200, "body": {"choices": [{"message": assistant(r)}]}},
                    "answer": t,
                }
                for p, r, t in EACH
            ]
        ),
        "response, ground_truth=answer",
        prompts=False,
    ),
    # Rollouts of trainers.
    "TRL's completions": DataFile(
        "completions_00010.parquet",
        parquet(named("prompt", "completion", "answer", step=10, accuracy_reward=1.0, advantage=0.5)),
        "prompt, response=completion, ground_truth=answer",
    ),
    "verl's rollouts": DataFile(
        "10.jsonl",
        lines(named("input", "output", "gts", score=1.0, step=10)),
        "prompt=input, response=output, ground_truth=gts",
    ),
    "verl's data with responses": DataFile(
        "d.parquet",
        parquet(verl_rows()),
        "prompt, response=responses, ground_truth=reward_model.ground_truth",
    ),
    "NeMo Gym's rollouts": DataFile(
        "rollouts.jsonl",
        lines(nemo_rollouts()),
        "messages=responses_create_params + response, as NeMo Gym writes rollouts",
        prompts=False,
    ),
    # Exports.
    "a table of W&B": DataFile(
        "samples.table.json",
        document({"columns": list(COLUMNS), "data": LISTS, "ncols": 3, "nrows": 2}),
        STANDARD,
    ),
    "a table of trackio": DataFile(
        "d.json",
        document({"_type": "trackio.table", "_value": named("prompt", "completion", "answer")}),
        "prompt, response=completion, ground_truth=answer",
    ),
    "pandas by columns": DataFile(
        "d.json",
        document(
            {n: {str(i): each[k] for i, each in enumerate(EACH)} for k, n in enumerate(COLUMNS)},
        ),
        STANDARD,
    ),
    "pandas, split": DataFile(
        "d.json", document({"columns": list(COLUMNS), "index": [0, 1], "data": LISTS}), STANDARD
    ),
    "columns as lists": DataFile(
        "d.json", document({n: [each[k] for each in EACH] for k, n in enumerate(COLUMNS)}), STANDARD
    ),
    "the viewer of Hugging Face": DataFile(
        "d.json",
        document(
            {
                "features": [],
                "rows": [
                    {"row_idx": i, "row": row, "truncated_cells": []}
                    for i, row in enumerate(named("question", "response", "answer"))
                ],
            }
        ),
        "prompt=question, response, ground_truth=answer",
    ),
    "rows under data": DataFile(
        "d.json",
        document({"version": "1", "data": named("question", "response", "answer")}, indent=2),
        "prompt=question, response, ground_truth=answer",
    ),
    "Inspect's log": DataFile("log.eval", archive(inspect_samples())),
    "Inspect's log as JSON": DataFile(
        "log.json",
        document({"version": 2, "status": "success", "eval": {"task": "t"}, "samples": inspect_samples()}),
    ),
    # Refused, with what works.
    "two responses": DataFile(
        "d.jsonl",
        lines([{"prompt": p, "response": r, "completion": "No.", "answer": t} for p, r, t in EACH]),
        refused=("2 columns may be the response: response and completion",),
    ),
    "two prompts": DataFile(
        "d.csv",
        table([{"question": p, "prompt": f"Q: {p}", "response": r, "answer": t} for p, r, t in EACH]),
        refused=("2 columns may be the prompt: prompt and question",),
    ),
    "Alpaca": DataFile(
        "d.json",
        document(
            [{"instruction": "Add.", "input": p, "output": r, "target": t} for p, r, t in EACH], indent=2
        ),
        refused=("2 columns may be the prompt: instruction and input",),
        groups="equal prompts",
    ),
    "two truths": DataFile(
        "d.jsonl",
        lines([{"problem": p, "output": r, "answer": t, "solution": f"So {t}."} for p, r, t in EACH]),
        refused=("2 columns may be the ground truth: answer and solution",),
        truth_refused=True,
    ),
    "a response of another name": DataFile(
        "d.jsonl",
        lines([{"prompt": p, "reply": r, "answer": t} for p, r, t in EACH]),
        refused=("no column for the response", "--response-column reply"),
    ),
    "a response of a name with a space": DataFile(
        "d.csv",
        table([{"Prompt": p, "My Reply": r, "Answer": t} for p, r, t in EACH]),
        refused=("no column for the response", "--response-column 'My Reply'"),
    ),
    "preferences": DataFile(
        "d.jsonl",
        lines([{"prompt": p, "chosen": r, "rejected": "No.", "answer": t} for p, r, t in EACH]),
        refused=("no column for the response", "--response-column chosen"),
    ),
}
