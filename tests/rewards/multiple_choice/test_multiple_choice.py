"""``multiple_choice``: parameters that make no sense, the forms of options, adversarial responses.

The table of its verdicts is ``cases/multiple_choice.jsonl``.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.rewards.multiple_choice.choices import OptionList, chosen_labels, options_of
from guerdon.rewards.multiple_choice.reward import multiple_choice

CITIES = ["London", "Paris", "Rome", "Bonn"]
LETTERS = ("A", "B", "C", "D")


@pytest.mark.parametrize(
    ("choices", "prompt", "labels", "texts"),
    [
        (CITIES, "", LETTERS, tuple(CITIES)),
        (tuple(CITIES), "", LETTERS, tuple(CITIES)),
        ('["x", "y"]', "", ("A", "B"), ("x", "y")),
        ({"A": "x", "B": "y"}, "", ("A", "B"), ("x", "y")),
        ({"(1)": "x", "(2)": "y"}, "", ("1", "2"), ("x", "y")),
        ({"label": ["A", "B"], "text": ["x", "y"]}, "", ("A", "B"), ("x", "y")),
        ([{"A": "x"}, {"B": "y"}], "", ("A", "B"), ("x", "y")),
        ([{"label": "A", "text": "x"}, {"label": "B", "text": "y"}], "", ("A", "B"), ("x", "y")),
        ([1, 2], "", ("A", "B"), ("1", "2")),
        (None, "Which?\nA) x\nB) y", ("A", "B"), ("x", "y")),
        (None, "Example:\nA. x\nB. y\nNow:\n(A) u\n(B) v\n(C) w", ("A", "B", "C"), ("u", "v", "w")),
    ],
)
def test_options(choices: Any, prompt: str, labels: tuple[str, ...], texts: tuple[str, ...]) -> None:
    assert options_of(choices, prompt) == OptionList(labels, texts)


@pytest.mark.parametrize("prompt", ["", "Which?", "A) only one", "B) x\nC) y"])
def test_without_options_every_letter_is_one(prompt: str) -> None:
    assert options_of(None, prompt) == OptionList(tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), ())


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (5, "choices must be a list or an object of them, not 5"),
        ("x", "choices must be a list or an object, or one as JSON"),
        (["x"], "two or more options"),
        ([], "two or more options"),
        ({"A": "x", "A.": "y"}, "a label of its own"),
        ([["x"], ["y"]], "choices must hold texts"),
        ({"label": ["A", "B"], "text": 5}, "must be a list or an object of them, not 5"),
    ],
)
def test_options_that_cannot_be_read(choices: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        options_of(choices, "")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("B", {"B"}),
        ("(b)", {"B"}),
        ("option B", {"B"}),
        ("B) Paris", {"B"}),
        ("B: Paris, the capital", {"B"}),
        ("the Paris of old", {"B"}),
        ("Paris (B)", {"B"}),
        ("A, B and D", {"A", "B", "D"}),
        ("A) London and C) Rome", {"A", "C"}),
        ("B because A is wrong", {"B"}),
        ("A or B", set()),
        ("A, or maybe B", set()),
        ("Paris or Rome", set()),
        ("A/B", set()),
        ("not B", set()),
        ("B is wrong", set()),
        ("B) Rome", set()),
        ("A city", None),
        ("Bonnie", None),
        ("B's", None),
        ("E", None),
        ("", None),
    ],
)
def test_what_a_text_names(text: str, wanted: set[str] | None) -> None:
    assert chosen_labels(text, options_of(CITIES, "")) == wanted


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ground_truth": "E"}, 'the ground truth "E" is not an option; there are A, B, C, D'),
        ({"ground_truth": 4}, "the ground truth 4 is not an option"),
        ({"ground_truth": -1}, "the ground truth -1 is not an option"),
        ({"ground_truth": 0.5}, "the ground truth 0.5 is not an option"),
        ({"ground_truth": []}, "is not an option"),
        ({"ground_truth": True}, "the ground truth True is not an option"),
        ({"ground_truth": ["A", "E"]}, 'the ground truth "E" is not an option'),
        ({"ground_truth": "A or B"}, 'the ground truth "A or B" is not an option'),
        ({"ground_truth": "A", "candidates": "first"}, "candidates must be one of consistent, last"),
        ({"ground_truth": "A", "need": "most"}, "need must be one of all, any"),
        ({"ground_truth": "A", "extract": "end"}, "extract knows boxed"),
    ],
)
def test_what_cannot_be_judged_is_an_error(given: dict[str, Any], says: str) -> None:
    result = multiple_choice("A", choices=CITIES, **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_the_reason_says_what_was_chosen() -> None:
    result = multiple_choice("I choose D.", "B", choices=CITIES)
    assert result.reason == "chooses D, right is B"
    result = multiple_choice("A or D", "B", choices=CITIES)
    assert result.reason == "chooses nothing, or several options, right is B"
    assert result.metrics["answer_found"].success is True
    assert multiple_choice("Well.", "B", choices=CITIES).metrics["answer_found"].success is False


@pytest.mark.parametrize(
    "piece", ["A, ", "(A) ", "A\nB\n", "*", "if ", "the answer is ", "B is ", "\ud800", "\x00", "["]
)
def test_a_megabyte_ends_soon(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    assert multiple_choice(text, "D", choices=CITIES).score == 0
    assert time.process_time() - start < 5
