"""The reward ``math``: is the final answer of a solution the right one?"""

from __future__ import annotations

import contextlib
import functools
import logging
import math as numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import ModuleType
from typing import Any

from guerdon.errors import InputError, MissingExtraError
from guerdon.reward.decorator import reward_function
from guerdon.rewards._answers import PLACES, Answer, clean, final_answer, readable
from guerdon.rewards._numbers import Number, normal, number
from guerdon.rewards._parameters import response_text, shown, text_list
from guerdon.scoring.worker import inside_worker
from guerdon.types import EvaluateResult, MetricResult

MAX_ANSWER = 1_000
"""Characters that an answer may have; what is longer is no answer."""
MAX_DEPTH = 12
"""How deep its brackets may be nested; parsing time grows steeply with it."""
_GOLD_PLACES = ("boxed", "hashes", "tag", "phrase", "label")
_DECIMALS = Fraction(1, 2_000_000)
_RELATIVE = Fraction(1, 1000)

_WORD = re.compile(r"[A-Za-z]{2,}(?:['’][a-z]+)?")
_COMMAND = re.compile(r"\\(?!text|mathrm|mathbf|mbox)[A-Za-z]+")
_GREEK = re.compile(
    r"\\(?:alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|upsilon|phi|"
    r"chi|psi|omega|angle|triangle|ell)",
    re.IGNORECASE,
)
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
# Words after a number that change it are no unit.
_UNIT = re.compile(
    r"(?P<number>[-+$€£¥\d.,/ ]*\d) ?-?"
    r"(?!(?:or|and|to|by|plus|minus|times|over|mod|pi|sqrt|sin|cos|tan|log|ln|exp|hundred|thousand|million|"
    r"billion|trillion|dozen|half|percent)\b)[A-Za-z]{2,}(?:[ /.-][A-Za-z]+)*(?:\^\{?[23]\}?)?"
)
_PERCENT = re.compile(r"\s*(?:\\?%|(?:\\(?:text|mathrm)\{\s*)?(?:percent|pct)\b\s*\}?)$", re.IGNORECASE)
_ASKS_PERCENT = re.compile(
    r"\b(?:what|which|how many|find|express|compute|calculate|determine)\b[^.?!]{0,200}?(?<!\d)(?<!\d )percent"
    r"|\bas an? percent",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Za-z][A-Za-z ,.'’-]*")
_DOUBLED = re.compile(r"\{\{([^{}]*)\}\}")
_EQUALS = re.compile(r"(?<![\\<>!:=])=(?!=)")


@reward_function(timeout=10.0, scale=(0, 1))
def math(
    response: str,
    ground_truth: str | float,
    prompt: str = "",
    *,
    extract: str | Sequence[str] | None = None,
) -> EvaluateResult:
    r"""Scores 1 where the final answer equals the ground truth as mathematics, else 0.

    The final answer is what stands in the first of these places that there is, of several in one place the
    last: ``\boxed{…}``, after ``####``, in ``<answer>…</answer>``, after "the answer is", after ``Answer:``
    or ``A:``, the last formula or number. ``extract`` names the places to look at, in order, out of
    ``boxed``, ``hashes``, ``tag``, ``phrase``, ``label`` and ``last``. What stands before ``</think>`` is
    not looked at.

    Answer and ground truth are equal where they are spelled alike, where both are numbers of one value, or
    where math-verify finds them equal. Decimals count as equal when they agree to 6 decimal places, and to
    one part in a thousand where they are small; whole numbers and fractions have to agree exactly.
    Against what math-verify would pay, an answer is wrong that is taken back or is a sentence
    (``7 \text{ is wrong}``), a chain that is false (``7777 = 7``), and a percentage where the ground truth
    is a plain number (``7%`` is 7/100), unless the ``prompt`` asks for a percentage.

    The ground truth is a number, or text: plain, LaTeX, or a whole solution that marks its answer as in
    ``#### 18`` or ``\boxed{18}``. An expression that cannot be evaluated in time, such as ``9^{9^9}``, ends
    at the deadline as a failure; a direct call runs in a worker process and has 10 seconds.

    Scale: 0 or 1.

    The metric ``answer_found`` says whether there was an answer, which and where.

    Source: math-verify (Kydlíček 2025, huggingface/Math-Verify) for equality; the ``####`` form is that of
    GSM8K (Cobbe et al. 2021), the box that of MATH (Hendrycks et al. 2021).

    Raises InputError for a ground truth that cannot be read, MissingExtraError without math-verify.

    >>> math("6 times 7 is 42.\nA: 42", "42").score
    1.0
    >>> math(r"Half of it: \boxed{\frac{3}{2}}", "#### 1.5").score
    1.0
    """
    _math_verify()
    text = readable(response_text(response))
    gold = _gold_of(_gold_text(ground_truth))
    answer = final_answer(text, _places(extract))
    if answer is None:
        return EvaluateResult(
            0.0, reason="no answer found", metrics={"answer_found": MetricResult(0.0, success=False)}
        )
    right, reason = _verdict(answer, gold, bool(_ASKS_PERCENT.search(prompt)))
    found = MetricResult(1.0, success=True, reason=f"{answer.how} {shown(answer.text)}")
    return EvaluateResult(float(right), reason=reason, metrics={"answer_found": found})


@dataclass(frozen=True, slots=True)
class _Value:
    """What an answer or a ground truth says, read."""

    text: str
    """Without a percent sign at its end."""
    is_percent: bool
    number: Number | None
    expression: Any
    """As SymPy has it; None for what only equals itself."""


@dataclass(frozen=True, slots=True)
class _Gold:
    """A ground truth that was read."""

    text: str
    value: _Value
    words: frozenset[str]
    is_words: bool


def _places(extract: Any) -> Sequence[str]:
    if extract is None:
        return PLACES
    places = text_list(extract, "extract")
    if unknown := [place for place in places if place not in PLACES]:
        raise InputError(f"extract knows {', '.join(PLACES)}, not {shown(unknown[0])}")
    return places or PLACES


def _gold_text(ground_truth: Any) -> str:
    if isinstance(ground_truth, str):
        return ground_truth
    if isinstance(ground_truth, bool) or not isinstance(ground_truth, int | float):
        raise InputError(f"the ground truth must be text or a number, not {shown(ground_truth)}")
    if not numbers.isfinite(ground_truth):
        raise InputError(f"the ground truth must be finite, not {ground_truth}")
    return str(ground_truth)


@functools.lru_cache(maxsize=1024)
def _gold_of(text: str) -> _Gold:
    """The ground truth in a text. Raises InputError where there is none that can be read."""
    said = readable(text)
    marked = final_answer(said, _GOLD_PLACES, "last")
    wanted = marked.text if marked else clean(said)
    if _refusal(wanted) is not None:
        raise InputError(f"the ground truth {shown(text)} cannot be read: {_refusal(wanted)}")
    plain = normal(wanted)
    is_words = bool(_WORDS.fullmatch(plain) and re.search(r"[A-Za-z]{3}", plain))
    value = _Value(wanted, False, None, None) if is_words else _value(wanted)
    if value.expression is None and not is_words:
        raise InputError(f"the ground truth {shown(text)} cannot be read as mathematics")
    return _Gold(wanted, value, _words(wanted), is_words)


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


def _verdict(answer: Answer, gold: _Gold, asks_percent: bool) -> tuple[bool, str]:
    """Whether the response stands by the right answer and by no other, and why."""
    if answer.retracted:
        return False, f"the answer {shown(answer.text)} is denied or taken back"
    if answer.together:
        right, reason = _judge(replace(answer, text=answer.together), gold, asks_percent)
        if right:
            return right, reason
    right, reason = _judge(answer, gold, asks_percent)
    for rival in answer.rivals if right else ():
        if not _judge(Answer(rival, answer.how), gold, asks_percent)[0]:
            return False, f"the response also answers {shown(rival)}"
    return right, reason


def _judge(answer: Answer, gold: _Gold, asks_percent: bool) -> tuple[bool, str]:
    """Whether the answer is right, and why."""
    if refusal := _refusal(answer.text):
        return False, f"the answer cannot be read: {refusal}"
    if objection := _objection(answer, gold):
        return False, objection
    mine, wanted = normal(answer.text), normal(gold.text)
    if gold.is_words:
        right = mine.casefold() == wanted.casefold()
    else:
        right = mine == wanted or _is_equal(answer.text, gold.value, asks_percent)
    return right, f"{shown(answer.text)} {'equals' if right else 'is not'} {shown(gold.text)}"


def _objection(answer: Answer, gold: _Gold) -> str | None:
    """What the answer says besides an answer."""
    told = _DENIES if answer.how in _SENTENCES else _DENIES | _SAYS
    if said := sorted((_words(answer.text) & told) - gold.words):
        return f"the answer {shown(answer.text)} makes a statement ({', '.join(said)})"
    return "the answer is taken back at once" if _TAKEN_BACK.match(answer.rest) else None


def _words(text: str) -> frozenset[str]:
    found = _WORD.findall(_COMMAND.sub(" ", text))
    return frozenset(word.lower().replace("’", "'") for word in found)


def _is_equal(text: str, gold: _Value, asks_percent: bool) -> bool:
    parts = [text] if _EQUALS.search(gold.text) else [part for part in _EQUALS.split(text) if part.strip()]
    # In a chain such as 3 + 4 = 7 each link has to hold; what has a variable in it, as x = 7, gives a name.
    links = [part for part in parts[:-1] if not _has_variable(part)]
    return all(_is_same(_value(part), gold, asks_percent) for part in [*parts[-1:], *links])


def _has_variable(text: str) -> bool:
    return bool(_GREEK.search(text) or re.search(r"[A-Za-z]", _COMMAND.sub("", text)))


def _is_same(mine: _Value, gold: _Value, asks_percent: bool) -> bool:
    if mine.expression is None or gold.expression is None:
        return False
    if mine.is_percent == gold.is_percent:
        factors: tuple[Fraction, ...] = (Fraction(1),)
    elif mine.is_percent:
        factors = (Fraction(1, 100), Fraction(1)) if asks_percent else (Fraction(1, 100),)
    else:
        factors = (Fraction(1), Fraction(100))  # 50 and 0.5 both stand for 50 %
    if mine.number is not None and gold.number is not None:
        return any(_is_close(mine.number, gold.number, factor) for factor in factors)
    return any(_verify(gold.expression, mine.expression, factor) for factor in factors)


def _is_close(mine: Number, gold: Number, factor: Fraction) -> bool:
    apart = abs(mine.value * factor - gold.value)
    if mine.is_decimal or gold.is_decimal:
        return apart <= _DECIMALS and apart <= _RELATIVE * abs(gold.value)
    return not apart


def _value(text: str) -> _Value:
    bare = _PERCENT.sub("", text)
    plain = normal(bare)
    unit = _UNIT.fullmatch(plain)
    value = number(unit["number"].strip() if unit else plain)
    if _PERCENT.search(bare):
        return _Value(bare, True, None, None)
    expression = _parsed(bare) if value is None else _symbolic(value)
    if expression is None:
        expression = _parsed(plain)
    return _Value(bare, bare != text, value, expression)


def _symbolic(value: Number) -> Any:
    import sympy

    exact = sympy.Rational(value.value.numerator, value.value.denominator)
    return sympy.Float(exact, 30) if value.is_decimal else exact


def _parsed(text: str) -> Any:
    """The expression that math-verify reads in a text; None where it reads none."""
    library = _math_verify()
    # Doubled braces mean nothing, but each pair doubles the time of the parser.
    while (simpler := _DOUBLED.sub(r"{\1}", text)) != text:
        text = simpler
    # Only the box as a whole: by default math-verify goes on to any formula that it can read inside.
    config = [library.LatexExtractionConfig(try_extract_without_anchor=False)]
    found = library.parse(rf"\boxed{{{text}}}", config, fallback_mode="no_fallback", parsing_timeout=None)
    return found[0] if found else None


def _verify(gold: Any, mine: Any, factor: Fraction) -> bool:
    """Whether math-verify finds two expressions equal, and they are not just both very small."""
    import sympy

    if factor != 1:
        if not isinstance(mine, sympy.Expr):
            return False
        mine = mine * sympy.Rational(factor.numerator, factor.denominator)
    if not _math_verify().verify(gold, mine, timeout_seconds=None):
        return False
    if not (isinstance(gold, sympy.Expr) and isinstance(mine, sympy.Expr)):
        return True
    if gold.free_symbols or mine.free_symbols:
        return True
    try:
        apart = abs((gold - mine).evalf(30))
        return bool(apart <= float(_RELATIVE) * abs(gold.evalf(30)))
    except (TypeError, ValueError, ArithmeticError, AttributeError):  # no number after all, such as zoo
        return True


def _math_verify() -> ModuleType:
    try:
        import math_verify
    except ImportError as error:
        raise MissingExtraError.of("math", "the math reward") from error
    return math_verify  # type: ignore[no-any-return]


def _is_news(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("Timeout is disabled")


# math-verify warns when it is told to leave deadlines to its caller, which is what is meant here.
for _name in ("math_verify.parser", "math_verify.grader"):
    logging.getLogger(_name).addFilter(_is_news)

if inside_worker():
    # The half second that the import takes belongs to loading the reward, not to the first sample.
    with contextlib.suppress(MissingExtraError):
        _math_verify()
