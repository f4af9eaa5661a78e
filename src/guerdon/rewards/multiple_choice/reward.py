"""The reward ``multiple_choice``: does the response choose the right option?"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.answers.text import Claim, at_place, is_retracted, not_retracted, places, sentences
from guerdon.rewards.answers.visible import visible
from guerdon.rewards.common.parameters import among, one_of, parameter_check, response_text, shown
from guerdon.rewards.common.words import UNSPACED
from guerdon.rewards.multiple_choice.choices import OptionList, chosen_labels, label_pattern, options_of
from guerdon.types import EvaluateResult, MetricResult

PLACES = ("boxed", "tag", "hashes", "label", "phrase", "all")
POLICIES = ("consistent", "last")
NEEDS = ("all", "any")
_READ = 100_000
"""Characters at the end of a response in which the choice is looked for."""

_LINE = 2_000
"""Characters that a line may have which is nothing but a choice."""
_NEGATED = re.compile(r"\b(?:not|never|nor|if|whether)\b|n['’]t\b")
_CONDITION = re.compile(r"\b(?:if|whether|suppose|assume|why)\b[^.\n]*$", re.IGNORECASE)
_OUT = re.compile(r"\s+(?:is|was|are)(?:n['’]t|\s+(?:the\s+)?(?:not|wrong|incorrect|false|out))\b")
_NOT = re.compile(
    r"(?:(?:\b(?:not|neither|nor)|n['’]t)\s+(?:\w+\s+)?"
    r"|\b(?:except(?: for)?|excluding|(?:all|everything|anything) but"
    r"|(?:eliminat|exclud|reject|discard)(?:e[sd]?|ed|ing|s)?|rul(?:e[sd]?|ing) out)\s+"
    r"(?:(?:option|choice|answer)\s+)?"
    r"|[不未非别別没沒](?:[应應该該要能会會可是]|[选選][择擇]?)*)[(\[*]*$",
    re.IGNORECASE,
)
_LETTER = rf"[^\W{UNSPACED}]"
"""What a label cannot be a part of a word with; Chinese puts no space beside it."""
_WORDLIKE = re.compile(r"\s+(?!(?:or|and|is|because)\b)[\w\"“]|['’]")


@reward_function(
    scale=(0, 1),
    check=parameter_check(
        extract=lambda value, _: places(value, ()), candidates=among(POLICIES), need=among(NEEDS)
    ),
)
def multiple_choice(
    response: str,
    ground_truth: Any,
    choices: Any = None,
    options: Any = None,
    prompt: str = "",
    *,
    extract: str | Sequence[str] | None = None,
    candidates: str = "consistent",
    need: str = "all",
) -> EvaluateResult:
    r"""Scores 1 where the response chooses the right option, else 0.

    The choice is looked for in a box, in ``<answer>``, after ``####``, after ``Answer:``, and in sentences that
    choose ("the answer is B", "option B is correct", "I choose B", "so B"); where there is none, the
    response itself may be a letter or an option's text, or mention one single option. ``extract`` names
    the places to look at, out of ``boxed``, ``tag``, ``hashes``, ``label``, ``phrase`` and ``all``. Read are
    ``B``, ``(B)``, ``**B**``, ``B) Paris``, ``Paris``, ``A, C``.

    "A or B" chooses nothing, a letter beside another option's text contradicts itself, and so do two
    different final choices, unless the first is corrected ("wait, …"); ``candidates="last"`` takes the
    last of them. A choice that is taken back at the end is none.

    The ground truth is a label, an option's text, or the number of the option, counted from 0; a text that
    is both an option's text and a number is the text. A list, or ``"A, C"``, means that all of them have to
    be chosen and no other; with ``need="any"`` one of them is enough. Options come from the column ``choices``
    or ``options`` (a list, ``{"A": …}``, or ``{"label": […], "text": […]}``), else from lines ``A) …`` of the
    prompt, else they are the letters from A to Z.

    Scale: 0 or 1.

    The metric ``answer_found`` says whether there was a choice, and which.

    Source: the letter extraction of MMLU-Pro's evaluation (Wang et al. 2024), read strictly.

    Raises InputError for a ground truth that is not an option, and for options that cannot be read.

    >>> multiple_choice("Rome is in Italy, so the answer is (B) Paris.", "B", choices=["Rome", "Paris"]).score
    1.0
    >>> multiple_choice("It is A or B.", 1, choices=["Rome", "Paris"]).score
    0.0
    """
    given = options_of(choices if choices is not None else options, prompt)
    gold = _gold(ground_truth, given)
    last = one_of(candidates, POLICIES, "candidates") == "last"
    any_of = one_of(need, NEEDS, "need") == "any"
    text = visible(response_text(response))[-_READ:]
    text = text if text.isascii() else unicodedata.normalize("NFKC", text)
    found = _choice(text, given, places(extract, PLACES), last)
    metric = MetricResult(float(found is not None), success=found is not None)
    if found is None:
        return EvaluateResult(0.0, reason="no choice found", metrics={"answer_found": metric})
    right = bool(found) and (found <= gold if any_of else found == gold)
    chosen = ", ".join(sorted(found)) or "nothing, or several options"
    reason = f"chooses {chosen}, right is {', '.join(sorted(gold))}"
    return EvaluateResult(float(right), reason=reason, metrics={"answer_found": metric})


def _gold(value: Any, options: OptionList) -> frozenset[str]:
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict):
        found = frozenset().union(*(_gold(item, options) for item in value))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = _by_number(value, options)
    elif isinstance(value, str):
        found = _by_text(value.strip(), options)
    else:
        found = frozenset()
    if not found:
        labels = ", ".join(options.labels[:8]) + (", …" if len(options.labels) > 8 else "")
        raise InputError(f"the ground truth {shown(value)} is not an option; there are {labels}")
    return found


def _by_number(value: float, options: OptionList) -> frozenset[str]:
    if str(value) in options.labels:
        return frozenset({str(value)})
    is_index = float(value).is_integer() and 0 <= value < len(options.labels)
    return frozenset({options.labels[int(value)]}) if is_index else frozenset()


def _by_text(text: str, options: OptionList) -> frozenset[str]:
    if text in options.labels:
        return frozenset({text})
    if (label := options.labelled(text)) is not None:
        return frozenset({label})
    if text.isdecimal() and text.isascii():
        return _by_number(int(text[:6]), options)
    return chosen_labels(text, options) or frozenset()


def _choice(text: str, options: OptionList, where: Sequence[str], last: bool) -> frozenset[str] | None:
    """The labels that a response chooses; empty where it contradicts itself, None where it chooses none."""
    marked = [place for place in where if place not in ("all", "phrase")]
    for place in marked:
        if found := _agreed(text, at_place(text, place), options, last):
            return found[0]
    if "phrase" in where and (found := _agreed(text, _sentences(text, options), options, last)):
        return found[0]
    if "all" not in where:
        return None
    return _whole(text, options)


def _agreed(text: str, found: list[Claim], options: OptionList, last: bool) -> list[frozenset[str]]:
    """What the claims choose in common: one set, or none where nothing is chosen."""
    chosen = [
        (claim, labels) for claim in found if (labels := chosen_labels(claim.text, options)) is not None
    ]
    if not chosen:
        return []
    left = {claim.start for claim in not_retracted(text, [claim for claim, _ in chosen])}
    remaining = [labels for claim, labels in chosen if claim.start in left]
    # "B. That is wrong." is one sentence to whom B. is an initial.
    if not remaining or (is_retracted(chosen[-1][0].text) and not any(map(is_retracted, options.texts))):
        return [frozenset()]
    return [remaining[-1] if last or len(set(remaining)) == 1 else frozenset()]


@lru_cache(maxsize=256)
def _patterns(labels: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    label = rf"[(\[]?\*{{0,3}}(?P<label>{label_pattern(labels)})\*{{0,3}}[)\]]?(?![\w'’])"
    # "B is correct", "option (B) is the right one"
    correct = re.compile(
        rf"(?:\b(?:option|choice|answer|letter)\s+|(?<![\w'’])){label}[^.\n]{{0,80}}?"
        r"\b(?:is|must be|seems|would be)\s+(?:the\s+)?(?:(?:most|only|best)\s+)?"
        r"(?:correct|right|best|true|answer)\b(?!\?)"
    )
    # "I choose B", "my answer: B", "it must be B", "so B"
    chosen = re.compile(
        r"\b(?i:I(?:['’]d| would| will|['’]ll)?\s+(?:choose|pick|select|go\s+(?:with|for))"
        r"|choose|select|pick|choosing|selecting|(?:so|thus|therefore|hence|which\s+is)"
        r"(?:,?\s+it(?:['’]s|\s+is|\s+must\s+be))?,?|it(?:\s+must\s+be|\s+is|['’]s)|(?:my|final)\s+(?:choice|answer):?)\s+"
        rf"(?i:(?:the\s+)?(?:option|choice|answer|letter)\s+)?{label}"
        r"(?=\s*(?:[.,;:!)\]*]|$|because\b|since\b|as\b|or\b|and\b))",
        re.MULTILINE,
    )
    # "答案是B", "故选B"
    chinese = re.compile(
        rf"(?<![不未非])(?:答案(?:是|为|應為|应为|選|选)|[选選](?![项項]))[择擇]?[ :：]{{0,2}}"
        rf"[(（]?\*{{0,3}}(?P<label>{label_pattern(labels)})(?!{_LETTER})"
    )
    # A and I alone are words, unless they stand like labels.
    mentioned = re.compile(
        rf"(?<!{_LETTER})(?<!['’.-])[(\[]?\*{{0,3}}(?P<label>{label_pattern(labels)})\*{{0,3}}[)\]]?"
        rf"(?!{_LETTER}|['’-]|\.\w|\s*[=+])"
    )
    return correct, chosen, chinese, mentioned


def _sentences(text: str, options: OptionList) -> list[Claim]:
    """What chooses in a sentence, in the order of the text."""
    found = {claim.start: claim for claim in at_place(text, "phrase")}
    correct, chosen, chinese, _ = _patterns(options.labels)
    for match in correct.finditer(text):
        if not _NEGATED.search(match[0]) and not _CONDITION.search(
            text[max(0, match.start() - 60) : match.start()]
        ):
            found[match.start()] = Claim(match["label"], *match.span())
    in_chinese = (
        m for m in chinese.finditer(text) if not _NOT.search(text[max(0, m.start() - 25) : m.start()])
    )
    for match in itertools.chain(chosen.finditer(text), in_chinese):
        start = match.start("label") - (text[match.start("label") - 1] in "([")
        found[match.start()] = Claim(text[start : start + 200], *match.span())
    return [found[start] for start in sorted(found)]


def _whole(text: str, options: OptionList) -> frozenset[str] | None:
    """What a response chooses that marks no answer: itself, its last line, or the one option that it mentions."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    is_one = (
        len(lines[-1]) <= _LINE and len(sentences(lines[-1])) == 1 and not lines[-1].rstrip().endswith("?")
    )
    if is_one and (found := chosen_labels(lines[-1], options)) is not None:
        return found
    if len(text) <= _LINE and (label := options.labelled(text)):
        return frozenset({label})
    mentioned = _mentioned(" ".join(part for part in sentences(text) if not part.endswith("?")), options)
    return mentioned if len(mentioned) == 1 else frozenset() if mentioned else None


def _mentioned(text: str, options: OptionList) -> frozenset[str]:
    """The options that a text mentions without denying them."""
    found = set()
    for match in _patterns(options.labels)[3].finditer(text):
        after = text[match.end() : match.end() + 40]
        if match[0] in ("A", "I") and _WORDLIKE.match(after):
            continue
        if not _OUT.match(after) and not _NOT.search(text[max(0, match.start() - 25) : match.start()]):
            found.add(match["label"])
    return frozenset(found)
