"""Rewritings of gold answers: enough of them for golds of all shapes, and each as it says."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import guerdon
from guerdon.accuracy.suites import gsm8k, math_golds, math_hard
from guerdon.accuracy.suites._gold_answers import gold_of
from guerdon.accuracy.suites._rewrites import Rewrite, box, near_miss
from guerdon.accuracy.suites._rewrites_breaking import breaking, misses
from guerdon.accuracy.suites._rewrites_keeping import forms, keeping

GOLDS = [
    *("0", "1", "-1", "42", "-17", "1000000", r"25,\!972", "1,250", "3.5", "-0.25", ".5", "7777"),
    *(r"\frac{3}{4}", r"\frac34", r"-\dfrac{22}{7}", "5/9", r"3\frac{1}{2}"),
    *(
        r"\sqrt{5}",
        r"2\sqrt{3}",
        r"\frac{\sqrt3}{2}",
        r"2 + \sqrt{3}",
        r"\frac{2\pi}{3}",
        r"\pi",
        "3+4i",
        "2i",
    ),
    *("x^2 - 9", "(x+1)(x-2)", "x = -1", r"y = \frac{1}{2} x + 2", "b - 1", "1:2", "2112_6", "141_{13}"),
    *("(1,2)", r"\left(3, \frac{\pi}{2}\right)", "(1,1)", "1,-2", r"-5, 1, 4", r"\{1\pm\sqrt{5},-2\}"),
    *(
        "[0,1)",
        r"(-\infty, 2]",
        r"(-\infty, 2) \cup (3, \infty)",
        r"\left[ -\frac{\pi}{2}, \frac{\pi}{2} \right]",
    ),
    *(
        r"45^\circ",
        r"18\text{ units}",
        r"15\mbox{ cm}^2",
        r"\$2.50",
        r"20\%",
        r"\text{(C)}",
        r"\text{Monday}",
        "F",
    ),
    *(
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
        r"\begin{pmatrix} -7 \\ 2 \end{pmatrix}",
        r"\overline{CD}",
    ),
]


@pytest.mark.parametrize("gold", GOLDS)
@pytest.mark.parametrize("turn", [0, 1, 5])
def test_every_gold_has_twelve_of_both(gold: str, turn: int) -> None:
    for rewrites in (keeping(gold, turn), breaking(gold, "What is it?", "31", turn)):
        responses = [rewrite.response for rewrite in rewrites]
        assert len(responses) >= 12
        assert len(set(responses)) == len(responses)
        assert all(response.strip() for response in responses)
        assert len({rewrite.kind for rewrite in rewrites}) == len(rewrites)
    kept = {rewrite.response for rewrite in keeping(gold, turn)}
    assert not kept & {rewrite.response for rewrite in breaking(gold, "", "31", turn)}
    assert box(gold) not in kept


# Gold, the name of a form, how it is written.
FORMS = [
    ("42", "as a fraction", r"\frac{84}{2}"),
    ("42", "in scientific notation", r"4.2 \times 10^{1}"),
    ("-17", "as a quotient", "-51/3"),
    (r"25,\!972", "with commas", "25,972"),
    (r"-\frac{22}{7}", "as a mixed number", r"-3\frac{1}{7}"),
    (r"-\frac{22}{7}", "the sign above", r"\frac{-22}{7}"),
    (r"\frac{3}{4}", "as a decimal", "0.75"),
    ("-0.25", "not reduced", r"-\frac{2}{8}"),
    (".5", "with a nought more", "0.50"),
    (r"2 - \sqrt{3}", "the sum turned round", r"- \sqrt{3} + 2"),
    (r"\frac{\sqrt3}{2}", "a root over a number", r"\frac{1}{2}\sqrt3"),
    (r"\frac{\sqrt3}{2}", "powers in place of roots", r"\frac{{3}^{1/2}}{2}"),
    (r"2\sqrt{3}", "a dot after the coefficient", r"2 \cdot \sqrt{3}"),
    ("1,-2", "with and", r"1 \text{ and } -2"),
    ("1, -2, 3", "turned round", "-2, 3, 1"),
    (r"(-\infty, 2) \cup (3, \infty)", "the union turned round", r"(3, \infty) \cup (-\infty, 2)"),
    (r"(-\infty, 2) \cup (3, \infty)", "plus infinity", r"(-\infty, 2) \cup (3, +\infty)"),
    (r"\left(1, \frac{9}{2}\right)", "decimals inside", "(1, 4.5)"),
    ("x = -1", "without the name", "-1"),
    ("2112_6", "the base lowered", "2112₆"),
    (r"45^\circ", "degree signs", "45°"),
    (r"18\text{ units}", "without the unit", "18"),
    (r"\$2.50", "without the currency", "2.50"),
    (r"\text{Monday}", "in upper case", r"\text{MONDAY}"),
]


@pytest.mark.parametrize(("gold", "kind", "text"), FORMS)
def test_forms(gold: str, kind: str, text: str) -> None:
    assert dict(forms(gold_of(gold)))[kind] == text


MISSES = [
    ("42", "one more", "43"),
    ("42", "the sign", "-42"),
    (r"\frac{3}{4}", "inverted", r"\frac{4}{3}"),
    ("42", "a percentage", r"42\%"),
    ("42", "a false chain", "7777=42"),
    (r"\sqrt{5}", "one number changed", r"\sqrt{6}"),
    (r"\sqrt[3]{5}", "one number changed", r"\sqrt[3]{6}"),
    ("(1,2)", "coordinates exchanged", "(2, 1)"),
    ("1,-2", "one element dropped", "1"),
    ("[0,1)", "the left bracket flipped", "(0, 1)"),
    (r"(-\infty, 2]", "the right bracket flipped", r"(-\infty, 2)"),
    (r"(-\infty, 2) \cup (3, \infty)", "a piece of the union dropped", r"(-\infty, 2)"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "rows turned round", r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}"),
]


@pytest.mark.parametrize(("gold", "kind", "text"), MISSES)
def test_misses(gold: str, kind: str, text: str) -> None:
    assert dict(misses(gold_of(gold), "", ""))[kind] == text


# What is no miss for this gold must not be called one.
@pytest.mark.parametrize(
    ("gold", "question", "other", "kind"),
    [
        ("0", "", "", "the sign"),
        ("0", "", "", "a percentage"),
        ("1", "", "", "inverted"),
        ("60", "What percent of 5 is 3?", "", "a percentage"),
        ("7777", "", "", "a false chain"),
        ("42", "", "42.0", "the gold of another question"),
        (r"18\text{ units}", "", "18", "the gold of another question"),
        ("42", "", r"\sqrt{1764}", "the gold of another question"),
        ("(1,1)", "", "", "coordinates exchanged"),
        (r"(-\infty, 2]", "", "", "the left bracket flipped"),
        (r"\begin{pmatrix} 0 \\ 0 \end{pmatrix}", "", "", "rows turned round"),
    ],
)
def test_no_misses(gold: str, question: str, other: str, kind: str) -> None:
    assert kind not in dict(misses(gold_of(gold), question, other))


@pytest.mark.parametrize(
    ("text", "number", "parts"),
    [
        (r"25,\!972", Fraction(25972), 1),
        ("58,500", Fraction(58500), 1),
        ("27,93", None, 2),
        (r"\frac 1{72}", Fraction(1, 72), 1),
        (r"-\frac1{2x}", None, 1),
        ("(1,2)", None, 2),
        ("(1,2) (3,4)", None, 1),
        (r"\text{A,D}", None, 1),
        (r"\frac{12}{5,\!525}", None, 1),
    ],
)
def test_taking_golds_apart(text: str, number: Fraction | None, parts: int) -> None:
    gold = gold_of(text)
    assert (gold.number, len(gold.parts)) == (number, parts)


@pytest.mark.parametrize("gold", GOLDS)
def test_a_near_miss_is_another_text(gold: str) -> None:
    assert near_miss(gold_of(gold)) != gold


def verdicts(rewrites: Iterator[tuple[str, Rewrite]]) -> list[tuple[str, str, float | None]]:
    given = list(rewrites)
    rows = [{"messages": [{"role": "assistant", "content": r.response}], "ground_truth": g} for g, r in given]
    scores = guerdon.score("math", rows).scores
    return [(gold, rewrite.kind, score) for (gold, rewrite), score in zip(given, scores, strict=True)]


@pytest.mark.slow(seconds=4)
def test_the_reward_pays_what_keeps_the_answer_and_nothing_else() -> None:
    pytest.importorskip("math_verify", reason="the extra math is absent")
    kept = verdicts((gold, r) for n, gold in enumerate(GOLDS) for r in keeping(gold, n))
    assert sum(score == 1 for *_, score in kept) >= 0.99 * len(kept), [k for k in kept if k[2] != 1]
    broken = verdicts((gold, r) for n, gold in enumerate(GOLDS) for r in breaking(gold, turn=n))
    assert [found for found in broken if found[2] != 0] == []


@pytest.mark.slow(seconds=3)
def test_hard_pairs() -> None:
    pytest.importorskip("math_verify", reason="the extra math is absent")
    cases = list(math_hard.cases(Path()))
    assert len(cases) > 200
    scores = guerdon.score("math", [case.row for case in cases]).scores
    wrong = [c.id for c, score in zip(cases, scores, strict=True) if score != float(c.right)]
    assert len(wrong) <= 0.01 * len(cases), wrong


def test_the_cases_of_real_golds_and_solutions(data_dir: Path) -> None:
    solutions = list(gsm8k.cases(data_dir))
    assert len(solutions) == 2000
    assert sum(case.right for case in solutions) == 615 + 400
    kept, broken = list(math_golds.kept(data_dir)), list(math_golds.broken(data_dir))
    assert len(kept) == len(broken) == 14 * 1500
    for cases in (kept, broken):
        assert len({case.id for case in cases}) == len(cases)
    assert all(case.right for case in kept)
    assert not any(case.right for case in broken)
