"""Tables in memory are rows, of whatever package they are."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.data.tables import MemoryTable
from guerdon.errors import InputError

ROWS = [
    {"id": 7, "prompt": "2 + 2?", "response": "4", "answer": "4", "level": 1},
    {"id": 8, "prompt": "2 + 3?", "response": "6", "answer": "5", "level": None},
]


def right(response: str, answer: str) -> float:
    return float(response == answer)


def pandas_frame() -> Any:
    return pytest.importorskip("pandas", reason="pandas comes with the extra data").DataFrame(ROWS)


def polars_frame() -> Any:
    return pytest.importorskip("polars", reason="polars comes with the extra test").DataFrame(ROWS)


def arrow_table() -> Any:
    return pytest.importorskip("pyarrow", reason="Arrow needs the extra data").Table.from_pylist(ROWS)


def hf_dataset() -> Any:
    return pytest.importorskip("datasets", reason="datasets come with the extra data").Dataset.from_list(ROWS)


TABLES = {
    "pandas": pandas_frame,
    "polars": polars_frame,
    "a lazy frame of polars": lambda: polars_frame().lazy(),
    "Arrow": arrow_table,
    "a record batch": lambda: arrow_table().to_batches()[0],
    "a reader of record batches": lambda: arrow_table().to_reader(),
    "datasets": hf_dataset,
    "one split": lambda: pytest.importorskip("datasets").DatasetDict({"train": hf_dataset()}),
    "an iterable dataset": lambda: hf_dataset().to_iterable_dataset(),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_is_its_rows(make: Any) -> None:
    scores = guerdon.score(right, make(), workers=0)
    assert (scores.scores, scores.ids) == ([1.0, 0.0], [7, 8])
    assert scores.columns == ["columns: prompt, response, ground_truth=answer"]


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_the_columns_of_a_table_are_named(make: Any) -> None:
    scores = guerdon.score(lambda response: len(response), make(), columns={"response": "prompt"}, workers=0)
    assert scores.scores == [6.0, 6.0]
    with pytest.raises(InputError, match=r'no column "respons".*did you mean response'):
        guerdon.score(right, make(), columns={"response": "respons"}, workers=0)


def test_cells_of_pandas_are_python_values() -> None:
    pd = pytest.importorskip("pandas", reason="pandas comes with the extra data")
    np = pytest.importorskip("numpy")
    frame = pd.DataFrame(
        {
            "text": ["a", None],
            "number": [1.5, float("nan")],
            "whole": pd.array([1, None], dtype="Int64"),
            "listed": [np.array(["x", "y"]), [np.int64(1)]],
            "object": [{"k": np.float64(2)}, None],
        }
    )
    table = MemoryTable.of(frame)
    assert table is not None
    assert list(table) == [
        {"text": "a", "number": 1.5, "whole": 1, "listed": ["x", "y"], "object": {"k": 2.0}},
        {"text": None, "number": None, "whole": None, "listed": [1], "object": None},
    ]


def test_an_empty_table_has_no_samples() -> None:
    assert len(guerdon.score(right, pandas_frame().head(0), workers=0)) == 0


async def scored_by_each_function(data: Any) -> list[list[float | None]]:
    """The scores of stream, ascore and astream."""
    streamed = [result.score for result in guerdon.stream(right, data, workers=0)]
    scored = (await guerdon.ascore(right, data, workers=0)).scores
    return [streamed, scored, [result.score async for result in guerdon.astream(right, data, workers=0)]]


def test_every_function_takes_tables_and_paths(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    for data in (pandas_frame(), str(path), path, guerdon.open_dataset(path), ROWS):
        assert asyncio.run(scored_by_each_function(data)) == [[1.0, 0.0]] * 3


def test_two_columns_of_one_name() -> None:
    pd = pytest.importorskip("pandas", reason="pandas comes with the extra data")
    with pytest.raises(InputError, match='two columns are named "response"'):
        guerdon.score(right, pd.DataFrame([["a", "b"]], columns=["response", "response"]))


def test_several_splits_are_refused_with_their_names() -> None:
    datasets = pytest.importorskip("datasets", reason="datasets come with the extra data")
    both = datasets.DatasetDict({"train": hf_dataset(), "test": hf_dataset()})
    with pytest.raises(InputError, match='choose one: data\\["train"\\], data\\["test"\\]'):
        guerdon.score(right, both)


def test_a_table_without_a_response_is_refused() -> None:
    with pytest.raises(InputError, match=r'no column for the response.*columns={"response": "reply"}'):
        guerdon.score(right, pandas_frame().rename(columns={"response": "reply"}))


def test_a_column_of_texts_is_responses() -> None:
    assert guerdon.score(lambda response: len(response), pandas_frame()["prompt"], workers=0).scores == [6, 6]
    with pytest.raises(InputError, match="a row must be an object"):
        guerdon.score(lambda response: 1.0, pandas_frame()["id"], workers=0)


@pytest.mark.parametrize(
    "rows", [{"a", "b"}, frozenset({"a"}), {"a": 1}.keys()], ids=lambda v: type(v).__name__
)
def test_a_set_has_no_order_to_score_in(rows: Any) -> None:
    with pytest.raises(InputError, match="samples must be rows in an order, not a set"):
        guerdon.score(lambda response: 1.0, rows, workers=0)
