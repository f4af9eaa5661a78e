"""Answers that name an option of a multiple choice, alone or with what it stands for."""

from __future__ import annotations

import re

from guerdon.rewards.answers.final import clean

_ALONE = re.compile(r"(?:(?:[Oo]ption|[Cc]hoice) ?)?\(?([A-Z])\)?[.:]?")
_SPACE = r"(?:\\[ ,;:!]|\\q?quad\b|[~\s])+"
_LABELLED = re.compile(
    r"(?:\\(?:text|textbf|mathrm|mathbf)\s*\{\s*)?(?:\(\s*(?P<letter>[A-J])\s*\)|(?P<bare>[A-J])[.)])"
    rf"(?:{_SPACE}\}}?|\}}{_SPACE})(?![+*/^=<>]|-\s|\\(?:cdot|times|div|le|ge)(?![a-z]))(?P<rest>\S.*)",
    re.DOTALL,
)
_OTHER = re.compile(r"\b(?:or|and)\b|(?<![A-Za-z])[A-J]\)", re.IGNORECASE)


def letter_alone(text: str) -> str | None:
    """The letter that a text is, in normal spelling.

    >>> letter_alone("(B)"), letter_alone("Option B"), letter_alone("(B) 42")
    ('B', 'B', None)
    """
    found = _ALONE.fullmatch(text)
    return found[1] if found else None


def labelled(text: str) -> tuple[str, str] | None:
    r"""The letter of an option and what it stands for; None where there is one only, or several options.

    >>> labelled(r"\textbf{(B)}\ 42"), labelled("(A) 41 (B) 42")
    (('B', '42'), None)
    """
    found = _LABELLED.fullmatch(text)
    if found is None or _OTHER.search(found["rest"]):
        return None
    rest = found["rest"]
    if rest.count("}") > rest.count("{"):  # the label's brace was closed behind it: \text{(B) six}
        rest = rest.rstrip().removesuffix("}")
    return found["letter"] or found["bare"], clean(rest)
