"""Groups: by a column, else by equal prompts; a column that is not there is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError
from guerdon.scoring.grouping import Grouping
from guerdon.types import Sample


def row(prompt: str, response: str, **columns: Any) -> dict[str, Any]:
    return {"prompt": prompt, "response": response, **columns}


def length(response: str) -> float:
    return float(len(response))


PAIRS = [row("a?", "1"), row("b?", "1"), row("a?", "12"), row("b?", "123")]


def test_groups_are_equal_prompts_where_nothing_else_says_it() -> None:
    groups = guerdon.score(length, PAIRS, workers=0).statistics().groups
    assert groups is not None
    assert (groups.by, groups.count, groups.compared, groups.mean_size) == ("equal prompts", 2, 2, 2.0)


def test_prompts_that_differ_are_no_groups() -> None:
    assert guerdon.score(length, PAIRS[:2], workers=0).statistics().groups is None
    assert guerdon.score(length, ["1", "12"], workers=0).statistics().groups is None


@pytest.mark.parametrize("column", ["group_id", "group", "run.group"])
def test_a_column_of_groups_is_known(column: str) -> None:
    rows = [{**each, column: number // 2} for number, each in enumerate(PAIRS)]
    groups = guerdon.score(length, rows, workers=0).statistics().groups
    assert groups is not None
    assert (groups.by, groups.count) == (f"column {column}", 2)


def test_group_by_names_a_column_also_inside_an_object() -> None:
    rows = [{**each, "extra_info": {"index": 0}, "metadata": {"kind": "k"}} for each in PAIRS]
    for column in ("extra_info.index", "kind", "prompt"):
        groups = guerdon.score(length, rows, group_by=column, workers=0).statistics().groups
        assert groups is not None
        assert groups.count == (2 if column == "prompt" else 1)


@pytest.mark.parametrize("call", [guerdon.score, guerdon.stream])
def test_group_by_of_an_unknown_column_is_an_error(call: Any) -> None:
    with pytest.raises(InputError, match=r'group_by: no column "promt"; did you mean prompt\?'):
        call(length, PAIRS, group_by="promt", workers=0)
    samples = [Sample([{"role": "assistant", "content": "a"}], metadata={"problem_id": 1})]
    with pytest.raises(InputError, match="did you mean problem_id"):
        call(length, samples, group_by="problem", workers=0)


def test_the_key_of_a_prompt_is_short_and_the_same_for_rows_and_samples() -> None:
    grouping = Grouping(())
    messages = [{"role": "user", "content": "a" * 10_000}, {"role": "assistant", "content": "b"}]
    key = grouping.group({"messages": messages})
    assert len(key) == 12
    assert key == grouping.group(Sample(messages))
    assert key != grouping.group({"messages": [{**messages[0], "role": "system"}, messages[1]]})
    for broken in ({"messages": 5}, {"messages": ["a", "b"]}, {"messages": None}, {}):
        assert grouping.group(broken) is None


def test_rows_of_a_file_name_the_group(tmp_path: Path) -> None:
    guerdon.score(length, PAIRS, workers=0, output=tmp_path / "scores.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[0]["group"] == rows[2]["group"] != rows[1]["group"] == rows[3]["group"]


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ([("user", "a"), ("assistant", "b"), ("user", "c")], [("user", "a\0assistant\0b\0user\0c")]),
        ([("user", "1 1 1\0user")], [("user", "")]),
        ([("system", None)], [("system", "None")]),
        ([("user", [{"type": "text", "text": "a"}])], [("user", "[{'type': 'text', 'text': 'a'}]")]),
        ([("user", "ab")], [("usera", "b")]),
    ],
)
def test_no_prompt_passes_for_another(one: Any, another: Any) -> None:
    prompts = [[{"role": role, "content": content} for role, content in turns] for turns in (one, another)]
    rows = [{"messages": [*prompt, {"role": "assistant", "content": "x"}]} for prompt in prompts]
    grouping = Grouping.of(rows, None)
    keys = [grouping.group(row) for row in rows]
    assert keys[0] != keys[1]
    assert [grouping.group(Sample.from_row(row)) for row in rows] == keys
