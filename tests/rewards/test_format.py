"""``format``: a regular expression for the whole response, or each tag exactly once and in order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon.rewards.format import format as form
from guerdon.testing import assert_cases

RIGHT = "<think>6 × 7</think><answer>42</answer>"


@pytest.mark.parametrize(
    ("response", "given", "score", "reason"),
    [
        # The layout that is the default.
        (RIGHT, {}, 1, "as the template"),
        ("\n <think>a\nb</think>\n\n<answer>\n4</answer>\t\n", {}, 1, "as the template"),
        ("<think></think><answer>4</answer>", {}, 1, "as the template"),
        ("<think></think><answer>\u200b \u00a0</answer>", {}, 0, "says nothing: there is nothing but tags"),
        ("<think>1 < 2 <b>bold</b></think><answer>a > b</answer>", {}, 1, "as the template"),
        ("", {}, 0, "<think> is missing; <answer> is missing"),
        ("42", {}, 0, "<think> is missing; <answer> is missing"),
        ("<answer>42</answer>", {}, 0, "<think> is missing"),
        ("<think>a</think>42", {}, 0, "<answer> is missing"),
        ("<think>a<answer>42</answer>", {}, 0, "<think> is never closed"),
        ("a</think><answer>42</answer>", {}, 0, "<think> is never opened"),
        ("<think>a</think><answer>42", {}, 0, "<answer> is never closed"),
        ("</think>a<think><answer>42</answer>", {}, 0, "<think> is closed before it is opened"),
        ("<answer>42</answer><think>a</think>", {}, 0, "<think> is out of order"),
        ("<think>a<answer>42</answer></think>", {}, 0, "<think> is not closed before the next tag"),
        (RIGHT * 2, {}, 0, "<think> occurs 2 times; <answer> occurs 2 times"),
        ("<think>in <think> tags</think><answer>4</answer>", {}, 0, "<think> occurs 2 times"),
        ("<think>a</think><answer>1</answer><answer>2</answer>", {}, 0, "<answer> occurs 2 times"),
        ("So: " + RIGHT, {}, 0, 'text outside of the tags: "So:"'),
        (RIGHT + " Done.", {}, 0, 'text outside of the tags: "Done."'),
        ("<think>a</think> then <answer>4</answer>", {}, 0, 'text outside of the tags: "then"'),
        ("<Think>a</Think><answer>4</answer>", {}, 0, "<think> is missing"),
        ("<think >a</think><answer>4</answer>", {}, 0, "<think> is never opened"),
        # Cyrillic letters that look alike, and full-width brackets.
        ("<thіnk>a</thіnk><answer>4</answer>", {}, 0, "<think> is missing"),
        ("＜think＞a＜/think＞<answer>4</answer>", {}, 0, "<think> is missing"),
        # Other templates, in every form.
        ("<a>1</a> <b>2</b> <c>3</c>", {"template": ("a", "b", "c")}, 1, "as the template"),
        ("<a>1</a> <b>2</b> <c>3</c>", {"template": "a, b,c"}, 1, "as the template"),
        ("<a>1</a> <b>2</b> <c>3</c>", {"template": '["a", "b", "c"]'}, 1, "as the template"),
        ("<a>1</a> <b>2</b>", {"template": "<a>…</a> <b>…</b>"}, 1, "as the template"),
        ("<b>2</b> <a>1</a>", {"template": "<a>…</a><b>…</b>"}, 0, "<a> is out of order"),
        ("<a>1</a> <b>2</b>", {"template": "a"}, 0, 'text outside of the tags: "<b>2</b>"'),
        ("<x.y>1</x.y>", {"template": "x.y"}, 1, "as the template"),
        ("<xzy>1</xzy>", {"template": "x.y"}, 0, "<x.y> is missing"),
        # Text where it is allowed.
        ("<think>a</think> It is 4.", {"template": "think", "outside": "after"}, 1, "as the template"),
        ("<think>a</think>", {"template": "think", "outside": "after"}, 1, "as the template"),
        ("So <think>a</think> It is 4.", {"template": "think", "outside": "after"}, 0,
         'text before the tags or between them: "So"'),
        ("<think>a</think> so <answer>4</answer> Done.", {"outside": "after"}, 0,
         'text before the tags or between them: "so"'),
        (RIGHT + " Done.", {"outside": "after"}, 1, "as the template"),
        (f"So: {RIGHT} Done.", {"outside": "anything"}, 1, "as the template"),
        ("<think>a</think> 4 <think>b</think>", {"template": "think", "outside": "after"}, 0,
         "<think> occurs 2 times"),
        ("It is 4.", {"template": "think", "outside": "anything"}, 0, "<think> is missing"),
        # In parts: two for each tag, one for all of it.
        (RIGHT, {"scoring": "fraction"}, 1, "as the template"),
        (RIGHT + " Done.", {"scoring": "fraction"}, 0.8, 'text outside of the tags: "Done."'),
        ("a</think><answer>4</answer>", {"scoring": "fraction"}, 0.6, "<think> is never opened"),
        ("<think>a</think>", {"scoring": "fraction"}, 0.4, "<answer> is missing"),
        ("<think>a", {"scoring": "fraction"}, 0.2, "<think> is never closed; <answer> is missing"),
        ("", {"scoring": "fraction"}, 0, "<think> is missing; <answer> is missing"),
        (RIGHT * 2, {"scoring": "fraction"}, 0, "<think> occurs 2 times; <answer> occurs 2 times"),
        ("<think>a</think><answer>4</answer><answer>", {"scoring": "fraction"}, 0.4, "<answer> occurs 2 times"),
        ("<think>" * 50, {"scoring": "fraction"}, 0, "<think> is never closed; <answer> is missing"),
        ("</think>a<think>", {"scoring": "fraction"}, 0, "<think> is closed before it is opened; <answer> is missing"),
        # What the prompt opened.
        ("a</think><answer>4</answer>", {"prefix": "<think>"}, 1, "as the template"),
        (RIGHT, {"prefix": "<think>"}, 0, "<think> occurs 2 times"),
        # Regular expressions.
        ("42", {"pattern": "[0-9]+"}, 1, "matches the pattern"),
        ("42\n", {"pattern": "[0-9]+"}, 1, "matches the pattern"),
        ("42\n\n", {"pattern": "[0-9]+"}, 0, 'does not match as a whole: "[0-9]+"'),
        ("42 ", {"pattern": "[0-9]+"}, 0, 'does not match as a whole: "[0-9]+"'),
        ("abc", {"pattern": "^a"}, 0, 'does not match as a whole: "^a"'),
        ("abc", {"pattern": "^a", "anywhere": True}, 1, "matches the pattern"),
        ("abc", {"pattern": "^b", "anywhere": "true"}, 0, 'nowhere matches: "^b"'),
        ("a\nb", {"pattern": "a.b"}, 1, "matches the pattern"),
        ("a\nb", {"pattern": r"a[^\n]b"}, 0, r'does not match as a whole: "a[^\n]b"'),
        ("", {"pattern": ""}, 1, "matches the pattern"),
        ("b", {"pattern": "ab", "prefix": "a"}, 1, "matches the pattern"),
        # Hostile ones.
        ("x" * 1_000_000, {}, 0, "<think> is missing; <answer> is missing"),
        ("<think>" * 100_000, {}, 0, "<think> is never closed; <answer> is missing"),
        ("<think>" + "[" * 10_000 + "</think><answer>\x00\ud800</answer>", {}, 1, "as the template"),
        (RIGHT + "\x00\ud800", {}, 0, r'text outside of the tags: "\x00\ud800"'),
    ],
)  # fmt: skip
def test_score(response: str, given: dict[str, Any], score: float, reason: str) -> None:
    result = form(response, **given)
    assert (result.score, result.reason) == (score, reason)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"pattern": "(a"}, 'the pattern "(a" is not a regular expression: missing )'),
        ({"pattern": "a{1000000000000}"}, "is not a regular expression"),
        ({"pattern": 42}, "pattern must be text, not 42; quote it"),
        ({"pattern": "a", "template": "a"}, "give either a pattern or a template"),
        ({"anywhere": True}, "anywhere belongs to a pattern"),
        ({"pattern": "a", "anywhere": "sometimes"}, 'anywhere must be true or false, not "sometimes"'),
        ({"template": ()}, "a template names one or more tags"),
        ({"template": "think,think"}, "each of them once"),
        ({"template": "<a>…</a><a>…</a>"}, "each of them once"),
        ({"template": "<a>…</b>"}, "must be a row of tags"),
        ({"template": "<a>…"}, "must be a row of tags"),
        ({"template": "a b"}, '"a b" is not a name for a tag'),
        ({"template": 1.5}, "template must be a list of texts"),
        ({"prefix": 3}, "prefix must be text, not 3"),
        ({"outside": "before"}, 'outside must be one of nothing, after, anything, not "before"'),
        ({"scoring": "half"}, 'scoring must be one of all, fraction, not "half"'),
        ({"pattern": "a", "scoring": "fraction"}, "outside and scoring belong to a template"),
        ({"pattern": "a", "outside": "after"}, "outside and scoring belong to a template"),
    ],
)
def test_a_form_that_makes_no_sense_is_an_error(given: dict[str, Any], says: str) -> None:
    result = form(RIGHT, **given)
    assert (result.score, result.error_kind) == (None, "input")
    assert says in str(result.error)


def test_cases() -> None:
    assert_cases("guerdon.rewards.format:format", Path(__file__).parent / "cases" / "format.jsonl")


def test_a_metric_for_each_tag() -> None:
    metrics = form("<think>a</think><answer>4").metrics
    assert {name: (m.score, m.reason) for name, m in metrics.items()} == {
        "<think>": (1.0, "in order"),
        "<answer>": (0.0, "is never closed"),
    }
    outside = form(RIGHT + "!").metrics["outside"]
    assert (outside.score, outside.success, outside.reason) == (0.0, False, 'text outside of the tags: "!"')


def test_a_pattern_that_backtracks_without_end_fails_at_the_deadline() -> None:
    rows = [{"messages": [{"role": "assistant", "content": text}]} for text in ("a" * 40 + "!", "aaa")]
    scores = guerdon.score("guerdon.rewards.format:format", rows, pattern="(a+)+", timeout=1, workers=1)
    assert [(result.score, result.error_kind) for result in scores] == [(None, "timeout"), (1.0, None)]
