"""Where a response in words gives its answer, and what of it still stands."""

from __future__ import annotations

import time

import pytest

from guerdon.errors import InputError
from guerdon.rewards.answers.text import at_place, bare, claims, places, sentences
from guerdon.rewards.answers.visible import visible


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("It is so. It was so.", ["It is so.", "It was so."]),
        ("J. K. Rowling wrote it. It sold.", ["J. K. Rowling wrote it.", "It sold."]),
        ("Dr. Smith of St. Louis came at 5 p.m. today.", ["Dr. Smith of St. Louis came at 5 p.m. today."]),
        ("The U.S. Senate. Yes!", ["The U.S. Senate.", "Yes!"]),
        ("Version 2.0 is out. Really?", ["Version 2.0 is out.", "Really?"]),
        ("one\ntwo\n\nthree", ["one", "two", "three"]),
        ("東京です。大阪です。", ["東京です。", "大阪です。"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("", []),
    ],
)
def test_sentences(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


@pytest.mark.parametrize(
    ("place", "text", "wanted"),
    [
        ("boxed", r"\boxed{a{b}c} and \fbox{d}", ["a{b}c", "d"]),
        ("boxed", r"\boxed{never closed", []),
        ("tag", "<answer>a</answer> <final_answer>b</final_answer>", ["a", "b"]),
        ("tag", "<answer><answer>a</answer>", ["a"]),
        ("hashes", "x\n#### a", ["a"]),
        ("hashes", "x #### a", []),
        ("label", "Answer: a\n**Final answer:** b\nThe correct answer: c", ["a", "b", "c"]),
        ("label", "My answer: a", []),
        ("phrase", "The answer is a. The correct option would be B.", ["a.", "B."]),
        ("phrase", "If the answer is a, then b. I wonder whether the answer is c", []),
        ("phrase", "I think the answer is a.", ["a."]),
        ("phrase", "So the answer is a?", []),
    ],
)
def test_places(place: str, text: str, wanted: list[str]) -> None:
    assert [claim.text for claim in at_place(text, place)] == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Answer: a\nAnswer: b", ["a", "b"]),
        ("Answer: a\nNo, that is wrong.\nAnswer: b", ["b"]),
        ("Answer: a\nWait.\nAnswer: b\nAnswer: c", ["b", "c"]),
        ("Answer: a\nI was wrong.", []),
        ("Answer: a\nThat is not correct", []),
        ("Answer: a\nThat is correct", ["a"]),
        ("nothing", []),
    ],
)
def test_what_stands(text: str, wanted: list[str]) -> None:
    assert [claim.text for claim in claims(text, ["label"])] == wanted


def test_the_first_place_that_there_is() -> None:
    text = "The answer is a. <answer>b</answer>"
    assert [claim.text for claim in claims(text, ["boxed", "tag", "phrase"])] == ["b"]
    assert [claim.text for claim in claims(text, ["boxed", "all"])] == [text]
    assert claims(text, ["boxed"]) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (" **Paris**. ", "Paris"),
        ("$\\text{Paris}$", "Paris"),
        (r"\(Paris\)", "Paris"),
        ("“Paris”", "Paris"),
        ("`Paris`", "Paris"),
        ("_Paris_", "Paris"),
        ("'Paris'", "Paris"),
        ("$5", "$5"),
        ("", ""),
        (".", ""),
    ],
)
def test_bare(text: str, wanted: str) -> None:
    assert bare(text) == wanted


def test_the_parameter() -> None:
    assert places(None, ("all",)) == ("all",)
    assert places("tag, all", ("all",)) == ["tag", "all"]
    with pytest.raises(InputError, match="extract knows boxed, tag, hashes, label, phrase, all, not"):
        places("middle", ("all",))


@pytest.mark.parametrize(
    "piece",
    ["the answer is ", "Answer: ", "<answer>", r"\boxed{", "Answer: a\n", "<!--", "A. ", "*", "#### a\n"],
)
def test_a_megabyte_ends_soon(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    for place in ("boxed", "tag", "hashes", "label", "phrase"):
        claims(visible(text), [place])
    assert time.process_time() - start < 5
