"""What a response says to its reader."""

from __future__ import annotations

import pytest

from guerdon.rewards.answers.visible import visible


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<think>Rome</think>Paris", "Paris"),
        ("Rome</think>Paris", "Paris"),
        ("Paris<think>Rome", "Paris"),
        ("Paris<!-- Rome -->", "Paris"),
        ("Paris<!-- Rome", "Paris"),
        ("Paris", "Paris"),
    ],
)
def test_what_is_said(text: str, wanted: str) -> None:
    assert visible(text) == wanted
