"""``length``: full score in the range, a straight line outside, counts that no padding raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.errors import InputError
from guerdon.rewards.length import length
from guerdon.testing import assert_cases
from support.absent_libraries import said_without


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
        ({"unit": "letters"}, 'unit must be one of words, characters, tokens, not "letters"'),
        (
            {"unit": "tokens"},
            'unit="tokens" needs tokenizer=: a folder, a tokenizer.json, or a name on the hub',
        ),
        (
            {"unit": "words", "tokenizer": "gpt2"},
            'a tokenizer counts tokens: set unit="tokens" in place of "words"',
        ),
        (
            {"unit": "tokens", "tokenizer": 5},
            "tokenizer must be a folder, a file or a name on the hub, not 5",
        ),
        (
            {"unit": "tokens", "tokenizer": "absent.json"},
            'cannot load the tokenizer "absent.json": give a folder',
        ),
        ({"shape": "sine"}, 'shape must be one of linear, cosine, overlong, not "sine"'),
        ({"shape": "cosine"}, 'shape="cosine" needs a maximum'),
        ({"shape": "cosine", "maximum": 0}, 'shape="cosine" needs a maximum of more than 0'),
        ({"shape": "cosine", "maximum": 5, "cache": 1}, 'cache belongs to shape="overlong"'),
        ({"shape": "cosine", "target": 5}, 'target and falloff belong to shape="linear", not to "cosine"'),
        ({"shape": "cosine", "minimum": 6, "maximum": 5}, "the minimum 6 is over the maximum 5"),
        ({"maximum": 5, "cache": 1}, 'cache belongs to shape="overlong"'),
        ({"shape": "overlong", "minimum": 2}, 'shape="overlong" needs a maximum'),
        ({"shape": "overlong", "maximum": 9, "minimum": 2}, 'shape="overlong" has no minimum'),
        ({"shape": "overlong", "maximum": 9, "falloff": 2}, "target and falloff belong"),
        (
            {"shape": "overlong", "maximum": 9, "cache": 0},
            "cache must be more than 0 and at most the maximum 9, not 0",
        ),
        (
            {"shape": "overlong", "maximum": 9, "cache": 10},
            "cache must be more than 0 and at most the maximum 9",
        ),
    ],
)
def test_parameters_that_contradict(parameters: dict[str, Any], says: str) -> None:
    result = length("one two", **parameters)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


@pytest.mark.parametrize(
    ("count", "parameters", "score"),
    [
        # Half a wave from 1 at 0 to 0 at the maximum: cos 45° is half the root of 2.
        (0, {"maximum": 100, "minimum": 0}, 1.0),
        (25, {"maximum": 100}, 0.5 + 2**0.5 / 4),
        (50, {"maximum": 100}, 0.5),
        (75, {"maximum": 100}, 0.5 - 2**0.5 / 4),
        (100, {"maximum": 100}, 0.0),
        # Where a cosine that is not held would be back at 1.
        (200, {"maximum": 100}, 0.0),
        (5000, {"maximum": 100}, 0.0),
        # Nothing for an empty response, unless that is asked for.
        (0, {"maximum": 100}, 0.0),
        (10, {"maximum": 40, "minimum": 20}, 0.25),
        (20, {"maximum": 40, "minimum": 20}, 0.5),
        ("30", {"maximum": "40", "minimum": "20"}, 0.5 - 2**0.5 / 4),
    ],
)
def test_cosine(count: Any, parameters: dict[str, Any], score: float) -> None:
    found = length(words(int(count)), shape="cosine", **parameters).unwrap()
    assert found == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(
    ("count", "parameters", "score"),
    [
        # A fifth of the maximum is the cache, as in DAPO.
        (0, {"maximum": 100}, 0.0),
        (80, {"maximum": 100}, 0.0),
        (85, {"maximum": 100}, -0.25),
        (90, {"maximum": 100}, -0.5),
        (100, {"maximum": 100}, -1.0),
        (101, {"maximum": 100}, -1.0),
        (5000, {"maximum": 100}, -1.0),
        (60, {"maximum": 100, "cache": 50}, -0.2),
        (3, {"maximum": 4, "cache": 4}, -0.75),
        (3, {"maximum": "4", "cache": "2"}, -0.5),
    ],
)
def test_soft_overlong_penalty(count: int, parameters: dict[str, Any], score: float) -> None:
    found = length(words(count), shape="overlong", **parameters).unwrap()
    assert found == pytest.approx(score, abs=1e-12)
    assert str(found) != "-0.0"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer of its own kind: a token for each run of letters and for each other mark."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    made = Tokenizer(WordLevel({"?": 0, "six": 1, "times": 2}, unk_token="?"))
    made.pre_tokenizer = Whitespace()
    folder = tmp_path_factory.mktemp("tokenizer")
    made.save(str(folder / "tokenizer.json"))
    return folder


@pytest.mark.parametrize(
    ("response", "tokens"),
    [("six times seven.", 4), ("", 0), ("\ud800 six", 2), ("\x00", 1), ("six, " * 100_000, 200_000)],
)
def test_tokens(response: str, tokens: int, tokenizer: Path) -> None:
    result = length(response, unit="tokens", tokenizer=str(tokenizer), minimum=0, maximum=1000)
    assert result.metrics["tokens"].score == tokens
    again = length(response, unit="tokens", tokenizer=tokenizer / "tokenizer.json", minimum=0, maximum=1000)
    assert again.score == result.score


def test_cases() -> None:
    assert_cases("guerdon.rewards.length:length", Path(__file__).parent / "cases" / "length.jsonl")


def test_a_response_that_is_no_text_is_an_error() -> None:
    with pytest.raises(InputError, match="response must be text, not None"):
        length.func(None)


def test_the_metric_is_the_length() -> None:
    metric = length(words(7), minimum=8).metrics["words"]
    assert (metric.score, metric.success, metric.reason) == (7.0, False, "7 words, expected at least 8")
    assert length("abc", unit="characters", target=3).metrics["characters"].success is True


def test_the_path_resolves_with_parameters() -> None:
    reward = guerdon.get_reward_function("guerdon.rewards.length:length", maximum=2, unit="words")
    assert (reward.name, reward(response="a b c").score) == ("length", 0.5)


def test_without_its_library() -> None:
    said = said_without("tokenizers", "guerdon.rewards.length:length", unit="tokens", tokenizer="a.json")
    assert said.startswith('missing_extra counting tokens needs an extra: pip install "guerdon[tokens]"')
