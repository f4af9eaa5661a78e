"""Dates in words and figures: one spelling, and which says more."""

from __future__ import annotations

import pytest

from guerdon.rewards.short_answer.dates import contradicts, date_of, with_dates, within


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("July 4, 1776", "1776-07-04"),
        ("July 4th 1776", "1776-07-04"),
        ("4 July 1776", "1776-07-04"),
        ("the 4th of July, 1776", "1776-07-04"),
        ("Thursday, July 4, 1776", "1776-07-04"),
        ("on Sept. 3rd 2001.", "on 2001-09-03."),
        ("1776-07-04", "1776-07-04"),
        ("July 1776", "1776-07"),
        ("July of 1776", "1776-07"),
        ("July 4", "--07-04"),
        ("5th of november", "--11-05"),
        ("31/12/1999", "1999-12-31"),
        ("12/31/1999", "1999-12-31"),
        ("1.2.2003", "2003-02-01"),
        # Day or month first? That is not to be told.
        ("4/7/1776", "4/7/1776"),
        ("4/4/1776", "1776-04-04"),
        ("the sixties", "1960s"),
        ("the ’60s", "the 1960s"),
        ("1960's", "1960s"),
        ("1860s", "1860s"),
        # What is no date.
        ("you may 4 times", "you may 4 times"),
        ("in 1776", "in 1776"),
        ("March on", "March on"),
        ("99/99/1999", "99/99/1999"),
        ("plain", "plain"),
    ],
)
def test_spelling(text: str, wanted: str) -> None:
    assert with_dates(text) == wanted


@pytest.mark.parametrize(
    ("word", "wanted"),
    [
        ("1776-07-04", ("1776", "07", "04")),
        ("1776-07", ("1776", "07", None)),
        ("1776", ("1776", None, None)),
        ("--07-04", (None, "07", "04")),
        ("12", None),
        ("-", None),
        ("1960s", None),
    ],
)
def test_parts(word: str, wanted: tuple[str | None, ...] | None) -> None:
    assert date_of(word) == wanted


@pytest.mark.parametrize(
    ("date", "other", "is_within", "is_against"),
    [
        ("1776-07-04", "1776-07-04", True, False),
        ("1776-07-04", "1776-07", True, False),
        ("1776-07-04", "1776", True, False),
        ("1776-07-04", "--07-04", True, False),
        ("1776", "1776-07-04", False, False),
        ("1776-07-04", "1776-07-05", False, True),
        ("1776-07-04", "1777", False, True),
        ("word", "1776", False, False),
    ],
)
def test_which_says_more(date: str, other: str, is_within: bool, is_against: bool) -> None:
    assert (within(date, other), contradicts(date, other)) == (is_within, is_against)
