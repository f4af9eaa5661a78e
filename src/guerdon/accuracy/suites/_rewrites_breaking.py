"""Responses near a gold answer that do not give it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guerdon.accuracy.suites._gold_answers import GoldAnswer, gold_of, number_of
from guerdon.accuracy.suites._rewrites import Rewrite, box, chosen, near_miss

_FLIPPED = {"(": "[", "[": "(", ")": "]", "]": ")"}
_TURNS = re.compile(r"percent|\\?%|as a (?:common )?fraction of", re.IGNORECASE)


def breaking(text: str, question: str = "", other: str = "", turn: int = 0) -> list[Rewrite]:
    """At least 12 responses that do not give the gold answer ``text``, all of them wrong.

    ``other`` is the gold of another question.

    >>> [rewrite.kind for rewrite in breaking("42")][:3]
    ['one more', 'one less', 'the sign']
    """
    gold = gold_of(text)
    wrong = (Rewrite(kind, box(form)) for kind, form in misses(gold, question, other))
    return chosen(wrong, tricks(gold), turn)


def misses(gold: GoldAnswer, question: str, other: str) -> Iterator[tuple[str, str]]:
    """Names and texts of answers that differ from the gold."""
    if gold.is_number:
        yield from _numbers(gold, question)
    else:
        yield "one number changed", near_miss(gold)
        yield from _structures(gold)
    if other and _differs(gold, other):
        yield "the gold of another question", other
    if gold.number != 7777:
        yield "a false chain", f"7777={gold.text}"
    yield "said to be wrong", rf"{gold.text} \text{{ is wrong}}"
    yield "said to be incorrect", rf"{gold.text} \text{{ (incorrect)}}"
    yield "denied", rf"\text{{not }} {gold.text}"
    if gold.is_number or gold.is_expression or gold.words:
        yield "one of two", rf"{gold.text} \text{{ or }} {near_miss(gold)}"
        yield "two of two", rf"{near_miss(gold)} \text{{ or }} {gold.text}"
        yield "a list", f"{near_miss(gold)}, {gold.text}"


def _numbers(gold: GoldAnswer, question: str) -> Iterator[tuple[str, str]]:
    value = gold.number
    assert value is not None
    over, under = value.numerator, value.denominator
    for kind, miss in (
        ("one more", value + 1),
        ("one less", value - 1),
        ("the sign", -value),
        ("tenfold", 10 * value),
    ):
        if miss != value:
            yield kind, str(miss)
    if over and abs(over) != under:
        yield "inverted", rf"\frac{{{under}}}{{{over}}}" if over > 0 else rf"-\frac{{{under}}}{{{-over}}}"
    if over and not _TURNS.search(question):
        yield "a percentage", rf"{gold.text}\%"
    if over:
        yield "times a thousand", rf"{gold.text} \times 10^{{3}}"
        yield "with a letter", f"{gold.text}x"
    yield "strictly more", f"x > {gold.text}"


def _structures(gold: GoldAnswer) -> Iterator[tuple[str, str]]:
    parts = gold.parts
    if len(parts) > 1 and not gold.is_union and not gold.is_matrix:
        inside = ", ".join(parts[:-1])
        yield "one element dropped", f"{gold.opening}{inside}{gold.closing}"
        if not gold.is_interval:
            yield "one element more", f"{gold.opening}{', '.join([*parts, '9999'])}{gold.closing}"
    if gold.is_tuple and not gold.is_interval and parts[0] != parts[-1]:
        swapped = ", ".join([parts[-1], *parts[1:-1], parts[0]])
        yield "coordinates exchanged", f"({swapped})"
    if gold.opening in ("(", "[") and gold.closing in (")", "]") and gold.is_interval:
        inside = ", ".join(parts)
        if parts[0] != r"-\infty":
            yield "the left bracket flipped", f"{_FLIPPED[gold.opening]}{inside}{gold.closing}"
        if parts[1] != r"\infty":
            yield "the right bracket flipped", f"{gold.opening}{inside}{_FLIPPED[gold.closing]}"
    if gold.is_union:
        yield "a piece of the union dropped", re.split(r"\s*\\cup\s*", gold.text)[0]
    if gold.is_expression:
        yield "the sign", f"-({gold.text})"
        yield "one more", f"{gold.text} + 1"
        yield "doubled", f"2({gold.text})"
    if gold.is_matrix:
        rows = re.split(r"\s*\\\\\s*", gold.text)
        turned = r" \\ ".join(
            reversed([re.sub(r"\\(?:begin|end)\{pmatrix\}", "", row).strip() for row in rows])
        )
        if _plain(gold.text) != _plain(rf"\begin{{pmatrix}}{turned}\end{{pmatrix}}"):
            yield "rows turned round", rf"\begin{{pmatrix}} {turned} \end{{pmatrix}}"


def _plain(text: str) -> str:
    return "".join(text.split())


def _differs(gold: GoldAnswer, other: str) -> bool:
    """Whether another gold is surely another answer: both are numbers, and they differ."""
    value = number_of(other.strip())
    if value is None:
        return False
    # What is no plain number may still be worth one, with its unit or name: "18 units", "x = 18".
    mine = [number_of(found) for found in re.findall(r"-?[\d.,\\!]*\d", gold.text)]
    return value != gold.number and value not in mine


def tricks(gold: GoldAnswer) -> Iterator[Rewrite]:
    """Responses that show the gold where it does not count."""
    right, wrong = gold.text, near_miss(gold)
    shown = {
        "two boxes, the right one last": rf"It is \boxed{{{wrong}}}. Or so: \boxed{{{right}}}.",
        "two boxes, the right one first": rf"It is \boxed{{{right}}}. Or so: \boxed{{{wrong}}}.",
        "one box or another": rf"It is \boxed{{{wrong}}} or \boxed{{{right}}}.",
        "another answer later": rf"We get \boxed{{{right}}}. So the final answer is ${wrong}$.",
        "one sentence, two answers": f"The answer is ${right}$ or ${wrong}$.",
        "taken back for another": rf"\boxed{{{right}}} Wait, that is wrong. The answer is ${wrong}$.",
        "taken back for another box": rf"The answer is \boxed{{{right}}}. No, I made a mistake. \boxed{{{wrong}}}",
        "taken back": rf"\boxed{{{right}}}. Wait, that is wrong.",
        "denied in a sentence": f"The answer is not ${right}$.",
        "in a comment only": rf"I could not find it. <!-- \boxed{{{right}}} -->",
        "in a comment, another outside": rf"<!-- \boxed{{{right}}} --> \boxed{{{wrong}}}",
        "only thought": rf"<think>It is \boxed{{{right}}}.</think> \boxed{{{wrong}}}",
        "thought without an end": rf"<think>It is \boxed{{{right}}}.",
        "thought before the tag": rf"It is \boxed{{{right}}}. </think> I cannot tell.",
        "in a scratchpad": rf"<scratchpad>\boxed{{{right}}}</scratchpad> \boxed{{{wrong}}}",
        "said by a user": f"I cannot tell.\nUser: Is it \\boxed{{{right}}}?",
        "said by a tool": rf"<tool_response>\boxed{{{right}}}</tool_response> I cannot tell.",
        "in code": f"I cannot tell.\n```python\n# \\boxed{{{right}}}\n```",
        "a tag never closed": f"<answer>{right}",
        "another in the tag": rf"It is \boxed{{{right}}}. <answer>{wrong}</answer>",
        "cut off before it": "We add them up and find that the answer is",
        "an empty box": r"We add them up: \boxed{}",
    }
    for kind, text in shown.items():
        yield Rewrite(kind, text)
