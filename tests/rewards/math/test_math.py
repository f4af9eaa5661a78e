"""``math``: which answer a response gives, and whether it equals the ground truth."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.types import EvaluateResult

pytest.importorskip("math_verify", reason="the extra math is absent")

from guerdon.rewards.math.reward import math

ASKS = "What percent of 5 is 3?"


def box(answer: str) -> str:
    return rf"So it is \boxed{{{answer}}}."


# response, ground truth, score, and where the answer was found with its text (None where there is none).
FOUND: list[tuple[str, Any, int, str | None]] = [
    (r"\boxed{42}", "42", 1, 'box "42"'),
    (r"\boxed{41} and then \boxed{42}", "42", 0, 'box "42"'),
    (r"\boxed{42} and then \boxed{41}", "42", 0, 'box "41"'),
    (r"\boxed{\boxed{42}}", "42", 1, 'box "42"'),
    (r"\fbox{42}", "42", 1, 'box "42"'),
    (r"$\boxed {\frac{1}{2}}$", "0.5", 1, r'box "\frac{1}{2}"'),
    (r"\boxed{42} A: 41", "42", 1, 'box "42"'),
    (r"\boxed{}", "42", 0, 'box ""'),
    # A box that is never closed is none.
    ("A: 42\n\\boxed{41", "42", 1, 'Answer: "42"'),
    ("Six times seven.\n#### 42", "42", 1, '#### "42"'),
    ("#### $1,042", "1042", 1, '#### "$1,042"'),
    ("#### 41\nor\n#### 42", "42", 0, '#### "42"'),
    ("#### 1. Multiply\nThat is 42", "42", 1, 'the last number "42"'),
    ("#### Answer\n42", "42", 1, 'the last number "42"'),
    ("<answer> 42 </answer> or 41", "42", 0, '<answer> "42"'),
    ("<answer>41</answer> <answer>42</answer>", "42", 0, '<answer> "42"'),
    ("The answer is 42 because 6 · 7 is that.", "42", 1, 'the answer is "42"'),
    ("The final answer is: $\\frac{84}{2}$.", "42", 1, r'the answer is "\frac{84}{2}"'),
    ("The answer is\n\\[ x = 42. \\]", "42", 1, 'the answer is "x = 42"'),
    ("The answer is that she pays $42 a day.", "42", 1, 'the answer is "$42"'),
    ("the answer is 3.5. It is not 4.", "3.5", 1, 'the answer is "3.5"'),
    ("6 * 7 = <<6*7=42>>42\nA: 42", "42", 1, 'Answer: "42"'),
    ("A: 41\nA: 42", "42", 1, 'Answer: "42"'),
    ("**Answer: 42**", "42", 1, 'Answer: "42"'),
    ("**Final Answer:** 42 eggs", "42", 1, 'Answer: "42"'),
    ("Answer:\n$42$ eggs", "42", 1, 'Answer: "42"'),
    ("Answer = 3x + 2", "2+3x", 1, 'Answer: "3x + 2"'),
    ("A banana: 41, so 42", "42", 1, 'the last number "42"'),
    ("It takes 6 * 7 = 42 eggs", "42", 1, 'the last number "42"'),
    ("It costs $41 for one and $42 for the other.", "42", 1, 'the last number "$42"'),
    ("So $x=42$, as was said.", "42", 1, 'the last formula "x=42"'),
    ("so 3 / 4", "0.75", 1, 'the last number "3 / 4"'),
    ("x2 and a3", "3", 0, None),
    ("no idea", "42", 0, None),
    ("", "42", 0, None),
    # What was thought before is not an answer.
    ("<think>41</think>42", "42", 1, 'the last number "42"'),
    (r"<think>\boxed{42}</think>I do not know.", "42", 0, None),
    (r"<think>\boxed{42}", "42", 0, None),
    (r"It is \boxed{42}, so </think> no", "42", 0, None),
]

# answer in the box, ground truth, score.
EQUAL: list[tuple[str, Any, int]] = [
    # Numbers.
    ("42", 42, 1), ("42", 42.0, 1), ("42.0", "42", 1), ("042", "42", 1), ("+42", "42", 1), ("41", 42, 0),
    ("-42", "42", 0), ("-0", "0", 1), ("2,125", "2125", 1), ("2125", "2,125", 1), ("2{,}125", "2125", 1),
    (r"2\,125", "2125", 1), (r"2,\!125", "2125", 1), ("2 125", "2125", 1), ("2 12", "212", 0), ("21,25", "2125", 0),
    ("1e3", "1000", 1), (r"1.5 \times 10^{3}", "1500", 1), (r"2\times10^3", 2000, 1), ("1e400", "1", 0),
    (r"\$1,000.00", "1000", 1), ("€5", "5", 1), (".5", "0.5", 1), ("0.50", ".5", 1),
    # Fractions.
    ("1/2", "0.5", 1), (r"\dfrac{1}{2}", r"\frac12", 1), (r"\frac{2}{4}", "1/2", 1), ("3 1/2", "7/2", 1),
    (r"3\frac{1}{2}", "3.5", 1), ("31/2", "3 1/2", 0), ("1/0", "1", 0), (r"\frac{1}{3}", "0.333333", 1),
    ("0.333333", "1/3", 1), ("0.3333", "1/3", 0), ("1000000001/1000000000", "1", 0), ("17.99999999", "18", 1),
    # Units.
    ("18 eggs", "18", 1), (r"18 \text{ eggs}", "18", 1), ("18 dollars per day", 18, 1), ("18 cm^2", "18", 1),
    ("18", r"18 \text{ cm}", 1), (r"18^\circ", "18", 1), ("5 million", "5", 0), ("3 dozen", "3", 0),
    ("5 pi", "5", 0),
    # A percentage is a hundredth, unless the question asks for one (below).
    (r"7\%", "7", 0), ("7%", "0.07", 1), (r"7\%", r"7\%", 1), ("7", r"7\%", 1), ("0.07", r"7\%", 1),
    ("7 percent", "7%", 1), (r"7 \text{ percent}", "0.07", 1), (r"7\%\%", "7", 0), ("70", r"7\%", 0),
    # Statements are no answers.
    (r"7 \text{ is wrong}", "7", 0), ("7 (this is wrong)", "7", 0), (r"\text{not } 7", "7", 0),
    (r"x \neq 7", "7", 0), ("x < 7", "7", 0), (r"\text{maybe } 7", "7", 0), ("7 or 8", "7", 0),
    (r"7 \text{ or } 8", "7", 0), ("7, 8", "7", 0), (r"\{7, 8\}", "7", 0), ("7?", "7", 0),
    # Chains.
    ("x = 7", "7", 1), ("7", "x = 7", 1), (r"\theta = 7^\circ", "7", 1), ("f(2) = 7", "7", 1),
    (r"\text{Total} = 7", "7", 1), ("3 + 4 = 7", "7", 1), ("3 + 5 = 7", "7", 0), ("7777 = 7", "7", 0),
    ("7 = 7777", "7", 0), ("x = 3 + 4 = 7", "7", 1), ("x = 8 = 7", "7", 0), (r"\pi = 7", "7", 0),
    ("= 7", "7", 1),
    # Expressions.
    (r"\sqrt{8}", r"2\sqrt2", 1), ("(x-1)(x+1)", "x^2-1", 1), ("(x-1)(x+1)", "x^2+1", 0), ("10^3", 1000, 1),
    (r"\frac \pi4", r"\frac{\pi}{4}", 1), ("(1, 2)", "(1,2)", 1), ("(2, 1)", "(1,2)", 0), ("2π", r"2\pi", 1),
    (r"\{2, 1\}", r"\{1, 2\}", 1), (r"\left[ 0, 1 \right)", "[0,1)", 1), ("(0,1]", "[0,1)", 0),
    (r"(\frac{7}{45}, \frac{4}{45}) + 1", r"(\frac{7}{45}, \frac{4}{45})", 0), ("x²", "x^2", 1), ("x2", "x²", 0),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}", 1),
    # Equal to 15 decimal places, and not equal.
    (r"\frac{1}{2^{99}}", r"\frac{1}{2^{98}}", 0), (r"\frac{1}{2^{99}}", "1/2^{99}", 1), ("1+1/e", "1-1/e", 0),
    (r"\frac{1}{2004!}", r"\frac{1}{2006!}", 0), (r"1,3,\ldots,2n-1", r"1,2,\ldots,n", 0), ("1e-9", "2e-9", 0),
    # Words.
    (r"\text{Monday}", "Monday", 1), ("monday", r"\text{Monday}", 1), ("Daymon", "Monday", 0), ("B", "B", 1),
    ("(B)", r"\text{(B)}", 1), ("A", "B", 0), ("no solution", r"\text{no solution}", 1), ("no", "no solution", 0),
    # Spellings of Unicode, and look-alikes.
    ("１８", "18", 1), ("−18", "-18", 1), ("18\u200b", "18", 1), ("½", "0.5", 1), ("l8", "18", 0), ("1О", "10", 0),
    # Hostile ones.
    ("18\x00", "18", 0), ("18\ud800", "18", 0), ("\x00", "18", 0), ("{" * 12 + "18" + "}" * 12, "18", 1),
    ("(" * 10_000 + "18" + ")" * 10_000, "18", 0), ("[" * 500 + "18" + "]" * 400, "18", 0),
    ("{" * 10_000 + "18" + "}" * 10_000, "18", 0), (r"\sqrt{" * 50 + "2" + "}" * 50, "18", 0), ("]]] 18", "18", 0),
    ("9" * 1_000_000, "18", 0), (r"\frac{18}", "18", 0), ("$18", "18", 1), ("{18", "18", 1),
]  # fmt: skip

# A whole response, ground truth, score: long ones, in which to look for an answer must not take long.
LONG: list[tuple[str, Any, int]] = [
    ("x" * 1_000_000, 18, 0),
    ("1" * 1_000_000, 18, 0),
    ("[1" * 500_000, 1, 1),
    (r"\boxed{" * 150_000, 18, 0),
    (r"\boxed{18} " * 100_000, 18, 1),
    (r"\(" * 500_000, 18, 0),
    ("$" * 1_000_000, 18, 0),
    ("answer is " * 100_000, 18, 0),
    ("answer is -" + " " * 1_000_000 + "18", 18, 0),
    ("<answer>" * 100_000, 18, 0),
    ("</answer>" * 100_000 + "18", 18, 1),
    ("#" * 1_000_000, 18, 0),
    ("\n" * 1_000_000 + "A: 18", 18, 1),
    ("[" * 10_000 + "18" + "]" * 2_000, 18, 1),
    # The last number is looked for near the end.
    ("[" * 10_000 + "18" + "]" * 10_000, 18, 0),
]

# response, ground truth, prompt, parameters, score.
OTHERWISE: list[tuple[str, Any, str, Mapping[str, Any], int]] = [
    (box(r"60\%"), "60", ASKS, {}, 1),
    (box("60"), "60", ASKS, {}, 1),
    (box("60%"), "60", "Write it as a percent.", {}, 1),
    (box("7%"), "7", "What is 20% of 35?", {}, 0),
    (box("7%"), "7", "What is 20 percent of 35?", {}, 0),
    ("The answer is 7, which is wrong.", "7", "", {}, 0),
    ("The answer is 7, which is correct.", "7", "", {}, 1),
    ("The answer is $7$? No, that isn't so. It is 8", "8", "", {}, 1),
    ("The answer is not 7.", "7", "", {}, 0),
    (r"\boxed{7} A: 8", "8", "", {"extract": "label"}, 0),
    ("\\boxed{7}\nA: 8", "8", "", {"extract": "label"}, 1),
    ("#### 7\nThe answer is 8.", "8", "", {"extract": "phrase,hashes"}, 0),
    ("#### 7\nThe answer is 8.", "8", "", {"extract": ["hashes", "phrase"]}, 0),
    ("It is 42", "42", "", {"extract": "boxed"}, 0),
    (box("18"), "16 - 3 + 5 is 18.\n#### 18", "", {}, 1),
    (box("18"), r"So we have \boxed{18} in all.", "", {}, 1),
    (box("18"), "The answer is 18.", "", {}, 1),
    (box("18"), "$18$", "", {}, 1),
]

UNREADABLE: list[tuple[Any, str]] = [
    (True, "must be text or a number, not True"),
    ([], "the ground truth is an empty list; give at least one"),
    ([["18"]], "must be text or a number, not a list"),
    (["18", "???"], 'ground truth "???" cannot be read as mathematics'),
    (float("nan"), "must be finite, not nan"),
    (float("-inf"), "must be finite, not -inf"),
    ("", 'ground truth "" cannot be read: it is empty'),
    (" \n", "it is empty"),
    (r"\boxed{}", "it is empty"),
    ("$$", 'ground truth "$$" cannot be read as mathematics'),
    ("]]]((", 'ground truth "]]]((" cannot be read as mathematics'),
    (r"\frac{1}{", "cannot be read as mathematics"),
    ("???", "cannot be read as mathematics"),
    ("\x00", r'ground truth "\x00" cannot be read as mathematics'),
    ("x" * 1001, "it has 1,001 characters, over 1,000"),
    ("(" * 13 + "1" + ")" * 13, "its brackets are nested too deep"),
]


def rows_of(cases: Sequence[tuple[str, Any, str]]) -> list[dict[str, Any]]:
    return [
        {
            "messages": [{"role": "user", "content": prompt}, {"role": "assistant", "content": response}],
            "ground_truth": truth,
        }
        for response, truth, prompt in cases
    ]


@pytest.fixture(scope="module")
def scored() -> Callable[[Sequence[tuple[str, Any, str]]], list[EvaluateResult]]:
    """The verdicts on many cases from worker processes, once for each table."""
    known: dict[int, list[EvaluateResult]] = {}

    def of(cases: Sequence[tuple[str, Any, str]]) -> list[EvaluateResult]:
        key = hash(tuple((response, str(truth)) for response, truth, _ in cases))
        if key not in known:
            known[key] = list(guerdon.score(math, rows_of(cases)))
        return known[key]

    return of


Scored = Callable[[Sequence[tuple[str, Any, str]]], list[EvaluateResult]]


@pytest.mark.parametrize("number", range(len(FOUND)), ids=lambda number: FOUND[number][0][:40])
def test_where_the_answer_stands(scored: Scored, number: int) -> None:
    result = scored([(response, truth, "") for response, truth, _, _ in FOUND])[number]
    _, _, score, found = FOUND[number]
    metric = result.metrics["answer_found"]
    assert (result.score, metric.reason) == (score, found), result.error or result.reason
    assert (metric.score, metric.success) == (float(found is not None), found is not None)


@pytest.mark.parametrize("number", range(len(EQUAL)), ids=lambda n: f"{EQUAL[n][0][:30]!a} {EQUAL[n][1]!s}")
def test_what_equals_the_ground_truth(scored: Scored, number: int) -> None:
    result = scored([(box(answer), truth, "") for answer, truth, _ in EQUAL])[number]
    assert result.score == EQUAL[number][2], result.error or result.reason


@pytest.mark.parametrize("number", range(len(LONG)), ids=lambda number: LONG[number][0][:12].strip())
def test_long_responses(scored: Scored, number: int) -> None:
    result = scored([(response, truth, "") for response, truth, _ in LONG])[number]
    assert result.score == LONG[number][2], result.error or result.reason


@pytest.mark.sample(2, seconds=2)
@pytest.mark.parametrize(("response", "truth", "prompt", "parameters", "score"), OTHERWISE)
def test_prompts_parameters_and_solutions_as_ground_truth(
    response: str, truth: Any, prompt: str, parameters: dict[str, Any], score: int
) -> None:
    result = math(response, truth, prompt, **parameters)
    assert result.score == score, result.error or result.reason


@pytest.mark.parametrize("number", range(len(UNREADABLE)), ids=lambda n: str(UNREADABLE[n][0])[:20])
def test_a_ground_truth_that_cannot_be_read_is_an_error(scored: Scored, number: int) -> None:
    # A response of the same text must not be paid either.
    result = scored([(box("18"), truth, "") for truth, _ in UNREADABLE])[number]
    assert (result.score, result.error_kind) == (None, "input")
    assert UNREADABLE[number][1] in str(result.error)


def test_no_ground_truth_is_an_error() -> None:
    scores = guerdon.score(math, rows_of([(box("18"), "18", ""), (box("18"), None, "")]))
    assert [(r.score, r.error_kind) for r in scores] == [(1.0, None), (None, "binding")]
    with pytest.raises(guerdon.RewardError, match="must be text or a number, not None"):
        math.func(box("18"), None)


def test_an_unknown_place_is_an_error() -> None:
    result = math("42", "42", extract="box")
    assert result.error_kind == "input"
    assert 'extract knows boxed, hashes, tag, phrase, label, last, not "box"' in str(result.error)


def test_the_reason_names_both() -> None:
    assert math(box("41"), "42").reason == '"41" is not "42"'
    assert math(box("41 is not it"), "42").reason == 'the answer "41 is not it" makes a statement (is, not)'


@pytest.mark.sample(1, seconds=2)
@pytest.mark.parametrize("answer", [r"\gcd(9^{9^9}, 3)", r"\gcd(9^{9^{9^9}}, 3)"])
def test_what_never_ends_fails_at_the_deadline_and_costs_no_other_sample(answer: str) -> None:
    rows = rows_of([(box("5"), "5", ""), (box(answer), "5", ""), (box("4"), "5", "")])
    scores = guerdon.score(math, rows, timeout=2, workers=1)
    assert [(r.score, r.error_kind) for r in scores] == [(1.0, None), (None, "timeout"), (0.0, None)]


@pytest.mark.slow(seconds=6)
def test_direct_calls_hold_the_deadline_in_threads_too() -> None:
    quick = guerdon.reward_function(timeout=2.0)(math.func)
    started = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        # math-verify reads this and does not come back.
        responses = (box(r"\gcd(9^{9^9}, 3)"), "A: 5", "A: 4", box("5"))
        calls = [pool.submit(quick, response, "5") for response in responses]
        results = [call.result() for call in calls]
    assert [(r.score, r.error_kind) for r in results] == [
        (None, "timeout"),
        (1.0, None),
        (0.0, None),
        (1.0, None),
    ]
    assert time.monotonic() - started < 60


def gsm8k(data_dir: Path) -> tuple[list[dict[str, Any]], list[float]]:
    text = (data_dir / "gsm8k_model_solutions_dev.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.split("\n") if line]
    assert len(rows) == 1600
    cases = [(row["response"], row["gold"], row["question"]) for row in rows]
    return rows_of(cases), [float(row["label"]) for row in rows]


def test_gsm8k_every_verdict_equals_its_label(data_dir: Path) -> None:
    rows, labels = gsm8k(data_dir)
    assert guerdon.score("guerdon.rewards.math.reward:math", rows).scores == labels


@pytest.mark.slow(seconds=6)
def test_gsm8k_in_a_thread_and_as_a_closure(data_dir: Path) -> None:
    rows, labels = gsm8k(data_dir)
    bonus = 0.25

    def closed(response: str, ground_truth: str) -> float:
        return math(response, ground_truth).unwrap() + bonus

    found: dict[str, list[float | None]] = {}

    def run() -> None:
        found["plain"] = guerdon.score(math, rows).scores
        found["closed"] = guerdon.score(closed, rows).scores

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    assert found["plain"] == labels
    assert found["closed"] == [label + 0.25 for label in labels]


@pytest.mark.slow(seconds=4)
def test_gsm8k_solutions_of_people_as_ground_truth(data_dir: Path) -> None:
    lines = (data_dir / "gsm8k_train_1000.jsonl").read_text(encoding="utf-8").split("\n")
    answers = [json.loads(line)["answer"] for line in lines if line]
    golds = [answer.rpartition("####")[2].strip() for answer in answers]
    pairs = list(zip(golds, answers, strict=True))
    right = [(f"A: {gold}", answer, "") for gold, answer in pairs]
    wrong = [(f"A: {gold}1", answer, "") for gold, answer in pairs]
    assert guerdon.score(math, rows_of(right)).scores == [1.0] * len(right)
    assert guerdon.score(math, rows_of(wrong)).scores == [0.0] * len(wrong)


@pytest.mark.slow(seconds=5)
def test_math_golds_equal_themselves_and_no_known_hole_is_paid(data_dir: Path) -> None:
    lines = (data_dir / "math_test_golds_dev.jsonl").read_text(encoding="utf-8").split("\n")
    golds = [gold for line in lines if line and isinstance(gold := json.loads(line)["answer"], str)]
    assert len(golds) > 1490
    itself = guerdon.score(math, rows_of([(box(gold), gold, "") for gold in golds]))
    assert itself.scores == [1.0] * len(golds)
    golds = golds[::4]
    holes = [r"%s \text{ is wrong}", "7777=%s", "%s+1"]
    for hole in holes:
        paid = guerdon.score(math, rows_of([(box(hole % gold), gold, "") for gold in golds]))
        assert paid.scores == [0.0] * len(golds), hole
    percent = [gold for gold in golds if gold != "0" and "%" not in gold]
    paid = guerdon.score(math, rows_of([(box(gold + r"\%"), gold, "") for gold in percent]))
    assert paid.scores == [0.0] * len(percent)


def test_without_the_extra_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['math_verify'] = None\n"
        "from guerdon.rewards.math.reward import math\n"
        "import guerdon\n"
        "rows = [{'messages': [{'role': 'assistant', 'content': '4'}], 'ground_truth': '4'}]\n"
        "guerdon.score(math, rows, workers=0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'the math reward needs an extra: pip install "guerdon[math]"' in done.stderr.splitlines()[-1]


def test_the_library_is_loaded_by_a_call_only_and_does_not_speak() -> None:
    code = (
        "import sys\n"
        "from guerdon.rewards.math.reward import math\n"
        "assert not {'sympy', 'math_verify'} & set(sys.modules)\n"
        "assert math.func(r'\\boxed{\\sqrt{4}}', '2').score == 1\n"
        "assert 'sympy' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
