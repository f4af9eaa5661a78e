"""Pairs of answers that are easily taken for each other, or for different, written by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from guerdon.accuracy.suite import LabelledCase, Suite
from guerdon.accuracy.suites._math_verifiers import CATALOGUE, EXTERNAL, row_of
from guerdon.accuracy.suites._rewrites import box

# Gold, answers that equal it, answers that do not.
_Row = tuple[str, tuple[str, ...], tuple[str, ...]]

CONSTANTS: tuple[_Row, ...] = (
    (r"\frac{1}{2^{98}}", (r"2^{-98}", r"\frac{2}{2^{99}}"), (r"\frac{1}{2^{99}}", r"2^{-99}", "0")),
    (r"\frac{1}{2006!}", (r"\frac{2007}{2007!}",), (r"\frac{1}{2004!}", r"\frac{1}{2005!}", "0")),
    (r"1 - \frac{1}{e}", (r"1 - e^{-1}", r"\frac{e-1}{e}"), (r"1 + \frac{1}{e}", r"\frac{1}{e}", "1 - e")),
    (r"1,2,\ldots,n", (r"1, 2, \dots, n",), (r"1,3,\ldots,2n-1", r"1,2,\ldots,2n", r"2,4,\ldots,n")),
    (r"2^{100}", (r"4^{50}", "1267650600228229401496703205376"), (r"2^{100} + 1", r"2^{99}", r"2^{101}")),
    (r"10^{20}", ("100000000000000000000",), ("100000000000000000001", "99999999999999999999")),
    (r"\frac{10^{15}+1}{10^{15}}", (r"1 + 10^{-15}",), ("1", r"1 - 10^{-15}")),
    (r"e^{-50}", (r"\frac{1}{e^{50}}",), (r"e^{-51}", "0", r"e^{50}")),
    (r"\binom{100}{50}", (r"\frac{100!}{50! \cdot 50!}",), (r"\binom{100}{49}", r"\frac{100!}{50!}")),
    (r"\sqrt{10^{12}+1}", (r"\sqrt{1000000000001}",), ("1000000", r"\sqrt{10^{12}}")),
    (r"\pi", (r"\frac{2\pi}{2}",), (r"\frac{22}{7}", "3.14", r"\frac{355}{113}", r"-\pi")),
    (r"e^{\pi\sqrt{163}}", (r"\exp(\pi\sqrt{163})",), ("262537412640768744",)),
    (r"\sqrt{2}+\sqrt{3}", (r"\sqrt{5+2\sqrt{6}}",), (r"\sqrt{5}", r"\sqrt{10}")),
    ("0.1", (r"\frac{1}{10}", "0.10"), ("0.01", "1", "0.11")),
)

ALGEBRA: tuple[_Row, ...] = (
    ("x^2 - 9", ("(x-3)(x+3)", "(x + 3)(x - 3)", "-9 + x^2"), ("x^2 + 9", "(x-3)^2", "x - 9")),
    ("(x+1)^3", ("x^3 + 3x^2 + 3x + 1", "(1+x)^3"), ("x^3 + 1", "x^3+3x^2+3x", "(x-1)^3")),
    (
        r"\frac{x+1}{x-1}",
        (r"1 + \frac{2}{x-1}", r"\frac{-x-1}{1-x}"),
        (r"\frac{x-1}{x+1}", r"\frac{x+1}{1-x}"),
    ),
    (r"2x + 3y", ("3y + 2x", "2(x + 1.5y)"), ("2x - 3y", "3x + 2y", "5xy")),
    (
        r"\frac{1}{\sqrt{2}}",
        (r"\frac{\sqrt{2}}{2}", r"\sqrt{0.5}", r"2^{-1/2}"),
        (r"\sqrt{2}", r"\frac{1}{2}"),
    ),
    (r"3 + 4i", (r"4i + 3", r"(2+i)^2"), ("3 - 4i", "4 + 3i", "5", "7i")),
    (r"\log_2 10", (r"\frac{\ln 10}{\ln 2}", r"1 + \log_2 5"), (r"\log_{10} 2", r"\log_2 5", r"\ln 10")),
    (r"\sin^2 x", (r"1 - \cos^2 x",), (r"\cos^2 x", r"\sin x^2")),
    (r"|x|", (r"\sqrt{x^2}",), ("x", "-x")),
    ("y = 2x + 1", ("2x - y + 1 = 0", "y - 1 = 2x"), ("y = 2x - 1", "x = 2y + 1", "2x + y + 1 = 0")),
    ("n(n+1)/2", (r"\frac{n^2+n}{2}", r"\binom{n+1}{2}"), (r"\frac{n(n-1)}{2}", "n^2 + n")),
    ("2, 3", ("3, 2", r"x = 2 \text{ or } x = 3", r"\{2, 3\}"), ("2", "3", "2, 3, 4", "-2, -3")),
    (r"\pm 3", ("-3, 3", r"x = \pm 3", r"\{3, -3\}"), ("3", "-3", r"\pm 9")),
)

INTERVALS: tuple[_Row, ...] = (
    ("[0, 1)", (r"\left[0, 1\right)", "[0,1)"), ("(0, 1)", "[0, 1]", "(0, 1]", "[1, 0)")),
    (
        r"(-\infty, 2] \cup (3, \infty)",
        (r"(3, \infty) \cup (-\infty, 2]", "(-∞, 2] ∪ (3, ∞)"),
        (r"(-\infty, 2) \cup (3, \infty)", r"(2, 3]", r"(-\infty, 2]"),
    ),
    (r"(2, \infty)", ("x > 2", "2 < x"), (r"[2, \infty)", r"x \ge 2", "x < 2")),
    (r"[-1, 4]", (r"-1 \le x \le 4",), ("-1 < x < 4", r"x \ge -1", "-1, 4")),
    (r"\emptyset", (r"\varnothing",), ("0", r"\{0\}")),
    ("(3, 5)", (r"\left(3, 5\right)", "( 3 , 5 )"), ("(5, 3)", "3", "8")),
)

MATRICES: tuple[_Row, ...] = (
    (
        r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
        (r"\begin{bmatrix}1&2\\3&4\end{bmatrix}", r"\begin{pmatrix} 1 & 4/2 \\ 3 & 4 \end{pmatrix}"),
        (
            r"\begin{pmatrix} 1 & 3 \\ 2 & 4 \end{pmatrix}",
            r"\begin{pmatrix} 1 & 2 & 3 & 4 \end{pmatrix}",
            "-2",
        ),
    ),
    (
        r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}",
        (r"\begin{bmatrix} 1 \\ 2.0 \end{bmatrix}",),
        (r"\begin{pmatrix} 2 \\ 1 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \\ 0 \end{pmatrix}"),
    ),
)

PROBABILITY: tuple[_Row, ...] = (
    (
        r"\frac{1}{36}",
        ("1/36", r"\left(\frac{1}{6}\right)^2", r"6^{-2}"),
        ("1/6", r"\frac{1}{35}", "0.03", "36"),
    ),
    (r"\frac{5}{9}", (r"1 - \frac{4}{9}", r"\frac{10}{18}"), (r"\frac{4}{9}", r"\frac{9}{5}", "0.5", "0.56")),
    ("0.25", (r"\frac14", r"25\%", "1/4", ".25"), (r"0.25\%", "25", "0.75")),
    (r"75\%", ("0.75", r"\frac{3}{4}", "75 percent"), (r"0.75\%", r"7.5\%", r"25\%")),
    (r"\binom{5}{2}", ("10", r"\frac{5!}{2!3!}"), ("20", r"\frac{5}{2}", r"\binom{2}{5}")),
    ("120", ("5!", r"1.2 \times 10^2"), ("5", "119", "-120", "12")),
)

QUANTITIES: tuple[_Row, ...] = (
    (
        r"12 \text{ cm}^2",
        ("12", r"12\text{ cm}^{2}", r"12 \text{ square centimeters}"),
        ("144", r"12\text{ cm}^3", r"12 \text{ m}^2"),
    ),
    (r"\$4.50", ("4.50", "4.5", r"4.50 \text{ dollars}"), ("45", r"\$4.05", "450")),
    (r"45^\circ", ("45", "45°", r"45 \text{ degrees}"), (r"-45^\circ", r"54^\circ", r"45'")),
    (r"1{,}250", ("1250", "1,250", r"1.25 \times 10^3"), ("1.250", "12,50", "125")),
    ("3:2", ("3 : 2",), ("2:3", "3:20")),
    (r"1011_2", ("1011_{2}",), ("1101_2", "1011_3", r"1011_{10}")),
    (r"3\frac{1}{2}", ("3.5", r"\frac{7}{2}", "7/2"), (r"\frac{3}{2}", r"\frac{31}{2}", "3")),
    (
        r"\text{Tuesday}",
        ("Tuesday", r"\textbf{Tuesday}", r"\text{tuesday}"),
        (r"\text{Thursday}", r"\text{Tuesdays off}"),
    ),
    (r"\text{(C)}", ("C", r"\textbf{(C)}"), ("D", r"\text{(C) or (D)}")),
)

# Gold, a whole response, whether it is right.
RESPONSES: tuple[tuple[str, str, bool], ...] = (
    ("7", r"First, $x = \boxed{3}$. Then $x + 4 = \boxed{7}$.", True),
    ("7", "Step 1: the side is \\boxed{3}.\nStep 2: the sum is \\boxed{7}.", True),
    ("7", r"It is \boxed{7} or maybe \boxed{8}.", False),
    ("2, 3", r"So $x = \boxed{2}$ and $y = \boxed{3}$.", True),
    ("3", r"So $x = \boxed{2}$ and $y = \boxed{3}$.", False),
    ("7", r"\boxed{8}? No, that's wrong, since 8 is even. \boxed{7}", True),
    ("7", r"\boxed{7}. Hmm, wait: I made a mistake, it must be 8.", False),
    ("7", r"\boxed{7}" + "\n\nThe answer is reasonable, since 7 < 8.", True),
    ("7", r"\boxed{7}" + "\n\nCheck: 7 + 1 = 8, as it should be.", True),
    ("7", "The answer is 7, which is less than 8.", True),
    ("7", "The answer is either 7 or 8.", False),
    ("7", "Therefore, x = 7.", True),
    (r"\frac{\sqrt{3}}{2}", "Therefore, the height is sqrt(3)/2.", True),
    ("1024", "So the number of subsets is 2^10.", True),
    ("10", "So the number of subsets is 2^10.", False),
    ("4", r"Thus the probability is \frac{3}{4}.", False),
    ("7", "<think>8? No, 7.</think>\nThe answer is 7.", True),
    ("7", "<think>7</think>", False),
    ("7", "Answer: 7\n\nQuestion: What is 4 + 4?\nAnswer: 8", True),
    ("7", r"\boxed{7", False),
)  # fmt: skip

_AREAS = {
    "constants": CONSTANTS,
    "algebra": ALGEBRA,
    "intervals": INTERVALS,
    "matrices": MATRICES,
    "probability": PROBABILITY,
    "quantities": QUANTITIES,
}


def cases(data: Path) -> Iterator[LabelledCase]:
    """The pairs, which need no data."""
    del data
    for area, rows in _AREAS.items():
        for n, (gold, equal, different) in enumerate(rows):
            for m, answer in enumerate((*equal, *different)):
                yield LabelledCase(f"{area}/{n}/{m}", row_of("", box(answer), gold), m < len(equal), area)
    for n, (gold, response, right) in enumerate(RESPONSES):
        yield LabelledCase(f"responses/{n}", row_of("", response, gold), right, "responses")


SUITE = Suite(
    name="math-hard",
    title="Mathematical answers that are easily taken for each other, or for different",
    files=(),
    cases=cases,
    catalogue=CATALOGUE,
    external=EXTERNAL,
    aim="every verdict is right",
)
