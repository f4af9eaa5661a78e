"""Parameters of rewards as the command line, JSON and Python give them."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import non_negative, shown, text_list, whole_number, yes_or_no


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, []),
        ([], []),
        ("a", ["a"]),
        (" a ,b", ["a", "b"]),
        ("a,a", ["a", "a"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        (["a, b", " c "], ["a, b", "c"]),
        (("a", 7), ["a", "7"]),
        (7, ["7"]),
        ({"a": None}.keys(), ["a"]),
    ],
)
def test_lists(value: Any, texts: list[str]) -> None:
    assert text_list(value, "it") == texts


@pytest.mark.parametrize("value", ["", "a,", [""], "[1.5]", "[", [None], [["a"]], {"a": 1}, b"a", True, 1.5])
def test_what_is_no_list(value: Any) -> None:
    with pytest.raises(InputError, match=r"^it "):
        text_list(value, "it")


@pytest.mark.parametrize(("value", "number"), [(None, None), (0, 0.0), ("1.5", 1.5), (3, 3.0), (" 4 ", 4.0)])
def test_numbers(value: Any, number: float | None) -> None:
    assert non_negative(value, "it") == number


@pytest.mark.parametrize("value", [-1, "", "x", "nan", "inf", True, [], pytest.param(10**5000, id="huge")])
def test_what_is_no_number(value: Any) -> None:
    with pytest.raises(InputError, match=r"^it must be a number of 0 or more, not "):
        non_negative(value, "it")


@pytest.mark.parametrize(
    ("value", "truth"), [(True, True), ("TRUE", True), ("1", True), (1, True), ("no", False), ("off", False)]
)
def test_truth(value: Any, truth: bool) -> None:
    assert yes_or_no(value, "it") is truth


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r'"a\nb"'),
        ("\ud800", r'"\ud800"'),
        ("x" * 100, '"' + "x" * 39 + '…"'),
        (None, "None"),
        (7, "7"),
        pytest.param(10**5000, "a int", id="huge"),
        (b"x", "a bytes"),
        ([1], "a list"),
    ],
)
def test_values_in_messages_are_short_and_printable(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("value", "least", "number"), [(3, 0, 3), ("3", 0, 3), (2.0, 1, 2), ("2.0", 2, 2), (0, 0, 0)]
)
def test_whole_numbers(value: Any, least: int, number: int) -> None:
    found = whole_number(value, "size", least=least)
    assert (found, type(found)) == (number, int)


@pytest.mark.parametrize("value", [0, -1, 1.5, "x", "", None, True, [1], float("nan"), float("inf"), 10**400])
def test_what_is_no_whole_number(value: Any) -> None:
    with pytest.raises(InputError, match="size must be a whole number of 1 or more, not "):
        whole_number(value, "size", least=1)
