"""Samples: what they offer, the rows they come from, and the way back."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import (
    Sample,
)
from guerdon.errors import InputError
from support.type_strategies import JSON, MESSAGES

# Samples


def test_what_a_sample_offers() -> None:
    sample = Sample.from_row(
        {
            "messages": [
                {"role": "user", "content": "first"},
                {"role": "assistant", "content": "x"},
                {"role": "user", "content": "second"},
                {"role": "assistant", "content": "answer"},
            ],
            "ground_truth": "g",
            "metadata": {"level": 1, "kind": "nested"},
            "kind": "own column",
            "id": 7,
        }
    )
    assert (sample.response, sample.prompt, len(sample.original_messages)) == ("answer", "second", 3)
    assert (sample.ground_truth, sample.answer, sample.id) == ("g", None, 7)
    assert sample.metadata == {"level": 1, "kind": "own column"}


def test_a_given_context_is_kept() -> None:
    system = [{"role": "system", "content": "s"}]
    sample = Sample(messages=[*system, {"role": "assistant", "content": "a"}], original_messages=system)
    assert (sample.prompt, sample.original_messages[0].role) == ("", "system")
    assert Sample(messages=[{"role": "user", "content": "q"}] * 2, original_messages=[]).prompt == ""


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (None, "a row must be an object with messages, not NoneType"),
        ([1], "not list"),
        ({}, r'the row has no "messages" \(its columns: none\)'),
        ({"prompt": "p", 5: 1}, r"its columns: 5, prompt\); map columns"),
        ({"messages": []}, '"messages" is empty'),
        ({"messages": None}, '"messages" is empty'),
        ({"messages": "text"}, "messages must be a list of messages"),
        ({"messages": [{}]}, r"messages\[0\]\.role"),
        ({"messages": [{"role": "user"}], "original_messages": "x"}, "original_messages must be a list"),
        ({"messages": [{"role": "user"}], "metadata": [1]}, '"metadata" must be an object, not list'),
        ({"messages": [{"role": "user"}], "id": 1.5}, '"id" must be a string or a whole number, not float'),
        ({"messages": [{"role": "user"}], "id": True}, "not bool"),
    ],
)
def test_malformed_rows(row: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Sample.from_row(row)


SAMPLES = st.builds(
    lambda messages, context, truth, answer, metadata, identity: Sample(
        messages=messages,
        original_messages=context,
        ground_truth=truth,
        answer=answer,
        metadata=metadata,
        id=identity,
    ),
    st.lists(MESSAGES, min_size=1, max_size=3),
    st.none() | st.lists(MESSAGES, max_size=2),
    JSON,
    JSON,
    st.dictionaries(st.text(), JSON, max_size=3),
    st.none() | st.text() | st.integers(),
)


@given(SAMPLES)
def test_a_sample_survives_its_row(sample: Sample) -> None:
    assert Sample.from_row(sample.to_row()) == sample
    assert Sample.from_row(json.loads(json.dumps(sample.to_row()))) == sample
    assert pickle.loads(pickle.dumps(sample)) == sample
