"""The reward ``reasoning_steps``: does the response go step by step?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import (
    above_zero,
    among,
    one_of,
    parameter_check,
    response_text,
)
from guerdon.rewards.common.prose import PARTS, part_of, without_code
from guerdon.rewards.common.words import ends, units
from guerdon.types import EvaluateResult, MetricResult

DEFAULT_TARGET = 3
_LEAST_WORDS = 2
_COMPARED = 30
_STEP_WORDS = "step|schritt|étape|etape|paso|passo|stap|steg|krok|шаг|крок|adım|bước|langkah|ステップ|단계"
_FIRSTLY = (
    r"first(?:ly)?|second(?:ly)?|third(?:ly)?|fourth(?:ly)?|fifth(?:ly)?|to begin(?: with)?|next|then|after that"
    r"|afterwards|finally|lastly"
)
_LEAD = r"^[ \t>]*(?:#{1,6}[ \t]+)?(?:\*\*|__)?"
_MARKER = re.compile(
    rf"{_LEAD}(?:(?:{_STEP_WORDS})[ \t]*(?P<step>\d{{1,3}})\b"
    rf"|第[ ]?(?P<ordinal>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})步"
    rf"|(?:步骤|步驟)[ ]?(?P<chinese>\d{{1,3}}|[一二三四五六七八九十]{{1,3}})"
    rf"|(?P<number>\d{{1,3}})[.)](?=[ \t*_\\$]))"
    rf"|^[ \t>]*(?P<bullet>[-*•+–])[ \t]+"
    rf"|(?:^[ \t>]*(?:\*\*|__)?|(?<=[.!?:;][ \n])|(?<=[-*•+.)][ \t]))(?P<word>{_FIRSTLY})(?:\*\*|__)?[,:]",
    re.IGNORECASE | re.MULTILINE,
)
_ORDER = frozenset(
    ("first", "firstly", "second", "secondly", "third", "thirdly", "next", "then", "finally", "lastly")
)
_FORMULA = re.compile(r"[=<>≤≥≈→]")


@dataclass(frozen=True, slots=True)
class _ReasoningStep:
    kind: str
    """``number``, ``word`` or ``bullet``."""
    name: str
    """What tells it from another of its kind."""
    content: tuple[str, ...]


@reward_function(
    scale=(0, 1),
    check=parameter_check(target=above_zero, part=among(PARTS)),
)
def reasoning_steps(response: str, *, target: int = DEFAULT_TARGET, part: str = "response") -> EvaluateResult:
    """Scores the share of a wanted number of steps that the response shows, up to 1.

    Steps are marked at the beginning of a line by ``Step 1`` (also in other languages), by ``1.`` or ``1)`` or by a
    bullet, and at the beginning of a sentence by ``First,``, ``Second,``, ``Next,``, ``Then,``, ``Finally,`` and
    their like. Bullets count where nothing is numbered; elsewhere they are the details of a step. A marker counts
    only with something after it that no other step says, two words or a formula, and the same number or word
    counts once: stuffing markers gains nothing. Code is left out.

    ``part`` is ``response``, ``thinking`` for what stands before ``</think>``, or ``answer`` for what stands after.
    Of more than 200,000 characters both ends are looked at.

    Scale: 0 to 1.

    The metric ``steps`` is the number of steps that count, ``markers`` that of all markers.

    Source: the reasoning steps reward of open-r1, which counts every marker, with 3 as the target.

    Raises InputError for a target that is not more than 0.

    >>> reasoning_steps("First, add 2 and 3 to get 5. Next, double the sum. Finally, take one off.").score
    1.0
    >>> reasoning_steps("Step 1: \\nStep 2: \\nStep 3: \\n").score, reasoning_steps("First, First, First,").score
    (0.0, 0.0)
    """
    wanted = above_zero(target, "target")
    text = part_of(response_text(response), one_of(part, PARTS, "part"))
    found = list(_steps(without_code(ends(text))))
    if any(step.kind == "number" for step in found):
        found = [step for step in found if step.kind != "bullet"]
    count = len(_different(found))
    reason = f"{count} steps of {wanted:g}"
    if len(found) > count:
        reason += f"; {len(found) - count} markers repeat another or have nothing after them"
    metrics = {
        "steps": MetricResult(count, success=count >= wanted, reason=reason),
        "markers": MetricResult(len(found)),
    }
    return EvaluateResult(min(1.0, count / wanted), reason=reason, metrics=metrics)


def _steps(text: str) -> Iterator[_ReasoningStep]:
    """Every marker with what stands between it and the next."""
    markers = list(_MARKER.finditer(text))
    starts = [marker.start() for marker in markers[1:]] + [len(text)]
    for marker, end in zip(markers, starts, strict=False):
        content = text[marker.end() : end]
        words = [word for word in units(content[:2000])[:_COMPARED] if word not in _ORDER]
        says = len(words) >= _LEAST_WORDS or (bool(words) and _FORMULA.search(content) is not None)
        kind = marker.lastgroup or ""
        name = "" if kind == "bullet" else marker[kind].lower()
        is_number = kind in ("step", "ordinal", "chinese", "number")
        yield _ReasoningStep("number" if is_number else kind, name, tuple(words) if says else ())


def _different(steps: list[_ReasoningStep]) -> list[_ReasoningStep]:
    """The steps that say something, each name once and each content once."""
    names: set[tuple[str, str]] = set()
    contents: set[tuple[str, ...]] = set()
    kept = []
    for step in steps:
        name = (step.kind, step.name)
        if not step.content or step.content in contents or (step.name and name in names):
            continue
        names.add(name)
        contents.add(step.content)
        kept.append(step)
    return kept
