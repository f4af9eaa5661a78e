"""The reward ``math``: is the final answer of a solution the right one?"""

from __future__ import annotations

import json
import math as numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from guerdon.errors import DeadlineError, InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.final import PLACES, POLICIES, FinalAnswer, clean, final_answer, readable
from guerdon.rewards.answers.numbers import normal
from guerdon.rewards.common.parameters import (
    among,
    needs,
    non_negative,
    one_of,
    parameter_check,
    response_text,
    shown,
    text_list,
    yes_or_no,
)
from guerdon.rewards.math.choices import labelled, letter_alone
from guerdon.rewards.math.equality import equal
from guerdon.rewards.math.math_verify_fallback import agrees, math_verify, parsed
from guerdon.rewards.math.normal_form import ExpressionTooLargeError, UndefinedError, UnknownError, variables
from guerdon.rewards.math.quantities import Rules
from guerdon.rewards.math.reading import read
from guerdon.rewards.math.tokens import is_word
from guerdon.rewards.math.values import Based, Clock, Collection, Quantity, Value, Word, quantities
from guerdon.rewards.math.words import special_words, value_of_words
from guerdon.types import EvaluateResult, MetricResult

MAX_ANSWER = 1_000
"""Characters that an answer may have; what is longer is not an answer."""
MAX_DEPTH = 12
"""How deep its brackets may be nested; parsing time grows steeply with it."""
_LINE = 80
MODES = ("strict", "tolerant")
_GOLD_PLACES = ("boxed", "hashes", "tag", "phrase", "label")

_WORD = re.compile(r"[A-Za-z]{2,}(?:['’][a-z]+)?")
_COMMAND = re.compile(r"\\(?!text|mathrm|mathbf|mbox)[A-Za-z]+")
_SAYS = frozenset(
    {"is", "are", "was", "were", "be", "been", "maybe", "perhaps", "probably", "possibly", "unsure", "guess"}
)
_DENIES = frozenset(
    {
        *("not", "no", "never", "none", "neither", "nor", "cannot", "can't", "don't", "doesn't", "didn't"),
        *("isn't", "aren't", "wasn't", "weren't", "wrong", "incorrect", "false", "untrue", "mistake"),
        *("mistaken", "error"),
    }
)
_SENTENCES = ("the answer is", "Answer:")
_TAKEN_BACK = re.compile(
    r"\W*(?:(?:this|that|it|which|but|answer)\W+){0,3}"
    r"(?:isn't|(?:is|was|would\W+be)\W+(?:not|wrong|incorrect|false|a\W+mistake))\b",
    re.IGNORECASE,
)
_ASKS_PERCENT = re.compile(
    r"\b(?:what|which|how many|find|express|compute|calculate|determine)\b[^.?!]{0,200}?(?<!\d)(?<!\d )percent"
    r"|\bas an? percent",
    re.IGNORECASE,
)
# Whatever marks an answer holds one of these, or a word; most ground truths hold none.
_MAY_MARK = re.compile(r"box|[#<:=\n]|(?<![\\A-Za-z])[A-Za-z]{3}|[^\x00-\x7f]")
_WORDS = re.compile(r"[A-Za-z][A-Za-z ,.'’-]*")
_GUESSED = re.compile(r"\\[a-z]*dots|\.\.\.|…|'|\\prime")
_BINDS = re.compile(r"\\(?:sum|prod|i+nt|oint|lim|sup|inf|max|min)(?![a-z])")
_VARIABLE = re.compile(r"(?<![A-Za-z])[A-DF-HJ-Za-df-hj-z](?![A-Za-z])")
_LETTERS = re.compile(r"[A-Za-z]+")


@reward_function(
    reach=needs("math_verify", "math", "the math reward"),
    timeout=10.0,
    scale=(0, 1),
    check=parameter_check(
        extract=lambda value, _: _places(value),
        candidates=among(POLICIES),
        mode=among(MODES),
        tolerance=non_negative,
        absolute_tolerance=non_negative,
        require_units=yes_or_no,
        order_matters=yes_or_no,
    ),
)
def math(
    response: str,
    ground_truth: str | float | Sequence[str | float],
    prompt: str = "",
    *,
    extract: str | Sequence[str] | None = None,
    candidates: str = "consistent",
    mode: str = "strict",
    tolerance: float | None = None,
    absolute_tolerance: float | None = None,
    require_units: bool = False,
    order_matters: bool = False,
) -> EvaluateResult:
    r"""Scores 1 where the final answer equals the ground truth as mathematics, else 0.

    The final answer is what stands in the first of these places that there is, of several in one place the
    last: ``\boxed{…}``, after ``####``, in ``<answer>…</answer>``, after "the answer is", after ``Answer:``
    or ``A:``, the last formula or number. ``extract`` names the places to look at, in order, out of
    ``boxed``, ``hashes``, ``tag``, ``phrase``, ``label`` and ``last``. Text before ``</think>`` is
    ignored. With ``candidates="consistent"`` other answers that the response gives and does not take
    back have to be right as well; with ``"last"`` the final one alone counts.

    Answer and ground truth are read in the same way and compared exactly: numbers, fractions, roots, powers,
    functions, polynomials, tuples, sets, intervals, matrices, equations, inequalities, words. What that
    cannot decide, math-verify decides. Lists and sets have no order unless ``order_matters``; tuples have.
    A number that is written as a decimal agrees where it agrees to 6 decimal places, and to one part in a
    thousand where it is small. A percentage is a hundredth, unless the ``prompt`` asks for a percentage.
    A unit may be left out unless ``require_units``; another unit than that of the ground truth is wrong.

    ``mode="tolerant"`` also accepts a number rounded to the digits of the ground truth, or, where that is
    exact, correctly rounded to three significant digits or more; the same measure in another unit; degrees
    for radians; and a tuple, a vector and a list for each other. ``tolerance`` is how far a number may be
    off as a share of the ground truth, ``absolute_tolerance`` how far at all.

    The ground truth is a number, or text: plain, LaTeX, or a whole solution that marks its answer as in
    ``#### 18`` or ``\boxed{18}``; of a list of several each is right. An answer with too many digits to be
    evaluated, such as ``9^{9^9}``, is wrong, and such a ground truth a failure. A direct call runs in a worker process
    and has 10 seconds.

    Scale: 0 or 1.

    The metric ``answer_found`` says whether there was an answer, which and where.

    Source: the normal form rests on the linear independence of radicals of different primes (Besicovitch
    1940); math-verify (Kydlíček 2025, huggingface/Math-Verify) is behind it; the ``####`` form is that of
    GSM8K (Cobbe et al. 2021), the box that of MATH (Hendrycks et al. 2021).

    Raises InputError for a ground truth that cannot be read and for unknown parameters, DeadlineError for one that
    is too large to be evaluated, MissingExtraError without math-verify.

    >>> math("6 times 7 is 42.\nA: 42", "42").score
    1.0
    >>> math(r"Half of it: \boxed{\frac{3}{2}}", "#### 1.5").score
    1.0
    >>> math(r"\boxed{3.14 \text{ m}}", r"100\pi \text{ cm}", mode="tolerant").score
    1.0
    """
    math_verify()
    rules = Rules(
        one_of(mode, MODES, "mode") == "tolerant",
        _share(tolerance, "tolerance"),
        _share(absolute_tolerance, "absolute_tolerance"),
        yes_or_no(require_units, "require_units"),
        yes_or_no(order_matters, "order_matters"),
        "percent" in prompt.lower() and _ASKS_PERCENT.search(prompt) is not None,
    )
    policy = one_of(candidates, POLICIES, "candidates")
    golds = [_gold_of(text) for text in _gold_texts(ground_truth)]
    said = readable(response_text(response))
    answer = final_answer(said, _places(extract), policy)
    if answer is None and any(gold.is_prose or isinstance(gold.value, Word) for gold in golds):
        answer = _whole_response(said)
    if answer is None:
        return EvaluateResult(
            0.0, reason="no answer found", metrics={"answer_found": MetricResult(0.0, success=False)}
        )
    right, reason = _verdict(answer, golds, rules)
    found = MetricResult(1.0, success=True, reason=f"{answer.how} {_shown(answer.text)}")
    return EvaluateResult(float(right), reason=reason, metrics={"answer_found": found})


def _whole_response(text: str) -> FinalAnswer | None:
    """A response that is one short line, such as "There is no solution."."""
    line = clean(text.strip()) if len(text) <= _LINE else ""
    return FinalAnswer(line, "the response") if line and "\n" not in line else None


@dataclass(frozen=True, slots=True)
class _Reference:
    """A ground truth that was read."""

    text: str
    value: Value | None
    """None where only math-verify reads it, and for prose."""
    words: frozenset[str]
    plain: str
    """The text in normal spelling."""
    is_prose: bool = False
    """Whether it only equals itself."""


@lru_cache(maxsize=4096)
def _shown(text: str) -> str:
    return shown(text)


def _share(value: Any, what: str) -> Fraction | None:
    number = non_negative(value, what)
    return None if number is None else Fraction(number)


def _places(extract: Any) -> Sequence[str]:
    if extract is None:
        return PLACES
    places = text_list(extract, "extract")
    if unknown := [place for place in places if place not in PLACES]:
        raise InputError(f"extract knows {', '.join(PLACES)}, not {shown(unknown[0])}")
    return places or PLACES


def _gold_texts(ground_truth: Any) -> list[str]:
    """The ground truths: one, or several in a list or in a JSON list of texts."""
    if isinstance(ground_truth, str) and ground_truth.lstrip().startswith('["'):
        try:
            ground_truth = json.loads(ground_truth)
        except ValueError:
            raise InputError('the ground truth starts like a JSON list but is none: ["18", "20"]') from None
    if not isinstance(ground_truth, list | tuple):
        return [_gold_text(ground_truth)]
    if not ground_truth:
        raise InputError("the ground truth is an empty list; give at least one")
    return [_gold_text(each) for each in ground_truth]


def _gold_text(ground_truth: Any) -> str:
    if isinstance(ground_truth, str):
        return ground_truth
    if isinstance(ground_truth, bool) or not isinstance(ground_truth, int | float):
        raise InputError(f"the ground truth must be text or a number, not {shown(ground_truth)}")
    if not numbers.isfinite(ground_truth):
        raise InputError(f"the ground truth must be finite, not {ground_truth}")
    return str(ground_truth)


@lru_cache(maxsize=1024)
def _gold_of(text: str) -> _Reference:
    """The ground truth in a text. Raises InputError where there is none that can be read."""
    said = readable(text)
    marked = final_answer(said, _GOLD_PLACES, "last") if _MAY_MARK.search(said) else None
    wanted = marked.text if marked else clean(said)
    if (refusal := _refusal(wanted)) is not None:
        raise InputError(f"the ground truth {shown(text)} cannot be read: {refusal}")
    words, plain = _words(wanted), normal(wanted)
    value = _reading(wanted)
    if _is_said(wanted) and (special := special_words(plain)) is not None:
        return _Reference(wanted, special, words, plain)
    if _is_said(wanted):
        return _Reference(wanted, None, words, plain, is_prose=True)
    if isinstance(value, ExpressionTooLargeError):
        raise DeadlineError(f"the ground truth {shown(wanted)} cannot be evaluated: {value}")
    if not isinstance(value, ArithmeticError):
        return _Reference(wanted, value, words, plain)
    if _has_words(wanted):
        return _Reference(wanted, None, words, plain, is_prose=True)
    if isinstance(value, UndefinedError) or parsed(wanted).expression is None:
        raise InputError(f"the ground truth {shown(text)} cannot be read as mathematics")
    return _Reference(wanted, None, words, plain)


def _is_digits(text: str) -> bool:
    return text.isdecimal() and text.isascii()


def _is_said(text: str) -> bool:
    """Whether a text is words and nothing else."""
    plain = normal(text)
    return bool(_WORDS.fullmatch(plain)) and any(is_word(word) for word in _LETTERS.findall(plain))


def _has_variables(text: str) -> bool:
    """Whether there are letters that no sum, integral or limit binds."""
    return not _BINDS.search(text) and bool(_VARIABLE.search(_COMMAND.sub(" ", text)))


def _has_words(text: str) -> bool:
    return any(is_word(word) for word in _LETTERS.findall(_COMMAND.sub(" ", text)))


@lru_cache(maxsize=4096)
def _reading(text: str, grouped: bool = True) -> Value | ArithmeticError:
    """The value of a text, or why there is none."""
    try:
        return read(text, grouped)
    except (UnknownError, UndefinedError, ExpressionTooLargeError) as error:
        return error


def _refusal(text: str) -> str | None:
    """Why a text cannot be an answer; None if it can."""
    if not text:
        return "it is empty"
    if len(text) > MAX_ANSWER:
        return f"it has {len(text):,} characters, over {MAX_ANSWER:,}"
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, abs(depth))
    return "its brackets are nested too deep" if deepest > MAX_DEPTH else None


def _verdict(answer: FinalAnswer, golds: Sequence[_Reference], rules: Rules) -> tuple[bool, str]:
    """Whether the response stands by a right answer and by no other, and why."""
    if answer.retracted:
        return False, f"the answer {shown(answer.text)} is denied or taken back"
    if answer.together:
        right, reason = _judge(replace(answer, text=answer.together), golds, rules)
        if right:
            return right, reason
    right, reason = _judge(answer, golds, rules)
    for alternative in answer.alternatives if right else ():
        if not _judge(FinalAnswer(alternative, answer.how), golds, rules)[0]:
            return False, f"the response also answers {shown(alternative)}"
    return right, reason


def _judge(answer: FinalAnswer, golds: Sequence[_Reference], rules: Rules) -> tuple[bool, str]:
    """Whether the answer is right, and why."""
    if refusal := _refusal(answer.text):
        return False, f"the answer cannot be read: {refusal}"
    if objection := _objection(answer, golds):
        return False, objection
    for gold in golds:
        if _is_right(answer.text, gold, rules):
            return True, f"{_shown(answer.text)} equals {_shown(gold.text)}"
    return False, f"{_shown(answer.text)} is not {' or '.join(_shown(gold.text) for gold in golds[:5])}"


def _objection(answer: FinalAnswer, golds: Sequence[_Reference]) -> str | None:
    """What the answer says besides an answer."""
    if special_words(answer.text) is not None:
        return None
    excluded = _DENIES if answer.how in _SENTENCES else _DENIES | _SAYS
    meant = frozenset[str]().union(*(gold.words for gold in golds))
    if said := sorted((_words(answer.text) & excluded) - meant):
        return f"the answer {shown(answer.text)} makes a statement ({', '.join(said)})"
    return "the answer is taken back at once" if _TAKEN_BACK.match(answer.rest) else None


def _words(text: str) -> frozenset[str]:
    if not _LETTERS.search(text):
        return frozenset()
    found = _WORD.findall(_COMMAND.sub(" ", text))
    return frozenset(word.lower().replace("’", "'") for word in found)


def _is_right(text: str, gold: _Reference, rules: Rules) -> bool:
    """Whether a text equals the ground truth; a number beyond evaluation does not."""
    wanted = gold.plain
    if _is_digits(text) and _is_digits(wanted) and rules.relative is None and rules.absolute is None:
        return int(text) == int(wanted)
    mine = normal(text)
    if mine == wanted:
        return True
    if (gold.is_prose or isinstance(gold.value, Word)) and mine.casefold() == wanted.casefold():
        return True
    if (letter := letter_alone(mine)) and letter == wanted.strip("()"):
        return True
    if option := labelled(text):
        letter, rest = option
        return letter == letter_alone(wanted) if letter_alone(wanted) else _is_right(rest, gold, rules)
    value = _reading(text)
    if gold.is_prose:
        return isinstance(value, Word) and value == value_of_words(wanted)
    # Not a failure either, which a policy could choose instead of a low score.
    if isinstance(value, ExpressionTooLargeError | UndefinedError):
        return False
    decided: bool | None = None
    if not isinstance(value, ArithmeticError) and gold.value is not None:
        decided = _is_equal(value, gold.value, rules)
        if decided is False and isinstance(value, Collection) is not isinstance(gold.value, Collection):
            # 100,200 may be one number or two; beside a list it is two.
            decided = _is_equal(_reading(text, False), _reading(gold.text, False), rules)
    if decided is not None or not _may_ask(text, gold, rules):
        return bool(decided)
    return agrees(text, gold.text, rules.asks_percent)


def _is_equal(mine: Value | ArithmeticError, gold: Value | ArithmeticError, rules: Rules) -> bool | None:
    if isinstance(mine, ArithmeticError) or isinstance(gold, ArithmeticError):
        return False
    try:
        return equal(mine, gold, rules)
    except (UnknownError, UndefinedError, ExpressionTooLargeError):
        return None


def _may_ask(text: str, gold: _Reference, rules: Rules) -> bool:
    """Whether math-verify can be asked: it drops words, bases, units and primes, and guesses at dots."""
    if _has_words(text) or isinstance(gold.value, Word | Based | Clock):
        return False
    is_number = isinstance(gold.value, Quantity) and not variables(gold.value.form)
    if is_number and isinstance(_reading(text), UnknownError) and _has_variables(text):
        return False
    if _GUESSED.search(text) or _GUESSED.search(gold.text):
        return False
    has_unit = gold.value is not None and any(each.unit is not None for each in quantities(gold.value))
    return not (has_unit and rules.require_units)
