"""The thinking and the answer of a response, and its prose."""

from __future__ import annotations

import pytest

from guerdon.rewards.common.prose import part_of, prose


@pytest.mark.parametrize(
    ("text", "thinking", "answer"),
    [
        ("<think>a</think>b", "a", "b"),
        ("a</think>b", "a", "b"),
        ("<think>a</think>b<think>c</think>d", "a</think>b c", "d"),
        ("b", "", "b"),
        ("b<think>a", "a", "b"),
        ("", "", ""),
    ],
)
def test_the_parts_of_a_response(text: str, thinking: str, answer: str) -> None:
    assert (part_of(text, "thinking"), part_of(text, "answer")) == (thinking, answer)
    assert part_of(text, "response") == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a `b` c", "a c"),
        ("a ```b\nc``` d", "a d"),
        ("a $b$ c $$d$$ e", "a c e"),
        (r"a \(b\) c \[d\] e", "a c e"),
        (r"a \begin{align*}b\end{align*} c", "a c"),
        ("a <b>c</b> <!-- d --> e", "a c e"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("costs $5 today", "costs $5 today"),
        ("$we shall say it here$", "$we shall say it here$"),
        (r"\textbf{a} \alpha", "{a}"),
    ],
)
def test_prose(text: str, left: str) -> None:
    assert prose(text).split() == left.split()
