"""Instructions about words, letters, case and language."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from guerdon.rewards.common.parameters import shown
from guerdon.rewards.instructions.kinds import (
    CheckResult,
    KindTable,
    character,
    compared,
    phrase,
    phrases,
    relation,
    whole,
)
from guerdon.rewards.instructions.language import language_code, language_of
from guerdon.rewards.instructions.sentences import words

KINDS = KindTable()


@KINDS.kind("keywords:existence", keywords=phrases)
def existence(text: str, keywords: Sequence[str]) -> CheckResult:
    """Each keyword occurs, in whatever case, also inside of a longer word."""
    missing = [keyword for keyword in keywords if not literal(keyword).search(text)]
    return CheckResult(not missing, f"missing: {_listed(missing)}" if missing else "all there")


@KINDS.kind("keywords:frequency", keyword=phrase, frequency=whole, relation=relation)
def frequency(text: str, keyword: str, frequency: int, relation: str) -> CheckResult:
    """How often the keyword occurs, in whatever case, also inside of a longer word."""
    count = sum(1 for _ in literal(keyword).finditer(text))
    return compared(count, frequency, relation, shown(keyword))


@KINDS.kind("keywords:forbidden_words", forbidden_words=phrases)
def forbidden_words(text: str, forbidden_words: Sequence[str]) -> CheckResult:
    """None of the words occurs as a whole word, in whatever case."""
    found = [word for word in forbidden_words if whole_word(word).search(text)]
    return CheckResult(not found, f"found: {_listed(found)}" if found else "none there")


@KINDS.kind("keywords:letter_frequency", letter=character, let_frequency=whole, let_relation=relation)
def letter_frequency(text: str, letter: str, let_frequency: int, let_relation: str) -> CheckResult:
    """How often the letter occurs, in either case."""
    return compared(text.lower().count(letter), let_frequency, let_relation, shown(letter))


@KINDS.kind("language:response_language", language=language_code)
def response_language(text: str, language: str) -> CheckResult:
    """The text as a whole is in the language."""
    found = language_of(text)
    if found is None:
        return CheckResult(False, "no language can be detected")
    return CheckResult(found == language or found.partition("-")[0] == language, f"the language is {found}")


@KINDS.kind("change_case:english_capital")
def english_capital(text: str) -> CheckResult:
    """In English, without a letter in lower case."""
    return _english(text, text.isupper(), "not all in capital letters")


@KINDS.kind("change_case:english_lowercase")
def english_lowercase(text: str) -> CheckResult:
    """In English, without a capital letter."""
    return _english(text, text.islower(), "not all in lowercase letters")


def _english(text: str, cased: bool, otherwise: str) -> CheckResult:
    if not cased:
        return CheckResult(False, otherwise)
    found = language_of(text)
    return CheckResult(found in (None, "en"), f"the language is {found or 'not detected'}")


@KINDS.kind("change_case:capital_word_frequency", capital_frequency=whole, capital_relation=relation)
def capital_word_frequency(text: str, capital_frequency: int, capital_relation: str) -> CheckResult:
    """How many words are all in capital letters; hyphens hold a word together, contractions are two."""
    count = sum(map(str.isupper, words(text)))
    return compared(count, capital_frequency, capital_relation, "words in capitals")


@KINDS.kind("punctuation:no_comma")
def no_comma(text: str) -> CheckResult:
    """No comma, of the Latin script at least."""
    return CheckResult("," not in text, f"commas: {text.count(',')}")


@functools.lru_cache(maxsize=1024)
def literal(keyword: str) -> re.Pattern[str]:
    return re.compile(re.escape(keyword), re.IGNORECASE)


@functools.lru_cache(maxsize=1024)
def whole_word(word: str) -> re.Pattern[str]:
    """The word with no letter, digit or underscore beside it, where it ends in one itself."""
    before = r"\b" if re.match(r"\w", word) else ""
    after = r"\b" if re.match(r"\w", word[-1]) else ""
    return re.compile(before + re.escape(word) + after, re.IGNORECASE)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(shown, names))
