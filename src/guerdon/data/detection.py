"""Which columns of a table are the prompt, the response and the expected answer, where nobody says it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.data.conversation import is_choices, is_turns
from guerdon.data.paths import ABSENT, value_at

PROMPTS = ("prompt", "question", "problem", "instruction", "input", "query")
RESPONSES = (
    "response",
    "completion",
    "output",
    "generation",
    "generated_text",
    "model_response",
    "model_output",
    "prediction",
)
LISTS = ("responses", "completions", "outputs", "generations", "choices")
"""Columns that hold several responses in each row."""
CONVERSATIONS = ("messages", "conversations", "conversation")
TRUTHS = (
    "ground_truth",
    "answer",
    "solution",
    "label",
    "target",
    "gold",
    "gold_answer",
    "gts",
    "expected",
    "expected_answer",
    "expected_output",
    "reference",
    "reference_answer",
    "correct_answer",
)
_VERL = "reward_model.ground_truth"
_INNER = ("extra_info.ground_truth", "extra_info.answer")
"""Where a truth lies that is not at the top and not where verl has it."""

_NOT_BESIDE_ANSWER = frozenset({"answer", "solution"})
"""Truths beside which ``answer`` is no response: a problem's solution and its final answer are both true."""

TRUTH_NAMES = frozenset({"ground_truth", "ground_truths", "answer", "labels"})
"""Parameters that read the ground truth."""

_LIKE_A_RESPONSE = (
    *(
        "respon",
        "complet",
        "output",
        "generat",
        "predict",
        "reply",
        "model_answer",
        "student",
        "chosen",
        "text",
    ),
)

_KNOWN = frozenset({*PROMPTS, *RESPONSES, *LISTS, *TRUTHS, *CONVERSATIONS})
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])")

Fits = Callable[[Any], bool]


@dataclass(slots=True)
class ColumnCandidates:
    """The columns that may have each role; a role is clear where there is one."""

    conversation: str | None = None
    prompt: list[str] = field(default_factory=list)
    response: list[str] = field(default_factory=list)
    truth: list[str] = field(default_factory=list)


def detect(
    names: Collection[str], rows: Sequence[Mapping[str, Any]], taken: Collection[str] = ()
) -> ColumnCandidates:
    """The candidates among the columns ``names``, judged by what they hold in the first ``rows``.

    ``taken`` are columns that have a role already.

    >>> found = detect(["question", "completion", "answer"], [])
    >>> found.prompt, found.response, found.truth
    (['question'], ['completion'], ['answer'])
    """
    there: dict[str, list[str]] = {}
    for name in names:
        if name not in taken:
            there.setdefault(normal(name), []).append(name)

    def holding(wanted: Iterable[str], fits: Fits) -> list[str]:
        return [name for plain in wanted for name in there.get(plain, ()) if _holds(rows, name, fits)]

    found = ColumnCandidates()
    found.conversation = next(
        (n for n in CONVERSATIONS if n in names and n not in taken and _converses(rows, n)), None
    )
    found.prompt = holding(PROMPTS, _said)
    found.response = holding(RESPONSES, _answered)
    found.response += [n for plain in LISTS for n in there.get(plain, ()) if _lists_responses(rows, n)]
    found.truth = _truths(holding(TRUTHS, _not_a_verdict), there, rows)
    kinds = {normal(name) for name in found.truth}
    if not found.response and "answer" in kinds and kinds - _NOT_BESIDE_ANSWER:
        found.response = [name for name in found.truth if normal(name) == "answer"]
        found.truth = [name for name in found.truth if normal(name) != "answer"]
    return found


def normal(name: str) -> str:
    """A name as the lists above have it.

    >>> normal("Ground Truth"), normal("modelResponse"), normal("answer")
    ('ground_truth', 'model_response', 'answer')
    """
    return (
        name if name in _KNOWN else _HUMP.sub("_", name.strip()).lower().replace(" ", "_").replace("-", "_")
    )


def _truths(found: list[str], there: Collection[str], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A ground truth that is called so is the one; true and false are verdicts on a response, not truths."""
    if called := [name for name in found if normal(name) == "ground_truth"]:
        return [*called, *(name for name in found if normal(name) == "answer")]
    if _VERL in there or _holds_at(rows, _VERL):
        found.append(_VERL)
    if not found:
        found = [path for path in _INNER if path in there or _holds_at(rows, path)][:1]
    return found


def _holds_at(rows: Sequence[Mapping[str, Any]], path: str) -> bool:
    return any(value_at(row, path) not in (ABSENT, None) for row in rows)


def _holds(rows: Iterable[Mapping[str, Any]], name: str, fits: Fits) -> bool:
    """Whether the first value of a column that is not null fits; without any, it is given the benefit."""
    return next((bool(fits(row[name])) for row in rows if row.get(name) is not None), True)


def _converses(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether a column may hold conversations, also as JSON text; ``messages`` is taken at its word."""
    return name == "messages" or _holds(rows, name, _listed)


def _listed(value: Any) -> bool:
    return value.lstrip().startswith("[") if isinstance(value, str) else isinstance(value, list)


def _said(value: Any) -> bool:
    """Text, a message or messages."""
    return isinstance(value, str) or _is_message(value) or (isinstance(value, list) and _messages(value))


def _answered(value: Any) -> bool:
    """A response or a list of them, or a number in its place, of which the row's error tells."""
    if isinstance(value, list):
        return not value or isinstance(value[0], str | list) or _messages(value) or is_choices(value)
    if isinstance(value, Mapping):
        return _is_message(value) or "choices" in value or "body" in value
    return True


def _lists_responses(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether a column may hold lists of responses; the ``choices`` of a question are answers to choose from."""
    return (
        any(is_choices(row.get(name)) for row in rows) if name == "choices" else _holds(rows, name, _answered)
    )


def _messages(value: list[Any]) -> bool:
    return is_turns(value) or (bool(value) and _is_message(value[0]))


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value


def _not_a_verdict(value: Any) -> bool:
    return not isinstance(value, bool)


def likely_response(
    names: Iterable[str], rows: Sequence[Mapping[str, Any]], taken: Collection[str]
) -> str | None:
    """A column of text that may be the response though its name is not known, to be named in an error."""
    texts = [
        name
        for name in names
        if name not in taken
        and name not in ("id", "messages")
        and not _is_given(name)
        and _holds(rows, name, _is_text)
    ]
    for part in _LIKE_A_RESPONSE:
        if (likely := next((name for name in texts if part in normal(name)), None)) is not None:
            return likely
    return None


def _is_given(name: str) -> bool:
    """Whether a column is called after what a model is given, such as ``input_output``."""
    return normal(name).startswith(("input", "expected"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
