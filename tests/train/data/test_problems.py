"""Problems: where they come from, which columns make them, and what is said of those that will not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from guerdon import RewardFunction, reward_function, weighted
from guerdon.data import BadRowsError
from guerdon.errors import InputError
from guerdon.train.config.schema import TrainingConfig
from guerdon.train.data.problems import load_problems

USER = {"role": "user", "content": "2+2?"}
SYSTEM = {"role": "system", "content": "Be brief."}
SAID = {"role": "assistant", "content": "4"}


def write(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("row", "keys", "prompt", "columns"),
    [
        # GSM8K
        ({"question": "2+2?", "answer": "So 4\n#### 4"}, {}, "2+2?",
         {"question": "2+2?", "answer": "So 4\n#### 4"}),
        # agent-tunix
        ({"prompts": "<user>2+2?", "question": "2+2?", "answer": "4"}, {}, "<user>2+2?",
         {"question": "2+2?", "answer": "4"}),
        # TRL, plain and conversational
        ({"prompt": "2+2?", "level": 1}, {}, "2+2?", {"level": 1}),
        ({"prompt": [SYSTEM, USER], "gold": "4"}, {}, [SYSTEM, USER],
         {"gold": "4", "ground_truth": "4"}),
        # Reward Kit, also with an answer at the end
        ({"messages": [USER], "ground_truth": "4"}, {}, [USER], {"ground_truth": "4"}),
        ({"messages": [USER, SAID], "ground_truth": "4"}, {}, [USER], {"ground_truth": "4"}),
        ({"messages": json.dumps([USER, SAID])}, {}, [USER], {}),
        # verl
        ({"prompt": [USER], "reward_model": {"ground_truth": "4"}}, {}, [USER],
         {"reward_model": {"ground_truth": "4"}, "ground_truth": "4"}),
        ({"problem": "2+2?", "metadata": {"level": 1, "unit": "m"}, "level": 2}, {}, "2+2?",
         {"problem": "2+2?", "level": 2, "unit": "m"}),
        ({"ask": "2+2?", "right": "4", "weight": 3},
         {"prompt_column": "ask", "answer_column": "right", "mapping": {"effort": "weight"}}, "2+2?",
         {"ask": "2+2?", "right": "4", "weight": 3, "effort": 3, "ground_truth": "4"}),
        ({"prompt": "2+2?"}, {"system_prompt": "Be brief."}, [SYSTEM, USER], {}),
        ({"prompt": [SYSTEM, USER]}, {"system_prompt": "Be long."}, [SYSTEM, USER], {}),
    ],
)  # fmt: skip
def test_a_row_becomes_a_problem(
    here: Path, row: dict[str, Any], keys: dict[str, Any], prompt: Any, columns: dict[str, Any]
) -> None:
    write(here / "rows.jsonl", [{**row, "id": "r-1"}])
    (problem,) = load_problems(TrainingConfig(train_data_dir="rows.jsonl", **keys), seed=1).train
    assert (problem.id, problem.prompt, problem.columns) == ("r-1", prompt, columns)


def test_the_seed_shuffles_and_a_part_is_held_out(here: Path) -> None:
    write(here / "rows.jsonl", [{"prompt": f"{n}?"} for n in range(20)])
    config = TrainingConfig(train_data_dir="rows.jsonl", train_fraction=0.75)
    one, same, other = (load_problems(config, seed=seed) for seed in (1, 1, 2))
    assert (len(one.train), len(one.test)) == (15, 5)
    assert {p.prompt for p in [*one.train, *one.test]} == {f"{n}?" for n in range(20)}
    assert one == same
    assert one.digest == same.digest != other.digest
    assert [p.prompt for p in one.train] != [p.prompt for p in other.train]
    assert one.train[0].id == int(str(one.train[0].prompt)[:-1]) + 1


@pytest.mark.parametrize(
    ("files", "keys", "counts"),
    [
        ({"a.jsonl": 4, "b.jsonl": 3}, {"train_data_dir": "a.jsonl", "test_data_dir": "b.jsonl"}, (4, 3)),
        ({"d/train.jsonl": 4, "d/test.jsonl": 3}, {"train_data_dir": "d"}, (4, 3)),
        ({"d/train.jsonl": 4, "d/test.jsonl": 3}, {"train_data_dir": "d", "num_test_batches": 1,
                                                    "micro_batch_size": 2}, (4, 2)),
        ({"d/train.jsonl": 4, "d/dev.jsonl": 3}, {"train_data_dir": "d", "split": "dev",
                                                   "train_fraction": 1.0}, (3, 0)),
        ({"a.jsonl": 4}, {"data_source": "a.jsonl", "train_fraction": 0.5}, (2, 2)),
        ({"g/train.jsonl": 4, "g/test.jsonl": 3}, {"data_source": "gsm8k", "train_data_dir": "g"}, (4, 3)),
    ],
)  # fmt: skip
def test_data_lie_in_files_and_folders(
    here: Path, files: dict[str, int], keys: dict[str, Any], counts: tuple[int, int]
) -> None:
    for name, count in files.items():
        write(here / name, [{"question": f"{name} {n}", "answer": "#### 4"} for n in range(count)])
    found = load_problems(TrainingConfig(**keys), seed=1)
    assert (len(found.train), len(found.test)) == counts


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({}, "there is no data to train on"),
        ({"data_source": "arithmetik"}, "did you mean training.data_source=arithmetic?"),
        ({"data_source": "tfds"}, "write gsm8k"),
        ({"train_data_dir": "nothing.jsonl"}, "there is no file or folder nothing.jsonl"),
        ({"train_data_dir": "rows.jsonl", "split": "dev"}, "leave out training.split"),
    ],
)
def test_where_there_are_no_data(here: Path, keys: dict[str, Any], says: str) -> None:
    write(here / "rows.jsonl", [{"prompt": "2+2?"}])
    with pytest.raises(InputError) as caught:
        load_problems(TrainingConfig(**keys), seed=1)
    assert says in str(caught.value)
    assert "--" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "keys", "says"),
    [
        ({"text": "a"}, {}, 'no column "prompt"; the columns are: text'),
        ({"prompt": "  "}, {}, 'column "prompt" is empty'),
        ({"prompt": None}, {}, "is null: every row needs a prompt"),
        ({"messages": [SAID]}, {}, "holds no message to answer"),
        ({"prompt": "a"}, {"answer_column": "gold"}, 'no column "gold" (training.answer_column)'),
        ({"prompt": "a"}, {"mapping": {"gold": "g"}}, 'no column "g" (training.mapping: gold)'),
    ],
)
def test_rows_that_are_no_problems_are_all_listed(
    here: Path, row: dict[str, Any], keys: dict[str, Any], says: str
) -> None:
    good = {"prompt": "2+2?", "text": "x", "gold": 1, "g": 1}
    write(here / "rows.jsonl", [good, *([row] * 30)])
    with pytest.raises(BadRowsError, match=r"30 of 31 rows are malformed; .*rejected\.jsonl") as caught:
        load_problems(TrainingConfig(train_data_dir="rows.jsonl", **keys), 1, None, here / "rejected.jsonl")
    assert says in str(caught.value)
    assert "--" not in str(caught.value)
    listed = [json.loads(line) for line in (here / "rejected.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [entry["line"] for entry in listed] == list(range(2, 32))


class Needs(BaseModel):
    level: int
    unit: str = "m"


@reward_function(metadata_schema=Needs)
def by_level(response: str, metadata: Needs) -> float:
    return float(metadata.level)


def by_gold(response: str, gold: str, step: int, note: str = "") -> float:
    return 1.0


def by_truth(completions: list[str], ground_truth: list[str], **columns: Any) -> list[float]:
    return [1.0 for _ in completions]


@pytest.mark.parametrize(
    ("reward", "row", "says"),
    [
        (by_level, {"level": 2}, None),
        (by_level, {}, "by_level: metadata.level: Field required"),
        (by_level, {"level": "high"}, "by_level: metadata.level"),
        (RewardFunction(by_gold), {"gold": "4"}, None),
        (RewardFunction(by_gold), {"golden": "4"}, "by_gold needs 'gold', which nothing supplies"),
        (RewardFunction(by_truth), {"answer": "4"}, None),
        (RewardFunction(by_truth), {"ground_truth": None}, "by_truth needs 'ground_truth'"),
        (weighted(by_level, weighted(by_gold)), {"level": 1}, "by_gold needs 'gold'"),
        (weighted(by_level, weighted(by_gold)), {"gold": "4"}, "by_level: metadata.level"),
    ],
)  # fmt: skip
def test_every_problem_is_held_to_what_the_reward_reads(
    here: Path, reward: RewardFunction, row: dict[str, Any], says: str | None
) -> None:
    good = {"level": 1, "gold": "4", "answer": "4"}
    write(here / "rows.jsonl", [{"prompt": "a", **good}, {"prompt": "b", **row}, {"prompt": "c", **row}])
    config = TrainingConfig(train_data_dir="rows.jsonl", train_fraction=1.0)
    if says is None:
        assert len(load_problems(config, 1, reward).train) == 3
        return
    with pytest.raises(BadRowsError, match="2 of 3 rows are malformed") as caught:
        load_problems(config, 1, reward)
    assert "rows.jsonl, row 2-3: " in str(caught.value)
    assert says in str(caught.value)


def test_held_out_problems_are_checked_too(here: Path) -> None:
    write(here / "d" / "train.jsonl", [{"prompt": "a", "gold": "4"}])
    write(here / "d" / "test.jsonl", [{"prompt": "b"}])
    with pytest.raises(BadRowsError, match=r"d \(held out\), row 1: by_gold needs"):
        load_problems(TrainingConfig(train_data_dir="d"), 1, RewardFunction(by_gold))


def test_rows_that_are_no_problem_and_those_that_lack_something_are_listed_at_once(here: Path) -> None:
    write(here / "rows.jsonl", [{"prompt": "a", "unit": "m"}, {"prompt": None, "unit": "m"}, {"prompt": "b"}])
    reward = RewardFunction(lambda response, unit: 1.0, name="by_unit")
    with pytest.raises(BadRowsError, match="2 of 3 rows are malformed") as caught:
        load_problems(TrainingConfig(train_data_dir="rows.jsonl"), 1, reward)
    assert 'rows.jsonl:2: column "prompt" is null' in str(caught.value)
    assert "rows.jsonl, row 3: by_unit needs 'unit'" in str(caught.value)


def test_the_columns_that_were_found_are_said(here: Path) -> None:
    write(here / "rows.jsonl", [{"question": "2+2?", "gold": "4"}])
    problems = load_problems(TrainingConfig(train_data_dir="rows.jsonl"), 1)
    assert problems.columns == ["columns: prompt=question, ground_truth=gold"]
    named = load_problems(
        TrainingConfig(train_data_dir="rows.jsonl", prompt_column="question", answer_column="gold"), 1
    )
    assert named.columns == []


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"prompt_column": "qestion"},
            'no column "qestion" (training.prompt_column); did you mean question?',
        ),
        ({"mapping": {"level": "levl"}}, 'no column "levl" (training.mapping: level); did you mean level?'),
        (
            {},
            "2 columns may be the prompt: question and problem; choose one: training.prompt_column=question or",
        ),
    ],
)
def test_columns_that_are_not_clear(here: Path, keys: dict[str, Any], says: str) -> None:
    write(here / "rows.jsonl", [{"question": "2+2?", "problem": "2+2?", "level": 1}])
    with pytest.raises(InputError) as caught:
        load_problems(TrainingConfig(train_data_dir="rows.jsonl", **keys), 1)
    assert says in str(caught.value)
