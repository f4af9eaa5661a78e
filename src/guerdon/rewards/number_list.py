"""The reward ``number_list``: does the response give the right numbers, as a set or as a sequence?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.final import readable
from guerdon.rewards.answers.numbers import normal, number
from guerdon.rewards.answers.text import bare, claims, places
from guerdon.rewards.common.parameters import (
    among,
    non_negative,
    one_of,
    parameter_check,
    response_text,
    shown,
    yes_or_no,
)
from guerdon.types import EvaluateResult, MetricResult

DUPLICATES = ("count", "ignore")
SCORINGS = ("all", "fraction")
PLACES = ("boxed", "tag", "hashes", "label", "phrase", "all")
MAX_NUMBERS = 10_000
_READ = 100_000
"""Characters at the end of a response in which its numbers are looked for."""
_WHOLE = 20_000
"""Characters that a response may have which is nothing but a list."""
_DENIED = re.compile(r"\b(?:not|never|wrong|incorrect|nor|neither)\b|n['’]t\b", re.IGNORECASE)
_BRACKETED = re.compile(r"\[([^\[\]{}]*)\]|\\?\{([^\[\]{}]*?)\\?\}|\(([^()\[\]{}]*)\)")
_BULLETS = re.compile(r"^[ \t]*(?:[-*•][ \t]+|\(?\d{1,4}[.)][ \t]+)(\S[^\n]*)$", re.MULTILINE)
_NAMED = re.compile(r"^\s*[A-Za-z]\w{0,3}(?:_\{?\w+\}?)?\s*(?:=|\\approx|≈)\s*")
# "1,000" has thousands, since no number of a list begins with a nought.
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})*,0\d\d(?:,\d{3})*", re.ASCII)
# "$1$, $2$": a formula for each number.
_FORMULAS = re.compile(r"\$(\s*(?:[,;]\s*)?(?:and\s*)?)\$")
_WIDE = re.compile(r"[,;]\s+|;|(?<!\s)\s+(?:and|&)\s+|\n+|\\\\", re.IGNORECASE)
_TIGHT = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+(?:and|&)\s+|\s+")
_LEAD = re.compile(
    r"^(?:(?:the )?(?:numbers|values|answers?|solutions|roots|list|set|results?) (?:are|is):?\s+)", re.I
)
# A number takes all of its figures and commas: "1,000,1,000" could be read in as many ways as it has commas. No group
# is possessive: up to Python 3.11.4 such groups match wrongly.
_ITEM = r"[-+−]?[$€£]?(?:\d++(?:,++\d++)*(?!,*\d)(?:\.\d++)?|\.\d++)(?:/\d++)?%?+"
_RUN = re.compile(rf"(?<![\w.,-])({_ITEM}(?:\s*+(?:(?:,\s*+)?\band\b|[,;])\s*+{_ITEM})*)$")


@reward_function(
    scale=(0, 1),
    check=parameter_check(
        order_matters=yes_or_no,
        duplicates=among(DUPLICATES),
        tolerance=non_negative,
        scoring=among(SCORINGS),
        extract=lambda value, _: places(value, PLACES),
    ),
)
def number_list(
    response: str,
    ground_truth: Any,
    *,
    order_matters: bool = False,
    duplicates: str = "count",
    tolerance: float = 0.0,
    scoring: str = "all",
    extract: str | Sequence[str] | None = None,
) -> EvaluateResult:
    r"""Scores 1 where the response gives exactly the right numbers, else 0.

    The numbers are compared as exact values, as a set in which each number counts as often as it comes;
    ``duplicates="ignore"`` counts it once, ``order_matters`` compares place by place. ``tolerance`` is how far
    apart two numbers may lie, absolutely. ``scoring="fraction"`` gives partial credit: the harmonic mean of
    the share of given numbers that are right and the share of right numbers that are given.

    The list is looked for in boxes (several make one list), in ``<answer>``, after ``####``, after
    ``Answer:``, after "the answer is", and is else the last list in brackets, the last list of bullets, or
    the whole response; ``extract`` names the places to look at, out of ``boxed``, ``tag``, ``hashes``,
    ``label``, ``phrase`` and ``all``. Read are ``[1, 2, 3]``, ``1, 2 and 3``, ``\{1, \frac{1}{2}\}``,
    ``x = 1, x = 2`` and one number a line; with a word in it, it is not a list. Thousands separators are read
    where a space follows the commas between numbers.

    The ground truth is a list of numbers, a number, or such a text.

    Scale: 0 or 1; 0 to 1 with ``scoring="fraction"``.

    The metrics ``precision`` and ``recall`` are the shares of given numbers that are right and of right
    numbers that are given; ``answer_found`` says whether there was a list.

    Source: precision and recall of sets and bags.

    Raises InputError for a ground truth that is not a list of numbers.

    >>> number_list("They are 3, 1 and 2.0.", [1, 2, 3]).score
    1.0
    >>> number_list(r"\boxed{[1, 2]}", "1, 2, 3", scoring="fraction").score
    0.8
    """
    ordered = yes_or_no(order_matters, "order_matters")
    once = one_of(duplicates, DUPLICATES, "duplicates") == "ignore"
    slack = Fraction(repr(non_negative(tolerance, "tolerance") or 0))
    in_parts = one_of(scoring, SCORINGS, "scoring") == "fraction"
    gold = _gold(ground_truth)
    mine = _given(readable(response_text(response))[-_READ:], places(extract, PLACES))
    if mine is None:
        return EvaluateResult(0.0, reason="no list found", metrics=_metrics(0.0, 0.0, False))
    if once:
        mine, gold = list(dict.fromkeys(mine)), list(dict.fromkeys(gold))
    right = _in_place(mine, gold, slack) if ordered else _in_common(mine, gold, slack)
    precision, recall = right / len(mine), right / len(gold)
    f1 = 2 * right / (len(mine) + len(gold))
    score = f1 if in_parts else float(right == len(mine) == len(gold))
    reason = f"{right} of {len(gold)} right, {len(mine)} given"
    return EvaluateResult(score, reason=reason, metrics=_metrics(precision, recall, True))


def _metrics(precision: float, recall: float, found: bool) -> dict[str, MetricResult]:
    return {
        "precision": MetricResult(precision),
        "recall": MetricResult(recall),
        "answer_found": MetricResult(float(found), success=found),
    }


def _gold(value: Any) -> list[Fraction]:
    found: list[Fraction] | None = None
    if isinstance(value, str):
        found = _in_json(value) or _numbers(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = _values([value])
    elif isinstance(value, Iterable) and not isinstance(value, bytes | dict):
        found = _values(list(value))
    if not found:
        if isinstance(value, list):
            held = "it holds something else" if value else "it is empty"
            raise InputError(f"the ground truth is not a list of numbers: {held}")
        raise InputError(f"the ground truth {shown(value)} is not a list of numbers")
    return found


def _in_json(text: str) -> list[Fraction] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _values(value) if isinstance(value, list) else None


def _values(items: list[Any]) -> list[Fraction] | None:
    """The numbers of a list; None where one of its items is none."""
    if any(isinstance(item, bool) or not isinstance(item, str | int | float) for item in items):
        return None
    return _each(map(str, items))


def _each(parts: Iterable[str]) -> list[Fraction] | None:
    found = []
    for part in parts:
        # Most texts are no lists, and their first words say so.
        if (value := _value(part)) is None:
            return None
        found.append(value)
    return found


def _value(text: str) -> Fraction | None:
    """The number that a text is; None where it is anything else."""
    text = bare(_NAMED.sub("", bare(text)))
    found = number(normal(text.replace("−", "-"))) if 0 < len(text) <= 1_000 else None
    return found.value if found else None


def _numbers(text: str) -> list[Fraction] | None:
    """The numbers of a list in a text; None where it is not a list of numbers."""
    text = _LEAD.sub("", bare(_FORMULAS.sub(r"\1", text))).strip()
    text = re.sub(r"\\(?:text|mathrm)\s*\{\s*and\s*\}|\\quad|\\qquad", ", ", text)
    text = re.sub(
        r"^(?:\\left\s*)?(?:\\\{|[\[({])(.*?)(?:\\right\s*)?(?:\\\}|[\])}])$", r"\1", text, flags=re.DOTALL
    )
    for split in (_WIDE, _TIGHT):
        parts = [part for part in split.split(text) if part and part.strip()]
        if not parts or len(parts) > MAX_NUMBERS:
            continue
        # "1,000, 2" has thousands; a comma without a space in "1,2" or "1,200" stands between numbers.
        if split is _WIDE and len(parts) == 1 and "," in parts[0] and not _THOUSANDS.fullmatch(parts[0]):
            continue
        if found := _each(parts):
            return found
    return None


def _given(text: str, where: Sequence[str]) -> list[Fraction] | None:
    """The numbers that a response gives; None where it gives no list."""
    for place in where:
        if place == "all":
            return _anywhere(text)
        found = claims(text, [place])
        if not found:
            continue
        lists = [_numbers(claim.text) for claim in found]
        if place == "boxed" and len(lists) > 1 and all(numbers and len(numbers) == 1 for numbers in lists):
            return [value for numbers in lists for value in numbers or []]
        if lists[-1] is not None or place != "phrase":
            # Two different lists contradict each other.
            return lists[-1] if all(numbers == lists[-1] for numbers in lists) else None
    return None


def _anywhere(text: str) -> list[Fraction] | None:
    bullets = [match[1] for match in _BULLETS.finditer(text)]
    if len(bullets) > 1 and (values := _values(bullets)):
        return values
    if len(text) <= _WHOLE and (whole := _numbers(text)) is not None:
        return whole
    brackets = [next(filter(None, match.groups()), "") for match in _BRACKETED.finditer(text)]
    for content in brackets[:-21:-1]:
        if (found := _numbers(content)) is not None and (len(found) > 1 or content is brackets[-1]):
            return found
    last = text.strip().rpartition("\n")[2]
    _, colon, after = last.rpartition(":")
    return _sentence(after if colon else last)


def _sentence(text: str) -> list[Fraction] | None:
    """The run of numbers that a sentence ends with, as in "They are 3, 1 and 2."."""
    text = text.strip().rstrip(".")
    if _DENIED.search(text[-2_000:]):
        return None
    match = _RUN.search(text[-2_000:])
    return _numbers(match[1]) if match else None


def _in_place(mine: list[Fraction], gold: list[Fraction], slack: Fraction) -> int:
    return sum(abs(a - b) <= slack for a, b in zip(mine, gold, strict=False))


def _in_common(mine: list[Fraction], gold: list[Fraction], slack: Fraction) -> int:
    """How many pairs of numbers match, each used once; in order of size the first that fits is the best."""
    a, b = sorted(mine), sorted(gold)
    i = j = pairs = 0
    while i < len(a) and j < len(b):
        if abs(a[i] - b[j]) <= slack:
            i, j, pairs = i + 1, j + 1, pairs + 1
        elif a[i] < b[j]:
            i += 1
        else:
            j += 1
    return pairs
