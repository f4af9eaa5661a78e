"""Words by which a response denies an answer or takes it back."""

from __future__ import annotations

import re

_SAY = r"(?: (?:answer|say|write|put|choose|pick))?"
_DENIED = re.compile(
    rf"(?:(?:\b|can)not{_SAY}|n['’]t{_SAY}|\bnever|\bneither|\bnor|\brather than|\binstead of|"
    r"\\neq?|!=|\\text\s*\{\s*not\s*\})"
    r"\s*(?:(?:equals?(?:\s+to)?|be|simply|just)\s*)?[:*]*\s*(?:\$\$?|\\\(|\\\[)?\s*\Z",
    re.IGNORECASE,
)
# "It is false that it is 7", "a wrong answer is 7", "suppose that the answer is 7".
_MISTAKEN = re.compile(
    r"(?:\bit(?:['’]s| is) (?:false|wrong|incorrect|not true) that|\b(?:wrong|incorrect|false) (?:answer|result|value)"
    r"|(?:suppose|assum(?:e|ing))(?: that)? the (?:final )?answer)\b[^.:;\n]{0,40}\Z",
    re.IGNORECASE,
)
_DENIAL_SIGNS = ("not", "n't", "n’t", "never", "neither", "nor", "rather", "instead", "\\ne", "!=")
_MISTAKE_SIGNS = ("wrong", "incorrect", "false", "not true", "suppose", "assum")
_DENIAL = re.compile(r"(?:\\text\s*\{\s*)?not\b[\s}]*[-+$\\\d.(]|\\neq?\b|!=", re.IGNORECASE)
_BEFORE = 60
"""Characters before an answer in which it is denied."""
_REACH = 4_000
"""Characters after the answer in which it is taken back."""

_INTERJECTION = (
    r"(?:but|oh|hm+|uh|ah|oops|wait|no|nope|actually|sorry|hold on|hang on|however|unfortunately|correction)"
)
_NOUN = r"(?:answer|result|value|solution|calculation|number)"
_SUBJECT = rf"(?:that|this|it|what i (?:said|wrote)|(?:my|the|this|that)(?: \w+)? {_NOUN})"
_WRONG = (
    r"(?:wrong|incorrect|false|mistaken|invalid|a (?:mistake|typo)|an error|"
    r"not (?:right|correct|it|so|true|the (?:right |correct |final )?answer))"
)
_BE = r"(?:\s+(?:is|was|must be|would be|seems|looks)|['’]s)"
_BE_NOT = r"(?:\s+(?:isn|wasn)['’]t)\s+(?:right|correct|it|so|true|the (?:right |correct |final )?answer)"
_IS_WRONG = rf"{_SUBJECT}(?: above)?(?:{_BE}\s+(?:actually |clearly |just |completely )?{_WRONG}|{_BE_NOT})\b(?!\s*\?)"
_NEW_VALUE = (
    r"(?:it|that|this|the (?:correct |right |final )?(?:answer|value|result))"
    r"(?:['’]s| is| must be| should be| would be)(?: actually| really)?\s+(?=[$\\\-+.\d])"
)

# White space is not given back, since a response may consist of empty lines.
_TAKEN_BACK = re.compile(
    # "Wait, that is wrong", "No, it isn't so" …
    rf"(?:\b{_INTERJECTION}\b[\s,.:;!—-]++)+(?:i think |i see )?{_IS_WRONG}"
    # … "My answer above is incorrect" …
    rf"|(?:^|[.!?\n;]\s*+)(?:my|the above|the previous|that|this)(?: \w+)? (?:answer|result|solution)(?: above)?"
    rf"(?:{_BE}\s+(?:actually )?{_WRONG}|{_BE_NOT})\b"
    # … "I made a mistake", "scratch that" …
    r"|(?:^|[.!?\n;,:]\s*+)(?:[a-z]+[,!.]*\s+){0,2}I(?:['’]ve| have)? (?:made an? (?:\w+ )?(?:mistake|error)"
    r"|was (?:wrong|mistaken)|mis(?:calculated|counted|read|took|interpreted|understood)|messed up"
    r"|take (?:that|it|this) back|retract (?:that|it|this|my))\b"
    r"|\bjust kidding\b"
    r"|\b(?:scratch|strike|ignore|disregard|forget) "
    r"(?:that|this|the above|my (?:previous |earlier |last |final )?answer)\b"
    r"|\b(?:on second thou?ght|let me (?:correct|fix|revise|retract) (?:that|this|it|my))\b"
    r"|(?:^|[.!?\n]\s*+)\W{0,3}(?:edit|update|correction|corrected answer)\W{0,3}:"
    # … "No, it is 8".
    rf"|(?:^|[.!?\n;]\s*+)(?:(?:no|wait|oops|sorry|actually|hm+)\b[\s,.:;!—-]++)+{_NEW_VALUE}",
    re.IGNORECASE | re.MULTILINE,
)
# What makes a later answer the better one, and takes nothing back where none follows.
_RECONSIDERED = re.compile(
    r"(?:^|[.!?\n]\s*+)(?:but |oh,? |hm+,? |no,? )?(?:wait|hold on|oops|actually|on reflection)\b"
    r"|\blet(?:'s| me| us) (?:re-?(?:do|calculate|compute|consider|think|check|examine|evaluate)"
    r"|try (?:that |this )?again|start over|(?:double[- ])?check|verify)",
    re.IGNORECASE,
)
# Right behind the answer no interjection is needed: "7, which is wrong".
_AT_ONCE = re.compile(
    rf"\W{{0,12}}(?:\b{_INTERJECTION}\b\W+){{0,3}}"
    rf"(?:which{_BE}\s+{_WRONG}|{_IS_WRONG}|is {_WRONG}|(?:or )?rather\b(?!\s+than))"
    # "7? No", and "7, no, 8".
    r"|\W{0,6}\?\W{0,6}(?:no|nope|wrong)\b"
    r"|\W{0,12}\b(?:(?:wait|oh|hm+)\b\W{1,3})?(?:(?:no|nope|sorry)[,.:;!—-]|i meant?\b)\W{0,3}"
    r"(?:it(?:['’]s| is)\s+)?(?=[$\\+.\d-])",
    re.IGNORECASE,
)


def is_denied(text: str, start: int) -> bool:
    """Whether what comes before ``start`` denies what comes then: ``it is not 7``."""
    before = text[max(0, start - _BEFORE) : start]
    folded = before.lower()
    return (any(sign in folded for sign in _DENIAL_SIGNS) and _DENIED.search(before) is not None) or (
        any(sign in folded for sign in _MISTAKE_SIGNS) and _MISTAKEN.search(before) is not None
    )


def denies(answer: str) -> bool:
    """Whether an answer only says what it is not: ``not 7``."""
    return _DENIAL.match(answer) is not None


def taken_back(text: str, end: int, stop: int) -> int | None:
    """Where the last words before ``stop`` end that take back an answer which ends at ``end``, if any do.

    >>> text = "It is 7. Wait, that is wrong."
    >>> text[: taken_back(text, 7, len(text))]
    'It is 7. Wait, that is wrong'
    >>> taken_back("It is 7. That is not wrong.", 7, 27) is None
    True
    """
    if end >= stop:
        return None
    found = _AT_ONCE.match(text, end, stop)
    place = found.end() if found else None
    for match in _TAKEN_BACK.finditer(text, end, min(stop, end + _REACH)):
        place = match.end()
    return place


def reconsidered(text: str, end: int, stop: int) -> bool:
    """Whether a response thinks again between an answer and the next.

    >>> reconsidered("7. Let me recompute: 8", 1, 21)
    True
    """
    return _RECONSIDERED.search(text, end, min(stop, end + _REACH)) is not None
