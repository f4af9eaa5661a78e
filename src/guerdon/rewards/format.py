"""The reward ``format``: has the response the form that was asked for?"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import (
    among,
    one_of,
    parameter_check,
    plain_text,
    response_text,
    shown,
    text_list,
    yes_or_no,
)
from guerdon.types import EvaluateResult, MetricResult

DEFAULT_TEMPLATE = ("think", "answer")
OUTSIDE = ("nothing", "after", "anything")
SCORINGS = ("all", "fraction")
_TAG_NAME = r"[A-Za-z_][\w.-]*"
_LAYOUT = re.compile(rf"\s*(?:<({_TAG_NAME})>[^<]*</\1>\s*)+")


def _check(pattern: Any = None, template: Any = None, **given: Any) -> None:
    if pattern is not None and template is not None:
        raise InputError("give either a pattern or a template")
    parameter_check(anywhere=yes_or_no, prefix=plain_text, outside=among(OUTSIDE), scoring=among(SCORINGS))(
        **given
    )
    if pattern is not None:
        _compiled(plain_text(pattern, "pattern"))
    if template is not None:
        _tags(template)


@reward_function(scale=(0, 1), check=_check)
def format(
    response: str,
    *,
    pattern: str | None = None,
    template: str | Sequence[str] | None = None,
    anywhere: bool = False,
    prefix: str = "",
    outside: str = "nothing",
    scoring: str = "all",
) -> EvaluateResult:
    """Scores 1 where the response has the wanted form, else 0, and says what is wrong.

    The form is a regular expression or a template of tags; without either it is the layout
    ``<think>…</think><answer>…</answer>``.

    ``pattern`` must match the whole response, a single line feed at its end aside, or with ``anywhere`` any
    part of it. It is one of Python's, and ``.`` matches line feeds too; ``[^\\n]`` does not. A pattern that
    backtracks without end is ended at the deadline of the run and counts as a failure.

    ``template`` lists tags, as ``("think", "answer")``, ``"think,answer"``, or written out with their angle
    brackets. Each must occur exactly once, in this order, closed, with nothing but white space outside of
    them. Names are taken literally: ``<Think>`` is not ``<think>``. ``prefix`` is what the prompt wrote of
    the response already, such as ``"<think>"`` where the chat template opens it. ``outside`` is what may stand
    outside of the tags: ``nothing``, anything ``after`` the last one, or ``anything``. So the template ``think``
    with text after it is the layout of reasoning models: ``<think>…</think>`` and then the answer.

    ``scoring="fraction"`` scores a template in parts: a tag that is in order counts two, one that is only opened or
    only closed counts one, and one more is counted where all is as the template; the sum is divided by the most
    that there can be. A tag that is repeated or out of order counts nothing.

    Scale: 0 or 1; 0 to 1 with ``scoring="fraction"``.

    A template gives a metric for each tag, and ``outside`` for the text around them.

    Source: the format reward of DeepSeek-R1 (Guo et al. 2025), with each tag allowed once only; the layout with
    text after the thinking is that of TRL's think_format_reward, the parts are after open-r1's tag_count_reward.

    Raises InputError for a pattern that does not compile, for both a pattern and a template, or for a pattern
    with what belongs to a template.

    >>> format("<think>6 times 7</think> <answer>42</answer>").score
    1.0
    >>> format("<answer>42</answer>").reason
    '<think> is missing'
    >>> format("<think>6 times 7</think> It is 42.", template="think", outside="after").score
    1.0
    >>> format("6 times 7</think><answer>42</answer>", scoring="fraction").score
    0.6
    >>> format("42", pattern="[0-9]+").score, format("It is 42.", pattern="[0-9]+", anywhere=True).score
    (1.0, 1.0)
    """
    search = yes_or_no(anywhere, "anywhere")
    text = plain_text(prefix, "prefix") + response_text(response)
    allowed, in_parts = (
        one_of(outside, OUTSIDE, "outside"),
        one_of(scoring, SCORINGS, "scoring") == "fraction",
    )
    if pattern is None:
        if search:
            raise InputError("anywhere belongs to a pattern; a template is the whole response")
        tags = _tags(DEFAULT_TEMPLATE if template is None else template)
        return _by_template(text, tags, allowed, in_parts)
    if template is not None:
        raise InputError("give either a pattern or a template")
    if in_parts or allowed != "nothing":
        raise InputError("outside and scoring belong to a template, not to a pattern")
    compiled = _compiled(plain_text(pattern, "pattern"))
    found = compiled.search(text) if search else compiled.fullmatch(text.removesuffix("\n"))
    if found or (not search and compiled.fullmatch(text)):
        return EvaluateResult(1.0, reason="matches the pattern")
    where = "nowhere matches" if search else "does not match as a whole"
    return EvaluateResult(0.0, reason=f"{where}: {shown(pattern)}")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        raise InputError(f"the pattern {shown(pattern)} is not a regular expression: {error}") from None


def _tags(template: Any) -> list[str]:
    """The names of a template's tags, in order."""
    if not isinstance(template, str) or "<" not in template:
        names = text_list(template, "template")
    elif _LAYOUT.fullmatch(template):
        names = re.findall(rf"<({_TAG_NAME})>", template)
    else:
        raise InputError(
            f"the template {shown(template)} must be a row of tags: <think>…</think><answer>…</answer>"
        )
    if not names or len(set(names)) < len(names):
        raise InputError("a template names one or more tags, each of them once")
    for name in names:
        if re.fullmatch(_TAG_NAME, name) is None:
            raise InputError(f"{shown(name)} is not a name for a tag: use letters, digits, - and _")
    return names


def _by_template(text: str, names: list[str], allowed: str, in_parts: bool) -> EvaluateResult:
    tokens = list(re.finditer(rf"</?(?:{'|'.join(map(re.escape, names))})>", text))
    spellings = [token[0] for token in tokens]
    problems = {name: _problem(name, spellings, names) for name in names}
    metrics = {
        f"<{name}>": MetricResult(
            float(problem is None), success=problem is None, reason=problem or "in order"
        )
        for name, problem in problems.items()
    }
    wrong = [f"<{name}> {problem}" for name, problem in problems.items() if problem]
    if not wrong:
        stray = _outside(text, tokens, allowed)
        reason = f"text outside of the tags: {shown(stray)}" if stray else "white space only"
        if allowed != "nothing":
            reason = f"text before the tags or between them: {shown(stray)}" if stray else "as allowed"
        metrics["outside"] = MetricResult(float(not stray), success=not stray, reason=reason)
        wrong = [reason] if stray else []
    says = _says(text, tokens)
    if not says and not wrong:
        wrong = ["says nothing: there is nothing but tags"]
    score = float(not wrong)
    if in_parts and says:
        marks = sum(_marks(name, problem, spellings) for name, problem in problems.items())
        score = (marks + score) / (2 * len(names) + 1)
    return EvaluateResult(score, reason="; ".join(wrong) or "as the template", metrics=metrics)


def _says(text: str, tokens: list[re.Match[str]]) -> bool:
    """Whether anything that can be seen stands in or around the tags."""
    edges = [0, *(edge for token in tokens for edge in token.span()), len(text)]
    gaps = (text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 2))
    return any(unicodedata.category(sign)[0] not in "ZC" for gap in gaps for sign in gap)


def _marks(name: str, problem: str | None, spellings: list[str]) -> int:
    """What a tag counts where a template is scored in parts."""
    if problem is None:
        return 2
    return int(sorted((spellings.count(f"<{name}>"), spellings.count(f"</{name}>"))) == [0, 1])


def _problem(name: str, spellings: list[str], names: list[str]) -> str | None:
    """What is wrong with one tag; None if nothing is."""
    opened, closed = spellings.count(f"<{name}>"), spellings.count(f"</{name}>")
    if not opened and not closed:
        return "is missing"
    if opened != 1 or closed != 1:
        if not closed:
            return "is never closed"
        if not opened:
            return "is never opened"
        return f"occurs {max(opened, closed)} times"
    at = spellings.index(f"<{name}>")
    if spellings.index(f"</{name}>") < at:
        return "is closed before it is opened"
    if spellings[at + 1] != f"</{name}>":
        return "is not closed before the next tag"
    before = names[: names.index(name)]
    if any(spelling.strip("</>") not in before for spelling in spellings[:at]):
        return "is out of order"
    return None


def _outside(text: str, tokens: list[re.Match[str]], allowed: str) -> str:
    """The text around the tags, where they stand in order, without what is allowed there."""
    if allowed == "anything":
        return ""
    edges = [0, *(edge for token in tokens for edge in token.span()), len(text)]
    if allowed == "after":
        edges = edges[:-2]
    # The tokens come as open, close, open, close, …: every other gap lies between two elements.
    return "".join(text[edges[i] : edges[i + 1]] for i in range(0, len(edges), 4)).strip()
