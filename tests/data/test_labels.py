"""Labels that trainers hand over, as ground truth and as columns."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.data.labels import after_prompt, labelled_sample


@pytest.mark.parametrize(
    ("label", "truth", "columns"),
    [
        ("4", "4", {"label": "4"}),
        (4, 4, {"label": 4}),
        (None, None, {}),
        ("", "", {"label": ""}),
        ("[1, 2]", "[1, 2]", {"label": "[1, 2]"}),
        ("{not json", "{not json", {"label": "{not json"}),
        ('{"ground_truth": "4", "level": 3}', "4", {"level": 3}),
        (' {"ground_truth": null, "level": 3}', None, {"level": 3}),
        ('{"tests": [1]}', '{"tests": [1]}', {"tests": [1]}),
        ({"ground_truth": "4", "level": 3}, "4", {"level": 3}),
        ("[" * 100_000, "[" * 100_000, {}),
        ('{"a":' * 100_000, '{"a":' * 100_000, {}),
    ],
)
def test_a_label(label: Any, truth: Any, columns: dict[str, Any]) -> None:
    sample = labelled_sample("2 + 2?", "4", label)
    assert sample.ground_truth == truth
    assert columns.items() <= sample.metadata.items()
    assert (sample.response, sample.prompt) == ("4", "2 + 2?")


def test_columns_of_the_label_win_and_a_sample_s_own_names_do_no_harm() -> None:
    label = {"level": 3, "messages": "none", "answer": "four", "id": "row-7", "response": "other"}
    sample = labelled_sample([{"role": "user", "content": "2 + 2?"}], "4", label, {"level": 1, "unit": "m"})
    assert (sample.response, sample.answer, sample.id) == ("4", "four", "row-7")
    assert (sample.metadata["level"], sample.metadata["unit"]) == (3, "m")
    assert labelled_sample("", "4", {"id": [1]}).id is None


@pytest.mark.parametrize(
    ("query", "prompt", "response"),
    [
        ("2 + 2?4", "2 + 2?", "4"),
        ("<s>2 + 2?4</s>", "2 + 2?", "4</s>"),
        ("4", "2 + 2?", "4"),
        ("4", "", "4"),
        ("a a b", "a", " a b"),
    ],
)
def test_what_follows_the_prompt(query: str, prompt: str, response: str) -> None:
    assert after_prompt(query, prompt) == response
