"""The options of a multiple-choice question and which of them a text names."""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.answers.text import bare
from guerdon.rewards.common.parameters import shown
from guerdon.rewards.common.text import gold_words, words

LETTERS = string.ascii_uppercase
_LINE = re.compile(r"^[ \t]*[(\[]?([A-Z])[)\].:][ \t]*(\S[^\n]*)$", re.MULTILINE)
_PREFIX = re.compile(
    r"^(?:(?:the )?(?:correct |right |best |final )?(?:answer|option|choice|letter)(?: is)?:?\s+)+",
    re.IGNORECASE,
)
_SMALL = re.compile(r"^(?:[(\[][a-z][)\]]|[a-z](?=[).:]))")
_BETWEEN = re.compile(r"^(?:\s*(?:,|;|&|\+|/|\n|\band\b|\bwith\b)\s*)+", re.IGNORECASE)
_OR = re.compile(r"^\W*(?:,\s*)?(?:or|and/or|vs\.?)\b", re.IGNORECASE)
_HEDGE = re.compile(r"^\W*(?:(?:maybe|perhaps|possibly|even|else|also)\b\W*)*", re.IGNORECASE)
_DENIED = re.compile(r"^\W*(?:not|neither|isn['’]t|none)\b", re.IGNORECASE)
_DENIED_AFTER = re.compile(
    r"^[\s)\]*.,:]*(?:(?:is|was|would be|seems)(?:n['’]t| not)\b"
    r"|(?:is|was) (?:(?:the|an?) )?(?:wrong|incorrect|false|out|eliminated)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\s+(?!(?:is|because|since|as|and|or)\b)[a-z]")


@dataclass(frozen=True, slots=True)
class OptionList:
    """The labels of a question's options and what each says."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]
    """As many as labels, or none where they are not known."""

    def labelled(self, text: str) -> str | None:
        """The label of the option that a text is, word for word; None where there is none or more than one."""
        wanted = tuple(words(text[:5_000]))
        found = [n for n, own in zip(self.labels, self.texts, strict=False) if gold_words(own) == wanted]
        return found[0] if len(found) == 1 and wanted else None


def options_of(choices: Any, prompt: str) -> OptionList:
    """The options out of a column, else out of the lines of the prompt, else the letters of the alphabet.

    A column is a list of texts, an object from label to text, a list of such objects, or an object of the
    lists ``label`` and ``text``; any of them may be JSON in a text. Raises InputError for anything else.

    >>> options_of({"text": ["Rome", "Paris"], "label": ["1", "2"]}, "").labels
    ('1', '2')
    >>> options_of(None, "Which?\\n(A) Rome\\n(B) Paris").texts
    ('Rome', 'Paris')
    """
    if choices is None:
        found = [(match[1], match[2]) for match in _LINE.finditer(prompt[-50_000:])]
        starts = [i for i, (label, _) in enumerate(found) if label == "A"]
        row = found[starts[-1] :] if starts else []
        run = [pair for letter, pair in zip(LETTERS, row, strict=False) if pair[0] == letter]
        if len(run) > 1 and [label for label, _ in run] == list(LETTERS[: len(run)]):
            return OptionList(tuple(label for label, _ in run), tuple(text for _, text in run))
        return OptionList(tuple(LETTERS), ())
    if isinstance(choices, str):
        try:
            choices = json.loads(choices)
        except (ValueError, RecursionError):
            raise InputError(
                f"choices must be a list or an object, or one as JSON, not {shown(choices)}"
            ) from None
    if isinstance(choices, Mapping):
        lists = [choices.get("label", choices.get("labels")), choices.get("text", choices.get("texts"))]
        pairs = (
            list(zip(*map(_listed, lists), strict=False)) if lists[1] is not None else list(choices.items())
        )
    else:
        items = _listed(choices)
        if items and all(isinstance(item, Mapping) and len(item) == 1 for item in items):
            pairs = [next(iter(item.items())) for item in items]
        elif items and all(
            isinstance(item, Mapping) and "label" in item and "text" in item for item in items
        ):
            pairs = [(item["label"], item["text"]) for item in items]
        else:
            pairs = list(zip(LETTERS, items, strict=False)) if len(items) <= len(LETTERS) else []
    labels = tuple(str(label).strip().strip("().:[]") for label, _ in pairs)
    if len(labels) < 2 or "" in labels or len(set(labels)) < len(labels):
        raise InputError("choices must have two or more options, each with a label of its own")
    if not all(isinstance(text, str | int | float) for _, text in pairs):
        raise InputError("choices must hold texts")
    return OptionList(labels, tuple(unicodedata.normalize("NFKC", str(text)) for _, text in pairs))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str | bytes | Mapping) or (
        not isinstance(value, Sequence) and not hasattr(value, "tolist")
    ):
        raise InputError(f"choices must be a list or an object of them, not {shown(value)}")
    return list(value)


@lru_cache(maxsize=256)
def label_pattern(labels: tuple[str, ...]) -> str:
    return "|".join(sorted(map(re.escape, labels), key=len, reverse=True))


@lru_cache(maxsize=256)
def _one(labels: tuple[str, ...]) -> re.Pattern[str]:
    # A label is in capitals, in brackets, or all that there is.
    return re.compile(
        rf"[(\[]?\*{{0,3}}(?P<label>{label_pattern(labels)})\*{{0,3}}(?:[)\]]\*{{0,3}}|(?![\w'’-]|\s*[+=]))"
    )


def chosen_labels(text: str, options: OptionList) -> frozenset[str] | None:
    """The labels that the beginning of a text names as its answer; none where it hedges or denies, None where it
    names none.

    >>> rooms = options_of(["Rome", "Paris", "Bonn"], "")
    >>> sorted(chosen_labels("A and C", rooms)), chosen_labels("A or C", rooms)
    (['A', 'C'], frozenset())
    >>> sorted(chosen_labels("(B) Paris, as said", rooms))
    ['B']
    >>> chosen_labels("B) Rome", rooms), sorted(chosen_labels("Paris", rooms)), chosen_labels("a city", rooms)
    (frozenset(), ['B'], None)
    """
    text = bare(text)
    text = _PREFIX.sub("", re.sub(r"\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}", r"\1", text)).strip()
    text = _SMALL.sub(lambda match: match[0].upper(), text)
    if _DENIED.match(text):
        return frozenset()
    if (whole := options.labelled(text)) is not None:
        return frozenset({whole})
    if text.upper() in options.labels and len(text) == 1:
        return frozenset({text.upper()})
    if re.fullmatch(r"[A-Z]{2,}", text) and len(set(text)) == len(text) and set(text) <= set(options.labels):
        return frozenset(text)
    listed = _listed_labels(text, options)
    return _by_text(text, options) if listed is None else listed


def _listed_labels(text: str, options: OptionList) -> frozenset[str] | None:
    """The labels of "A", "A, C", "A) Rome and C) Bonn", and of "A because …"."""
    one = _one(options.labels)
    found: list[str] = []
    at = 0
    while match := one.match(text, at):
        label = match["label"]
        rest = text[match.end() :]
        # "A city" opens with an article, "I think" with a pronoun.
        if label in ("A", "I") and not found and _WORD.match(rest) and text.startswith(label):
            return None
        own = _own_text(rest, label, options)
        if own is None or _DENIED_AFTER.match(rest):
            return frozenset()
        found.append(label)
        after = rest[own:]
        if _OR.match(after):
            return frozenset() if _one_after(_OR.sub("", after, count=1), options) else frozenset(found)
        joint = _BETWEEN.match(after)
        if joint is None or not joint.end() or not one.match(after, joint.end()):
            break
        if "/" in joint[0]:
            return frozenset()
        at = len(text) - len(after) + joint.end()
        if text[at : at + 1] in ("A", "I") and re.match(r".\s+[a-z]", text[at:]):
            break
    return frozenset(found) if found else None


def _one_after(text: str, options: OptionList) -> bool:
    text = _HEDGE.sub("", text)
    return _one(options.labels).match(text) is not None or _by_text(text, options) is not None


def _own_text(rest: str, label: str, options: OptionList) -> int | None:
    """Characters after a label that repeat its text; None where they are the text of another option."""
    lead = re.match(r"[\s.):\]*-]*", rest)
    said = rest[lead.end() if lead else 0 :]
    best = _opening(said, options)
    if best is None:
        return 0
    if options.texts[options.labels.index(label)] != best[1] and best[0] != label:
        return None
    return len(rest) - len(said) + best[2]


def _opening(text: str, options: OptionList) -> tuple[str, str, int] | None:
    """The option whose text a text opens with, the longest of several: label, text, characters."""
    lowered = text.casefold()
    found = [
        (label, own, len(own))
        for label, own in zip(options.labels, options.texts, strict=False)
        if own.strip() and lowered.startswith(own.casefold()) and not re.match(r"\w", text[len(own) :])
    ]
    return max(found, key=lambda option: option[2], default=None)


def _by_text(text: str, options: OptionList) -> frozenset[str] | None:
    """The option whose text opens the answer; or that stands in brackets at its end, as in "Paris (B)"."""
    if tail := re.search(rf"[(\[]({label_pattern(options.labels)})[)\]]\W*$", text):
        return frozenset({tail[1]})
    best = _opening(text, options)
    if best is None:
        article = re.match(r"(?:the|an?)\s+", text, re.IGNORECASE)
        best = _opening(text[article.end() :], options) if article else None
    if best is None or options.texts.count(best[1]) > 1:
        return None
    after = text[text.casefold().find(best[1].casefold()) + best[2] :]
    if _OR.match(after) or _DENIED_AFTER.match(after):
        return frozenset()
    return frozenset({best[0]})
