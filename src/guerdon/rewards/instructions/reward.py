"""The reward ``instructions``: does the response follow the instructions that can be checked?"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import (
    among,
    one_of,
    parameter_check,
    response_text,
    shown,
    text_list,
    yes_or_no,
)
from guerdon.rewards.instructions import form, functions, length, training, words
from guerdon.rewards.instructions.kinds import CheckResult, Instruction, Kind, known_kind
from guerdon.rewards.instructions.row import instructions_of
from guerdon.types import EvaluateResult, MetricResult

MODES = ("strict", "loose")
SCORINGS = ("all", "fraction")
KINDS: Mapping[str, Kind] = {
    **form.KINDS,
    **words.KINDS,
    **length.KINDS,
    **functions.KINDS,
    **training.KINDS,
}
"""The kinds that come with the reward, by id."""


def _check(
    instruction_id_list: Any = None, kwargs: Any = None, extra_kinds: Any = None, **given: Any
) -> None:
    parameter_check(mode=among(MODES), scoring=among(SCORINGS), skip_thinking=yes_or_no)(**given)
    kinds = _kinds(extra_kinds)
    if kwargs is not None and instruction_id_list is not None:
        instructions_of(instruction_id_list, kwargs, None, kinds)
    for name in text_list(instruction_id_list, "instruction_id_list"):
        known_kind(name, kinds)


@reward_function(scale=(0, 1), check=_check)
def instructions(
    response: str,
    ground_truth: Any = None,
    instruction_id_list: str | Sequence[str] | None = None,
    kwargs: Any = None,
    *,
    mode: str = "strict",
    scoring: str = "all",
    skip_thinking: bool = True,
    extra_kinds: Mapping[str, Callable[..., bool]] | None = None,
) -> EvaluateResult:
    """Scores whether the response follows its verifiable instructions, of the kinds of IFEval.

    The row's ``instruction_id_list`` names the kinds and ``kwargs`` holds an object of arguments for each of
    them, both also as JSON; arguments that are null count as not there. Without them the ``ground_truth``
    holds such objects, ``{"instruction_id": [...], "kwargs": [...]}``, as trainers write them, or calls such as
    ``{"func_name": "verify_keywords", "keyword_list": [...]}``.

    ``mode="strict"`` checks the response as it is. ``mode="loose"`` is content where one of eight forms of it
    follows the instruction: as it is, without its first line, without its last, without both, and each of
    these without asterisks. An empty response follows nothing.

    ``scoring="all"`` gives 1 where every instruction is followed, else 0; ``scoring="fraction"`` the fraction of them.
    With ``skip_thinking`` text before ``</think>`` is ignored, and a ``<think>`` that is never
    closed leaves an empty response. ``extra_kinds`` adds kinds of one's own: functions by id, called with the
    text and the arguments by name, that say whether the text follows.

    Scale: 0 to 1.

    A metric for each instruction under its id, from the second of the same id on with ``#2`` and so on.

    Source: Zhou et al. 2023, Instruction-Following Evaluation for Large Language Models; verdicts as those of
    the checker published with it.

    Raises InputError for an unknown kind, for arguments that are missing, unknown or make no sense, and where
    the row has no instructions; MissingExtraError where a kind needs the extra ``instructions``.

    >>> instructions("No way", instruction_id_list=["punctuation:no_comma"]).score
    1.0
    >>> words = {"num_words": 3, "relation": "at least"}
    >>> ids = ["punctuation:no_comma", "length_constraints:number_words"]
    >>> instructions("No way", instruction_id_list=ids, kwargs=[{}, words], scoring="fraction").score
    0.5
    """
    text = response_text(response)
    loose = one_of(mode, MODES, "mode") == "loose"
    in_parts = one_of(scoring, SCORINGS, "scoring") == "fraction"
    wanted = instructions_of(instruction_id_list, kwargs, ground_truth, _kinds(extra_kinds))
    if not wanted:
        return EvaluateResult(None, reason="the row asks for no instruction")
    if yes_or_no(skip_thinking, "skip_thinking"):
        text = _after_thinking(text)
    forms = _forms(text) if loose else [text]
    findings = [_found(each, forms) for each in wanted]
    metrics = {
        name: MetricResult(float(finding.followed), success=finding.followed, reason=finding.says)
        for name, finding in zip(_names(wanted), findings, strict=True)
    }
    followed = sum(finding.followed for finding in findings)
    score = followed / len(wanted) if in_parts else float(followed == len(wanted))
    return EvaluateResult(score, reason=_reason(metrics), metrics=metrics)


def _kinds(extra: Any) -> Mapping[str, Kind]:
    if extra is None:
        return KINDS
    if not isinstance(extra, Mapping) or not all(map(callable, extra.values())):
        raise InputError(f"extra_kinds must be functions by id, not {shown(extra)}")
    return {**KINDS, **{str(id): Kind(str(id), _judged(check), None) for id, check in extra.items()}}


def _judged(check: Callable[..., bool]) -> Callable[..., CheckResult]:
    @functools.wraps(check)
    def judged(text: str, **arguments: Any) -> CheckResult:
        followed = bool(check(text, **arguments))
        return CheckResult(followed, "followed" if followed else "not followed")

    return judged


def _after_thinking(text: str) -> str:
    _, closed, answer = text.rpartition("</think>")
    if closed:
        return answer
    return "" if text.lstrip().startswith("<think>") else text


def _forms(text: str) -> list[str]:
    """The eight forms of a response that are looked at loosely, each only once."""
    lines = text.split("\n")
    parts = [lines[1:], lines[:-1], lines[1:-1]]
    forms = [text, *("\n".join(part).strip() for part in parts)]
    return list(dict.fromkeys([*forms, *(form.replace("*", "") for form in forms)]))


def _found(instruction: Instruction, forms: list[str]) -> CheckResult:
    """What is found in the first form that follows the instruction, else in the response as it is."""
    first = instruction(forms[0])
    if not forms[0].strip():
        return CheckResult(False, "the response is empty")
    if first.followed:
        return first
    later = (instruction(form) for form in forms[1:] if form.strip())
    return next((finding for finding in later if finding.followed), first)


def _names(wanted: list[Instruction]) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for instruction in wanted:
        seen[instruction.id] += 1
        count = seen[instruction.id]
        names.append(instruction.id if count == 1 else f"{instruction.id}#{count}")
    return names


def _reason(metrics: Mapping[str, MetricResult]) -> str:
    broken = [f"{name} ({metric.reason})" for name, metric in metrics.items() if not metric.success]
    summary = f"{len(metrics) - len(broken)} of {len(metrics)} followed"
    return "; not ".join([summary, ", ".join(broken)]) if broken else summary
