"""The reward ``diversity``: how rich is the vocabulary of the response?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.lengths import length_text
from guerdon.rewards.common.parameters import among, one_of, parameter_check, response_text, whole_number
from guerdon.rewards.common.words import ends, is_unspaced, units
from guerdon.types import EvaluateResult, MetricResult

MEASURES = ("mattr", "distinct")
DEFAULT_WINDOW, DEFAULT_NGRAM, DEFAULT_MINIMUM = 50, 2, 10
_DISTINCT = (1, 2, 3)


def _from_one(value: Any, what: str) -> int:
    return whole_number(value, what, least=1)


@reward_function(
    scale=(0, 1),
    check=parameter_check(measure=among(MEASURES), window=_from_one, ngram_size=_from_one, minimum=_from_one),
)
def diversity(
    response: str,
    *,
    measure: str = "mattr",
    window: int = DEFAULT_WINDOW,
    ngram_size: int = DEFAULT_NGRAM,
    minimum: int = DEFAULT_MINIMUM,
) -> EvaluateResult:
    """Scores how varied the words within the response are.

    ``measure="mattr"`` is the moving-average type-token ratio: in every ``window`` of 50 words the share of
    different ones, averaged, so that a long response is not worse off than a short one. ``"distinct"`` is
    distinct-n: the share of different sequences of ``ngram_size`` words, which falls with the length. Upper and
    lower case and punctuation do not matter. In scripts without spaces between words, two neighbouring characters
    are one. A response of fewer than ``minimum`` words loses the share that it lacks, an empty one everything.
    Of more than 200,000 characters both ends are looked at.

    It does not tell sense from nonsense: a row of random words is diverse. Use it beside a reward for content.

    Scale: 0 to 1.

    The metrics ``distinct_1``, ``distinct_2`` and ``distinct_3`` are distinct-n, ``words`` is the number of
    words.

    Source: MATTR (Covington and McFall 2010); distinct-n (Li et al. 2016).

    Raises InputError for a number that is not whole or below 1, and for an unknown measure.

    >>> diversity("the cat and the dog and the bird saw the cat").score < 0.6
    True
    >>> diversity("a rose is a rose is a rose", measure="distinct", minimum=1).score
    0.42857142857142855
    """
    how = one_of(measure, MEASURES, "measure")
    width, size = whole_number(window, "window", least=1), whole_number(ngram_size, "ngram_size", least=1)
    least = whole_number(minimum, "minimum", least=1)
    words = _words(ends(response_text(response)))
    if not words:
        return EvaluateResult(0.0, reason="no words")
    ratio = _mattr(words, width) if how == "mattr" else _distinct(words, size)
    score = ratio * min(1.0, len(words) / least)
    reason = f"{ratio:.2f} over {length_text(len(words), 'words')}"
    if len(words) < least:
        reason += f", fewer than {least}"
    metrics = {f"distinct_{n}": MetricResult(_distinct(words, n)) for n in _DISTINCT}
    return EvaluateResult(score, reason=reason, metrics={**metrics, "words": MetricResult(len(words))})


def _words(text: str) -> list[str]:
    """The words, and pairs of neighbouring characters where there are no spaces."""
    words: list[str] = []
    before = ""
    for unit in units(text):
        if not is_unspaced(unit):
            words.append(unit)
            before = ""
            continue
        if before:
            words.append(before + unit)
        before = unit
    return words


def _mattr(words: Sequence[str], width: int) -> float:
    width = min(width, len(words))
    counts = Counter(words[:width])
    types = total = len(counts)
    for new, old in zip(words[width:], words, strict=False):
        types += not counts[new]
        counts[new] += 1
        counts[old] -= 1
        types -= not counts[old]
        total += types
    return total / width / (len(words) - width + 1)


def _distinct(words: Sequence[str], size: int) -> float:
    """Different n-grams out of all; 0 where there is none."""
    grams = list(zip(*(words[i:] for i in range(size)), strict=False))
    return len(set(grams)) / len(grams) if grams else 0.0
