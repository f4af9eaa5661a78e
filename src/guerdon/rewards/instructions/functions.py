"""The kinds of the training data of Tülu 3 (Lambert et al. 2024): those of IFEval in other words, under the names of
the functions that its rows call.

Counts are exact there or go by a quantifier, and ``* * *`` parts paragraphs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from guerdon.rewards.common.parameters import shown
from guerdon.rewards.instructions import form
from guerdon.rewards.instructions import words as plain
from guerdon.rewards.instructions.kinds import (
    CheckResult,
    KindTable,
    character,
    exactly,
    nth_of,
    phrase,
    phrases,
    positive,
    whole,
)
from guerdon.rewards.instructions.language import language_code
from guerdon.rewards.instructions.length import exactly_parted
from guerdon.rewards.instructions.sentences import sentences

KINDS = KindTable()

QUANTIFIERS = ("at least", "around", "at most")
SHARE_AROUND = 0.1
"""How far from a number of words is still around it, as a share of the number; of sentences it is one."""

_CAPITALS = re.compile(r"\b[A-Z]+\b")

# What differs in its name only.
KINDS.kind("validate_json_format")(form.json_format)
KINDS.kind("validate_no_commas")(plain.no_comma)
KINDS.kind("validate_quotation")(form.quotation)
KINDS.kind("validate_title")(form.title)
KINDS.kind("validate_two_responses")(form.two_responses)
KINDS.kind("validate_forbidden_words", forbidden_words=phrases)(plain.forbidden_words)
KINDS.kind("validate_response_language", language=language_code)(plain.response_language)
KINDS.kind("validate_end", end_phrase=phrase)(form.end_checker)
KINDS.kind("verify_keywords", keyword_list=phrases)(
    lambda text, keyword_list: plain.existence(text, keyword_list)
)
KINDS.kind("verify_bullet_points", N=whole)(lambda text, N: form.number_bullet_lists(text, N))
KINDS.kind("validate_placeholders", N=whole)(lambda text, N: form.number_placeholders(text, N))
KINDS.kind("validate_highlighted_sections", N=whole)(
    lambda text, N: form.number_highlighted_sections(text, N)
)
KINDS.kind("validate_repeat_prompt", original_prompt=phrase)(
    lambda text, original_prompt: form.repeat_prompt(text, original_prompt)
)
KINDS.kind("validate_sections", N=whole, section_splitter=phrase)(
    lambda text, N, section_splitter: form.multiple_sections(text, section_splitter, N)
)


def quantifier(value: Any) -> str:
    """``at least``, ``around`` or ``at most``."""
    if value not in QUANTIFIERS:
        raise ValueError('"at least", "around" or "at most"')
    return str(value)


def _quantified(count: int, wanted: int, how: str, slack: int, noun: str) -> CheckResult:
    low = wanted if how == "at least" else wanted - slack if how == "around" else 0
    followed = count >= low and (how == "at least" or count <= wanted + (slack if how == "around" else 0))
    return CheckResult(followed, f"{noun}: {count}, expected {how} {wanted}")


def _tenth(number: int) -> int:
    return max(round(number * SHARE_AROUND), 1)


@KINDS.kind("validate_word_constraint", N=whole, quantifier=quantifier)
def word_constraint(text: str, N: int, quantifier: str) -> CheckResult:
    """So many words, which are what white space separates."""
    return _quantified(len(text.split()), N, quantifier, _tenth(N), "words")


@KINDS.kind("verify_sentence_constraint", N=whole, quantifier=quantifier)
def sentence_constraint(text: str, N: int, quantifier: str) -> CheckResult:
    """So many sentences."""
    count = sum(1 for _ in itertools.islice(sentences(text), N + 2))
    return _quantified(count, N, quantifier, 1, "sentences")


@KINDS.kind("validate_frequency_capital_words", N=whole, quantifier=quantifier)
def frequency_capital_words(text: str, N: int, quantifier: str) -> CheckResult:
    """So many words in capital letters; a hyphen parts them."""
    return _quantified(
        sum(1 for _ in _CAPITALS.finditer(text)), N, quantifier, _tenth(N), "words in capitals"
    )


@KINDS.kind("verify_keyword_frequency", word=phrase, N=whole)
def keyword_frequency(text: str, word: str, N: int) -> CheckResult:
    """The word occurs exactly so often as a whole word, in whatever case."""
    return exactly(sum(1 for _ in plain.whole_word(word).finditer(text)), N, shown(word))


@KINDS.kind("verify_letter_frequency", letter=character, N=whole)
def letter_frequency(text: str, letter: str, N: int) -> CheckResult:
    """The letter occurs exactly so often, in either case."""
    return exactly(text.lower().count(letter), N, shown(letter))


@KINDS.kind("verify_paragraph_count", N=positive)
def paragraph_count(text: str, N: int) -> CheckResult:
    """So many paragraphs parted by ``* * *``."""
    return exactly_parted(text.split("* * *"), N)


@KINDS.kind("validate_paragraphs", N=positive, first_word=phrase, i=positive)
def paragraphs(text: str, N: int, first_word: str, i: int) -> CheckResult:
    """So many paragraphs parted by empty lines, and the ith starts with the word."""
    nth_of(i, N, "i", "N")
    parts = text.strip().split("\n\n")
    if len(parts) != N or not all(map(str.strip, parts)):
        return exactly_parted(["", *parts, ""], N)
    starts = parts[i - 1].lstrip().startswith(first_word)
    return CheckResult(
        starts, f"paragraph {i} {'starts' if starts else 'does not start'} with {shown(first_word)}"
    )


@KINDS.kind("verify_postscript", postscript_marker=phrase)
def postscript(text: str, postscript_marker: str) -> CheckResult:
    """The marker occurs, with something after it."""
    _, marker, after = text.partition(postscript_marker)
    says = "is missing" if not marker else "is there" if after.strip() else "has nothing after it"
    return CheckResult(bool(after.strip()), f"{shown(postscript_marker)} {says}")


@KINDS.kind("validate_choice", options=phrases)
def choice(text: str, options: Sequence[str]) -> CheckResult:
    """One of the options occurs."""
    found = [option for option in options if option in text]
    return CheckResult(bool(found), shown(found[0]) if found else "none of the options")


@KINDS.kind("validate_uppercase")
def uppercase(text: str) -> CheckResult:
    """Every letter is a capital one, in any language."""
    return CheckResult(text.isupper(), f"{'all' if text.isupper() else 'not all'} in capital letters")


@KINDS.kind("validate_lowercase")
def lowercase(text: str) -> CheckResult:
    """Every letter is a small one, in any language."""
    return CheckResult(text.islower(), f"{'all' if text.islower() else 'not all'} in lowercase letters")
