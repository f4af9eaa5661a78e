"""``short_answer``: its promise on people's verdicts, what cannot be judged, adversarial responses.

The table of its verdicts is ``cases/short_answer.jsonl``.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.accuracy.suites.short_answers import SUITE
from guerdon.rewards.short_answer.reward import short_answer

DATES = ["July 4th, 1776", "4 July 1776", "1776-07-04", "the 4th of July, 1776", "on July 4, 1776"]
NUMBERS = ["twenty-four", "24", "24.0", "twenty four", "There are 24."]
NEAR = [
    *(("Austria", "Australia"), ("Iran", "Iraq"), ("Gambia", "Zambia"), ("Slovenia", "Slovakia")),
    *(("Niger", "Nigeria"), ("Mauritius", "Mauritania"), ("Dominica", "Dominican Republic")),
    *(("North Korea", "South Korea"), ("1969", "1968"), ("Henry VII", "Henry VIII")),
    *(("July 4, 1776", "July 5, 1776"), ("3 million", "3 billion"), ("C", "C++"), ("vitamin C", "vitamin A")),
    *(("the 20th century", "the 21st century"), ("5 km", "5 miles"), ("World War I", "World War II")),
]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(DATES, DATES)))
def test_dates_are_one_however_they_are_written(one: str, other: str) -> None:
    assert short_answer(one, other, prompt="When was it signed?").score == 1


@pytest.mark.parametrize(("one", "other"), list(itertools.product(NUMBERS, NUMBERS[:-1])))
def test_numbers_are_one_however_they_are_written(one: str, other: str) -> None:
    assert short_answer(one, other, prompt="How many are there?").score == 1


@pytest.mark.parametrize("mode", ["strict", "tolerant"])
@pytest.mark.parametrize(("one", "other"), [*NEAR, *((b, a) for a, b in NEAR)])
def test_near_misses_are_wrong(one: str, other: str, mode: str) -> None:
    assert short_answer(one, other, mode=mode).score == 0


@pytest.mark.parametrize(
    "response",
    [
        "It is not {}.", "It isn't {}.", "Not {}", "It was never {}.", "{} is not the one.", "{} is wrong.",
        "Rome, not {}.", "{} or Rome", "Rome or {}", "Either {} or Rome.", "Rome/{}", "Rome, {}, Bonn",
        "Is it {} or Rome?", "It could be Rome, {}, or Bonn.", "It is {}. Wait, that is wrong.",
        "It is {}. No, it is Rome.", "The answer is Rome. {} is larger.", "<think>{}</think>Rome",
        "Answer: Rome\n\n{} is larger.", "\\boxed{{Rome}} {}", "anything but near {}", "<!-- {} -->Rome",
    ],
)  # fmt: skip
@pytest.mark.parametrize("gold", ["Paris", "New York", "1969"])
def test_what_is_not_given_as_the_answer_is_none(response: str, gold: str) -> None:
    assert short_answer(response.format(gold), gold, prompt="Which one was it?").score == 0


@pytest.mark.parametrize(
    "response",
    [
        "{}", "It is {}.", "It was {}, not Rome.", "**{}**", "The answer is {}.", "Answer: {}", "\\boxed{{{}}}",
        "<answer>{}</answer>", "I would say {}.", "It was not Rome but {}.", "It is Rome. No, it is {}.",
        "Sure! It was {}.", "According to the records, it was {} in the end.", "It was ({}).", "“{}”",
    ],
)  # fmt: skip
@pytest.mark.parametrize("gold", ["Paris", "New York", "1969"])
def test_what_is_given_as_the_answer_is_one(response: str, gold: str) -> None:
    assert short_answer(response.format(gold), gold, prompt="Which one was it?").score == 1


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"ground_truth": None}, "there is no accepted answer"),
        ({"ground_truth": ""}, "there is no accepted answer"),
        ({"ground_truth": []}, "there is no accepted answer"),
        ({"ground_truth": "Paris", "mode": "loose"}, 'mode must be one of strict, tolerant, not "loose"'),
        ({"ground_truth": "Paris", "extract": "end"}, "extract knows boxed"),
    ],
)
def test_what_cannot_be_judged_is_an_error(given: dict[str, Any], says: str) -> None:
    result = short_answer("Paris", **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("response", "gold", "score"),
    [
        ("Yes.", "yes", 1), ("Yes, there is no doubt.", "yes", 1), ("True", True, 1), ("It is true.", "yes", 1),
        ("No.", "yes", 0), ("No, yes is wrong.", "yes", 0), ("Yes or no", "yes", 0), ("Yes and no", "no", 0),
        ("Maybe", "yes", 0), ("", "no", 0), ("No", ["no", "never"], 1),
        # Both sides of "or" are accepted, or one of them is not.
        ("Mark Twain or Samuel Clemens", ["Mark Twain", "Samuel Clemens"], 1),
        ("Mark Twain or Samuel Smith", ["Mark Twain", "Samuel Clemens"], 0),
    ],
)  # fmt: skip
def test_yes_no_and_or(response: str, gold: Any, score: float) -> None:
    assert short_answer(response, gold).score == score


def test_the_reason_says_how() -> None:
    reasons = {
        "Paris": '"Paris": word for word',
        "not Paris": '"not Paris": it is denied',
        "Rome or Paris": '"Rome or Paris": it is one of several guesses',
        "Rome": '"Rome": no accepted answer in it',
    }
    assert {response: short_answer(response, "Paris").reason for response in reasons} == reasons


@pytest.mark.parametrize("gold", ["?", "...", "the", "\x00", "(WHO)", ", or ", "[" * 1000, "née", "-"])
def test_odd_golds_are_judged(gold: str) -> None:
    assert short_answer("Paris", gold).score == 0


@pytest.mark.parametrize(
    "piece",
    [
        "a ",
        "A. ",
        "not ",
        "could or ",
        "July ",
        "one ",
        "x, ",
        "東京",
        "é",
        "[",
        "<!--",
        "9",
        "\ud800",
        "\x00",
        "1 ",
    ],
)
@pytest.mark.parametrize("size", [19_000, 1_000_000])
def test_long_responses_end_soon(piece: str, size: int) -> None:
    golds = ["Paris", "July 4, 1776", "24", "Wilhelm Conrad Röntgen", "presidential republic of the south"]
    start = time.process_time()
    result = short_answer(piece * (size // len(piece)), golds, prompt="Who was it?", mode="tolerant")
    assert result.score == 0
    assert time.process_time() - start < 5


@pytest.mark.slow(seconds=3)
def test_verdicts_of_people(data_dir: Path) -> None:
    """Better F1 than ``contains`` at a precision of .99 in strict mode; more recall in tolerant mode."""
    cases = list(SUITE.cases(data_dir))
    rows = [dict(case.row) for case in cases]

    def measured(reward: str, **parameters: Any) -> tuple[float, float, float]:
        verdicts = [result.score == 1 for result in guerdon.score(reward, rows, workers=0, **parameters)]
        right = sum(verdict and case.right for verdict, case in zip(verdicts, cases, strict=True))
        precision, recall = right / sum(verdicts), right / sum(case.right for case in cases)
        return precision, recall, 2 * precision * recall / (precision + recall)

    contains, strict, tolerant = (
        measured("contains"), measured("short_answer"), measured("short_answer", mode="tolerant")
    )  # fmt: skip
    assert strict[0] >= 0.99
    assert strict[2] > contains[2] + 0.03
    assert tolerant[0] >= 0.985
    assert tolerant[1] > strict[1] + 0.03


@pytest.mark.parametrize("library", ["rapidfuzz", "text_to_num"])
def test_without_its_libraries_it_is_not_ready(library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "import guerdon\n"
        "try:\n"
        "    guerdon.score('short_answer', ['Paris'], ground_truth='Paris')\n"
        "except guerdon.RewardError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == 'the short_answer reward needs an extra: pip install "guerdon[text]"\n'
