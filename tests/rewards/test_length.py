"""``length``: full score in the range, a straight line outside, counts that no padding raises."""

from __future__ import annotations

from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError
from guerdon.rewards.length import length


def words(count: int) -> str:
    return " ".join(["word"] * count)


@pytest.mark.parametrize(
    ("response", "parameters", "score"),
    [
        # The default: 1 to 200 words.
        ("", {}, 0.0),
        ("one", {}, 1.0),
        (words(200), {}, 1.0),
        (words(300), {}, 0.5),
        (words(400), {}, 0.0),
        (words(5000), {}, 0.0),
        # A range, and one end of it.
        (words(5), {"minimum": 5, "maximum": 10}, 1.0),
        (words(10), {"minimum": 5, "maximum": 10}, 1.0),
        (words(4), {"minimum": 5, "maximum": 10}, 0.8),
        (words(15), {"minimum": 5, "maximum": 10}, 0.5),
        (words(20), {"minimum": 5, "maximum": 10}, 0.0),
        (words(5000), {"minimum": 5}, 1.0),
        ("", {"maximum": 10}, 0.0),
        ("one", {"maximum": 10}, 1.0),
        ("", {"minimum": 0, "maximum": 10}, 1.0),
        ("", {"maximum": 0}, 1.0),
        ("one", {"maximum": 0}, 0.0),
        # A target.
        (words(8), {"target": 8}, 1.0),
        (words(6), {"target": 8}, 0.75),
        (words(12), {"target": 8}, 0.5),
        ("", {"target": 8}, 0.0),
        # How far the slope reaches.
        (words(12), {"maximum": 10, "falloff": 4}, 0.5),
        (words(3), {"minimum": 5, "falloff": 4}, 0.5),
        (words(14), {"maximum": 10, "falloff": 4}, 0.0),
        (words(11), {"maximum": 10, "falloff": 0}, 0.0),
        (words(10), {"maximum": 10, "falloff": 0}, 1.0),
        # As text from the command line.
        (words(6), {"target": "8"}, 0.75),
        ("abcd", {"maximum": "4", "unit": "characters"}, 1.0),
        # Characters.
        ("abcdef", {"target": 8, "unit": "characters"}, 0.75),
        ("a b", {"target": 3, "unit": "characters"}, 1.0),
        ("日本語です", {"target": 5, "unit": "characters"}, 1.0),
        ("日本語です", {"target": 1}, 1.0),
        # é in one code point and in two has one length.
        ("e\u0301te\u0301", {"target": 3, "unit": "characters"}, 1.0),
        ("\u00e9t\u00e9", {"target": 3, "unit": "characters"}, 1.0),
        # White space does not lengthen a response.
        ("  a \n\n\t b  ", {"target": 3, "unit": "characters"}, 1.0),
        ("a\u00a0b\u2028c\u3000d", {"target": 4}, 1.0),
        (" " * 1_000_000, {}, 0.0),
        # Hostile ones.
        ("\x00", {"target": 1, "unit": "characters"}, 1.0),
        ("a\ud800b", {"target": 3, "unit": "characters"}, 1.0),
        ("[" * 10_000, {"target": 10_000, "unit": "characters"}, 1.0),
        ("x" * 1_000_000, {"target": 1_000_000, "unit": "characters"}, 1.0),
        ("x " * 500_000, {"target": 500_000}, 1.0),
    ],
)  # fmt: skip
def test_score(response: str, parameters: dict[str, Any], score: float) -> None:
    assert length(response, **parameters).unwrap() == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"minimum": -1}, "minimum must be a number of 0 or more, not -1"),
        ({"maximum": "many"}, 'maximum must be a number of 0 or more, not "many"'),
        ({"maximum": float("nan")}, "maximum must be a number of 0 or more, not nan"),
        ({"maximum": float("inf")}, "maximum must be a number of 0 or more, not inf"),
        ({"minimum": True}, "minimum must be a number of 0 or more, not True"),
        ({"falloff": -2}, "falloff must be a number of 0 or more, not -2"),
        ({"target": [3]}, "target must be a number of 0 or more, not a list"),
        ({"target": 0}, "target must be more than 0"),
        ({"minimum": 5, "maximum": 4}, "the minimum 5 is over the maximum 4"),
        ({"target": 5, "maximum": 6}, "give either a target, or a minimum and a maximum"),
        ({"unit": "tokens"}, 'unit must be one of words, characters, not "tokens"'),
    ],
)
def test_parameters_that_contradict(parameters: dict[str, Any], says: str) -> None:
    result = length("one two", **parameters)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_a_response_that_is_no_text_is_an_error() -> None:
    with pytest.raises(InputError, match="response must be text, not None"):
        length.func(None)


def test_the_metric_is_the_length() -> None:
    metric = length(words(7), minimum=8).metrics["words"]
    assert (metric.score, metric.success, metric.reason) == (7.0, False, "7 words, wanted at least 8")
    assert length("abc", unit="characters", target=3).metrics["characters"].success is True


def test_the_path_resolves_with_parameters() -> None:
    reward = guerdon.get_reward_function("guerdon.rewards.length:length", maximum=2, unit="words")
    assert (reward.name, reward(response="a b c").score) == ("length", 0.5)
