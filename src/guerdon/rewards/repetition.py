"""The reward ``repetition``: does the response say the same things again?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import non_negative, parameter_check, response_text, whole_number
from guerdon.rewards.common.words import ends, is_unspaced, units
from guerdon.types import EvaluateResult, MetricResult

DEFAULT_NGRAM, DEFAULT_PENALTY = 3, 1.0
_COPIES = 3
"""How often something must stand in a row to be a loop; twice happens in any text."""
_SHORTEST_STUTTER = 40
_STUTTER = re.compile(r"(\S{1,16}?)\1{9,}")
_LONG = 40
"""Characters from which a word is parted at the marks within it: nobody writes them, and loops can hide there."""
_PARTS = re.compile(r"[^\W_]+")
_RULE = re.compile(r"^[-=_*~#.|+: ]{3,200}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Found:
    """What comes again in a row of words."""

    repeated: float
    """The share of n-grams that have occurred before."""
    longest: int
    """The words of the longest passage that has occurred before."""
    looped: float
    """The share of the words that stand in a loop."""


@reward_function(
    scale=(0, 1),
    check=parameter_check(
        ngram_size=lambda value, what: whole_number(value, what, least=1),
        max_penalty=lambda value, _: _penalty(value),
    ),
)
def repetition(
    response: str,
    *,
    ngram_size: int = DEFAULT_NGRAM,
    max_penalty: float = DEFAULT_PENALTY,
) -> EvaluateResult:
    """Scores how little the response repeats itself: 1 minus the share of its word sequences that came before.

    The sequences are of ``ngram_size`` words; upper and lower case and punctuation do not matter. Where most of
    the text is written without spaces, as in Chinese, Japanese or Thai, they are of twice as many characters. A
    word of more than 40 characters is parted at the marks within it, so that a loop without spaces counts too.
    Where letters stutter (``hahaha…``, 40 characters or more), the share of such characters counts if it is
    the greater; rules and table borders do not. ``max_penalty`` is what a response loses that does nothing but
    repeat itself. A response without any letter or digit earns 0; of more than 200,000 characters both ends are
    looked at.

    Any long text repeats some sequences, so compare responses of similar length, or raise ``ngram_size``.

    Scale: 0 to 1; 1 − ``max_penalty`` to 1 for responses that say something.

    The metric ``repeated`` is the share of sequences that came before, ``longest`` the number of words (or
    characters) of the longest passage that did, ``looped`` the share of words in loops: the same words three
    times or more in a row.

    Source: the repetition penalty of "Demystifying Long Chain-of-Thought Reasoning" (Yeo et al. 2025) as in
    open-r1, on a scale from 0, and nothing for an empty response. The penalty itself is ``repetition - 1``.

    Raises InputError for an ``ngram_size`` below 1, or a ``max_penalty`` that is not from 0 to 1.

    >>> repetition("to be or not to be", ngram_size=2).score
    0.8
    >>> repetition("again and " * 50).score < 0.05, repetition("").score
    (True, 0.0)
    """
    size = whole_number(ngram_size, "ngram_size", least=1)
    fine = _penalty(max_penalty)
    text = ends(response_text(response))
    if not any(map(str.isalnum, text)):
        return EvaluateResult(0.0, reason="says nothing: no letter and no digit")
    words = [
        part for word in units(text) for part in (_PARTS.findall(word) if len(word) > _LONG else (word,))
    ]
    unspaced = sum(map(is_unspaced, words))
    found = _found(words, 2 * size if 2 * unspaced > len(words) else size)
    stutter = _stuttered(text)
    share = max(found.repeated, stutter)
    parts = [f"{found.repeated:.0%} of {size}-grams came before"]
    parts += [f"{found.looped:.0%} is a loop"] if found.looped else []
    parts += [f"{stutter:.0%} is stutter"] if stutter else []
    metrics = {
        "repeated": MetricResult(found.repeated, success=not found.repeated, reason=parts[0]),
        "longest": MetricResult(found.longest, reason=f"{found.longest} words that came before"),
        "looped": MetricResult(found.looped, success=not found.looped),
    }
    return EvaluateResult(1 - fine * share, reason="; ".join(parts), metrics=metrics)


def _found(words: Sequence[str], size: int) -> _Found:
    """One walk over the n-grams: those seen before, and for how long they follow one earlier passage."""
    numbers: dict[str, int] = {}
    row = [numbers.setdefault(word, len(numbers)) for word in words]
    total = len(row) - size + 1
    if total < 1:
        return _Found(0.0, 0, 0.0)
    last: dict[tuple[int, ...], int] = {}
    repeats = longest = looped = 0
    distance = length = 0
    for at, gram in enumerate(zip(*(row[i:] for i in range(size)), strict=False)):
        before = last.get(gram)
        last[gram] = at
        if before is None:
            looped += _looped(distance, length, size)
            distance = length = 0
            continue
        repeats += 1
        if at - before != distance:
            looped += _looped(distance, length, size)
            distance, length = at - before, 0
        length += 1
        longest = max(longest, length + size - 1)
    looped += _looped(distance, length, size)
    return _Found(repeats / total, longest, min(1.0, looped / len(row)))


def _looped(distance: int, length: int, size: int) -> int:
    """The words of a loop that repeats every ``distance`` words for ``length`` n-grams; 0 if it is none."""
    words = distance + length + size - 1
    return words if distance and words >= _COPIES * distance else 0


def _stuttered(text: str) -> float:
    """The share of the characters that stand in a stutter, of those that are no white space."""
    said = _RULE.sub("", text)
    stutter = sum(len(m[0]) for m in _STUTTER.finditer(said) if len(m[0]) >= _SHORTEST_STUTTER)
    return stutter / sum(map(len, said.split())) if stutter else 0.0


def _penalty(value: Any) -> float:
    fine = non_negative(value, "max_penalty")
    if fine is None or fine > 1:
        raise InputError("max_penalty must be from 0 to 1: the share of the score that repetition can cost")
    return fine
