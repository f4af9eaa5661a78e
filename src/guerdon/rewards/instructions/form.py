"""Instructions about the form of a text: its marks, its layout, how it starts and ends."""

from __future__ import annotations

import json
import re

from guerdon.rewards.common.parameters import shown
from guerdon.rewards.instructions.kinds import CheckResult, KindTable, exactly, phrase, whole

KINDS = KindTable()

OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
"""What ``detectable_format:constrained_response`` lets one choose from."""

_HIGHLIGHT = re.compile(r"\*[^\n*]*\*")
_DOUBLE_HIGHLIGHT = re.compile(r"\*\*[^\n*]*\*\*")
_FENCES = ("```json", "```Json", "```JSON", "```")
_POSTSCRIPTS = {"P.P.S": re.compile(r"p\.\s?p\.\s?s"), "P.S.": re.compile(r"p\.\s?s\.")}


def _at_least(count: int, wanted: int, noun: str) -> CheckResult:
    return CheckResult(count >= wanted, f"{noun}: {count}, expected at least {wanted}")


@KINDS.kind("detectable_content:number_placeholders", num_placeholders=whole)
def number_placeholders(text: str, num_placeholders: int) -> CheckResult:
    """Pairs of square brackets on one line: ``[address]``."""
    count = sum(_pairs(line) for line in text.split("\n"))
    return _at_least(count, num_placeholders, "placeholders")


def _pairs(line: str) -> int:
    """How many times an opening bracket is followed by a closing one, each used once."""
    count, at = 0, line.find("[")
    while at >= 0 and (closed := line.find("]", at)) >= 0:
        count, at = count + 1, line.find("[", closed)
    return count


@KINDS.kind("detectable_content:postscript", postscript_marker=phrase)
def postscript(text: str, postscript_marker: str) -> CheckResult:
    """The marker occurs, in whatever case; of the two usual ones also with spaces in it."""
    pattern = _POSTSCRIPTS.get(postscript_marker) or re.compile(re.escape(postscript_marker.lower()))
    found = pattern.search(text.lower()) is not None
    return CheckResult(found, f"{shown(postscript_marker)} {'is there' if found else 'is missing'}")


@KINDS.kind("detectable_format:number_bullet_lists", num_bullets=whole)
def number_bullet_lists(text: str, num_bullets: int) -> CheckResult:
    """Lines that start with ``*`` and no second one, or with ``-``."""
    starts = [line.lstrip() for line in text.split("\n")]
    stars, bare = 0, False
    for number, start in enumerate(starts):
        if bare:  # a star alone on its line takes the next line for its text
            bare = False
            continue
        bare = start == "*" and number < len(starts) - 1
        stars += bare or (start[:1] == "*" and start[1:2] not in ("", "*"))
    return exactly(stars + sum(start[:1] == "-" for start in starts), num_bullets, "bullets")


@KINDS.kind("detectable_format:constrained_response")
def constrained_response(text: str) -> CheckResult:
    """One of the three options occurs."""
    found = [option for option in OPTIONS if option in text]
    return CheckResult(bool(found), found[0] if found else f"none of: {' '.join(OPTIONS)}")


@KINDS.kind("detectable_format:number_highlighted_sections", num_highlights=whole)
def number_highlighted_sections(text: str, num_highlights: int) -> CheckResult:
    """Stretches of a line in single or double asterisks."""
    single = sum(bool(found[0].strip("*").strip()) for found in _HIGHLIGHT.finditer(text))
    double = sum(bool(found[0].strip("*").strip()) for found in _DOUBLE_HIGHLIGHT.finditer(text))
    return _at_least(single + double, num_highlights, "highlighted sections")


@KINDS.kind("detectable_format:multiple_sections", section_spliter=phrase, num_sections=whole)
def multiple_sections(text: str, section_spliter: str, num_sections: int) -> CheckResult:
    """The word that opens a section, followed by a number, occurs so many times at least."""
    opening = re.compile(re.escape(section_spliter) + r"\s?\d")
    return _at_least(sum(1 for _ in opening.finditer(text)), num_sections, "sections")


@KINDS.kind("detectable_format:json_format")
def json_format(text: str) -> CheckResult:
    """The whole is JSON, perhaps in a fence."""
    inside = text.strip()
    for fence in _FENCES:
        inside = inside.removeprefix(fence)
    try:
        json.loads(inside.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return CheckResult(False, "no JSON")
    return CheckResult(True, "JSON")


@KINDS.kind("detectable_format:title")
def title(text: str) -> CheckResult:
    """A line holds something in double angular brackets: ``<<poem of joy>>``."""
    for line in text.split("\n"):
        opened, closed = line.find("<<"), line.rfind(">>")
        if 0 <= opened < closed - 2 and line[opened:closed].lstrip("<").rstrip(">").strip():
            return CheckResult(True, shown(line[opened : closed + 2]))
    return CheckResult(False, "no title in << and >>")


@KINDS.kind("combination:two_responses")
def two_responses(text: str) -> CheckResult:
    """Two different parts with ``******`` between them, perhaps also before and after."""
    parts = [part.strip() for part in text.split("******")]
    if not all(parts[1:-1]):
        return CheckResult(False, "an empty response between two dividers")
    responses = [part for part in parts if part]
    if len(responses) != 2:
        return exactly(len(responses), 2, "responses")
    same = responses[0] == responses[1]
    return CheckResult(not same, "twice the same response" if same else "2 different responses")


@KINDS.kind("combination:repeat_prompt", prompt_to_repeat=phrase)
def repeat_prompt(text: str, prompt_to_repeat: str) -> CheckResult:
    """The text starts with the prompt, in whatever case."""
    starts = text.strip().lower().startswith(prompt_to_repeat.lower())
    return CheckResult(starts, f"{'starts' if starts else 'does not start'} with the prompt")


@KINDS.kind("startend:end_checker", end_phrase=phrase)
def end_checker(text: str, end_phrase: str) -> CheckResult:
    """The text ends with the phrase, in whatever case; quotation marks after it do not count."""
    ends = text.strip().strip('"').lower().endswith(end_phrase.lower())
    return CheckResult(ends, f"{'ends' if ends else 'does not end'} with {shown(end_phrase)}")


@KINDS.kind("startend:quotation")
def quotation(text: str) -> CheckResult:
    """The whole is in double quotation marks."""
    inside = text.strip()
    quoted = len(inside) > 1 and inside[0] == inside[-1] == '"'
    return CheckResult(quoted, f"{'in' if quoted else 'not in'} quotation marks")
