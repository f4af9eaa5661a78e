"""Final answers: where in a response they stand, which of several counts, and what speaks against it."""

from __future__ import annotations

import time

import pytest

from guerdon.rewards.answers.final import PLACES, FinalAnswer, final_answer, readable

# Response, the text of the answer, how its place is called.
FOUND: list[tuple[str, str, str]] = [
    # Boxes.
    (r"So \boxed{42}.", "42", "box"),
    (r"So $\boxed{\frac{1}{2}}$", r"\frac{1}{2}", "box"),
    (r"\boxed {\{1, 2\}}", r"\{1, 2\}", "box"),
    (r"\boxed 7", "7", "box"),
    (r"\boxed7.", "7", "box"),
    (r"$\boxed{50}$ %", r"50\%", "box"),
    (r"\boxed{50} percent", r"50\%", "box"),
    (r"\boxed{a = \boxed{42}}", "42", "box"),
    (r"\boxed{Let us see: 41. It is 42.", "42", "the last number"),
    ("\\boxed{\nx\n}", "x", "box"),
    (r"\boxed{42}, no 3 of which are equal", "42", "box"),
    # Where the slot is only spoken of.
    (r"I put it in \boxed{}. It is \boxed{42}.", "42", "box"),
    (r"It is \boxed{42}, as you wanted in \boxed{...}", "42", "box"),
    (r"I put it in \boxed{answer}: the answer is 42.", "42", "the answer is"),
    ("I put it in <answer> tags. <answer>42</answer>", "42", "<answer>"),
    ("I put it in <answer> tags. The answer is 42.", "42", "the answer is"),
    ("Between <answer> and </answer>: <answer>42</answer>", "42", "<answer>"),
    ("I use `<answer>`. It is 42.", "42", "the last number"),
    # Tags.
    ("<answer> 42 </answer>", "42", "<answer>"),
    ("<final_answer>42</final_answer>", "42", "<answer>"),
    ("<Answer>42</Answer>", "42", "<answer>"),
    (r"<answer>\boxed{42}</answer>", "42", "box"),
    ("<answer>The answer is 42.</answer>", "42", "the answer is"),
    ("<answer>\n#### 42\n</answer>", "42", "####"),
    # Lines of GSM8K.
    ("6 * 7 = <<6*7=42>>42\n#### 42", "42", "####"),
    ("#### 2 apples\n#### 3. Step\nIt is 42", "2 apples", "####"),
    ("#### 2 apples for each of them\nIt is 42", "42", "the last number"),
    # Sentences.
    ("The answer is 42.", "42", "the answer is"),
    ("The final answer is: $42$.", "42", "the answer is"),
    ("So the answer would be 42 eggs.", "42", "the answer is"),
    ("Our answer equals 42", "42", "the answer is"),
    ("The answer to the problem is 42.", "42", "the answer is"),
    ("The answer turns out to be **42**.", "42", "the answer is"),
    ("The answer is **42** eggs.", "42", "the answer is"),
    ("The answers are $2$ and $3$.", "2, 3", "the answer is"),
    ("The answer is $2$, $3$, and $5$.", "2, 3, 5", "the answer is"),
    ("The answer is $5$, $3$ more than before.", "5", "the answer is"),
    ("The answer is 10 minutes and 30 seconds.", "10 minutes and 30 seconds", "the answer is"),
    ("The answer is:\n\n\\[\n\\frac{1}{2}\n\\]", r"\frac{1}{2}", "the answer is"),
    ("The answer is the number 42.", "42", "the answer is"),
    ("The answer is 12 a day. In a week the answer is 84.", "84", "the answer is"),
    ("The answer is 12 a day, in a week \\boxed{84}.", "84", "box"),
    ("Answer: 7\nCheck: the answer is right because 3 + 5 = 8.", "7", "Answer:"),
    ("The answer is between 3 and 7.", "between 3 and 7", "the answer is"),
    # Labels.
    ("Final answer: 42 eggs", "42", "Answer:"),
    ("So the final answer: $\\frac12$.", r"\frac12", "Answer:"),
    ("**Answer**: 42", "42", "Answer:"),
    ("**Answer:** 42", "42", "Answer:"),
    ("**Final Answer**\n\n$42$", "42", "Answer:"),
    ("## Final Answer\n\n$42$", "42", "Answer:"),
    ("- Answer: 42", "42", "Answer:"),
    ("the answer = 42", "42", "Answer:"),
    ("Final Answer: The final answer is $42$. I hope it is correct.", "42", "the answer is"),
    ("Step 1 answer: 5\nStep 2 answer: 9", "9", "the last number"),
    # Other languages.
    ("La respuesta final es 42.", "42", "the answer is"),
    ("La réponse est $42$.", "42", "the answer is"),
    ("Die Antwort lautet 42.", "42", "the answer is"),
    ("La risposta è 42.", "42", "the answer is"),
    ("答案是42。", "42", "the answer is"),
    ("答案：42", "42", "Answer:"),
    ("Réponse finale : 42", "42", "Answer:"),
    ("**Respuesta:** 42", "42", "Answer:"),
    ("Ответ: 42", "42", "Answer:"),
    # What stands last.
    ("Therefore, x = 42.", "42", "the last number"),
    ("Therefore, x = sqrt(3)/2.", "sqrt(3)/2", "the last formula"),
    ("So it is 2^10.", "2^10", "the last formula"),
    (r"So it is \frac{3}{4}.", r"\frac{3}{4}", "the last formula"),
    ("(6,31,-1)", "(6,31,-1)", "the last formula"),
    ("We list them:\n- 1,-3", "1,-3", "the last formula"),
    ("- 42", "42", "the last number"),
    ("1. 42", "42", "the last number"),
    (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "the last formula"),
    (r"So it is $99\pi \text{ square inches}$.", r"99\pi \text{ square inches}", "the last formula"),
    (
        r"The answer is \begin{pmatrix} 1 \\ 2 \end{pmatrix}.",
        r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}",
        "the answer is",
    ),
    ('{"answer": "42", "note": "41"}', "42", "Answer:"),
    ('{"note": 41, "answer": 42}', "42", "Answer:"),
    ("It is $x = 42$, as was said.", "x = 42", "the last formula"),
]

# Response, the answer, the alternatives, all answers together.
ALTERNATIVES: list[tuple[str, str, tuple[str, ...], str]] = [
    (r"\boxed{7} \boxed{8}", "8", ("7",), "7, 8"),
    (r"\boxed{7} and then \boxed{8}", "8", ("7",), ""),
    (r"\boxed{1/2}, that is \boxed{0.5}", "0.5", ("1/2",), ""),
    (r"$x = \boxed{2}$ and $y = \boxed{3}$.", "3", ("2",), "2, 3"),
    (r"\boxed{2}, \boxed{3} or \boxed{5}", "5", ("2", "3"), "2, 3, 5"),
    ("(a) \\boxed{2}\n\n(b) \\boxed{3}", "3", (), "2, 3"),
    ("Step 1: the area is \\boxed{2}.\nStep 2: \\boxed{3}", "3", (), ""),
    (r"We get $x = \boxed{2}$. So $x + 1 = \boxed{3}$.", "3", (), ""),
    (r"We get $x = \boxed{2}$. So $x = \boxed{3}$.", "3", ("2",), ""),
    (r"The result is \boxed{2}. The sum is \boxed{3}.", "3", ("2",), ""),
    (r"\boxed{7} So the answer is 8.", "7", ("8",), ""),
    (r"\boxed{7} So the answer is reasonable, 7 being less than 8.", "7", (), ""),
    ("\\boxed{7}\n**Answer:** 7 dollars", "7", ("7",), ""),
    ("The answer is 7.\n\nAnswer: 8", "7", ("8",), ""),
    ("<answer>7</answer> <answer>8</answer>", "8", ("7",), ""),
    (r"\boxed{7} <answer>8</answer>", "7", ("8",), ""),
    ("#### 7\n#### 8", "8", ("7",), ""),
    (r"\boxed{7} or 8", "7", ("8",), "7, 8"),
    (r"7 or \boxed{8}", "8", ("7",), "8, 7"),
    ("It is 7 or 8.", "8", ("7",), ""),
    ("The answer is $7$ or $8$.", "7", ("8",), "7, 8"),
    (r"\boxed{150 \text{ minutes}} or 2.5 hours", r"150 \text{ minutes}", (), ""),
    (r"\boxed{7} or approximately 7.01", "7", (), ""),
    (r"\boxed{7} (or 8)", "7", ("8",), "7, 8"),
    (r"\boxed{7} The answer is B.", "7", (), ""),
    (r"\boxed{7} The answer is (B) 8.", "7", ("8",), ""),
    (r"\boxed{\frac12}. Answer: half", r"\frac12", (), ""),
    (r"\boxed{\text{Monday}} The answer is Tuesday.", r"\text{Monday}", ("Tuesday",), ""),
    (r"\boxed{Monday} The answer is Tuesday.", "Monday", ("Tuesday",), ""),
    # Withdrawn, and so no alternative.
    ("The answer is 7? No, 8.", "8", (), ""),
    ("The answer is 7, no, 8.", "8", (), ""),
    ("The answer is $7$. Just kidding, it is $8$.", "8", (), ""),
    ("My final answer is 8, not 7.", "8", (), ""),
    (r"\boxed{7} is incorrect. The answer is 8.", "8", (), ""),
    (r"\boxed{7}. Hmm, actually the answer is 8.", "8", (), ""),
    (r"\boxed{7}. Let me recompute: \boxed{8}", "8", (), ""),
    (r"\boxed{7}. Wait, there is one more. \boxed{8}", "8", (), ""),
    ("\\boxed{7}\n\nEdit: The answer is 8.", "8", (), ""),
    (r"\boxed{7}. No, that is wrong: \boxed{8}", "8", (), ""),
    (r"\boxed{7}. Wait, I made a mistake. \boxed{8}", "8", (), ""),
    (r"\boxed{7} Scratch that. The answer is 8.", "8", (), ""),
    (r"\boxed{7}, or rather 8.", "8", (), ""),
    (r"The answer is not 7 but \boxed{8}.", "8", (), ""),
    (r"\boxed{7} rather than 8", "7", (), ""),
]

# Response, whether the answer is denied or taken back.
RETRACTED: list[tuple[str, bool]] = [
    (r"\boxed{7}. Wait, that is wrong.", True),
    (r"\boxed{7}. Wait, that's not right.", True),
    (r"\boxed{7}, which is wrong.", True),
    ("The answer is 7. No, I was wrong.", True),
    ("The answer is 7. My answer above is incorrect.", True),
    ("It is 7. Ignore that.", True),
    (r"The answer is not \boxed{7}.", True),
    ("The answer is not 7.", True),
    (r"The answer is not \frac{3}{8}", True),
    ("The answer is not $\\text{Monday}$.", True),
    ("It isn't 7", True),
    (r"\boxed{\text{not } 7}", True),
    (r"\boxed{7}. Let me verify that. It holds.", False),
    (r"\boxed{7}. Is that wrong? No.", False),
    (r"\boxed{7}. That is not wrong.", False),
    (r"\boxed{7}. Is there another? No.", False),
    (r"\boxed{7}. If this is wrong, tell me.", False),
    (r"\boxed{7}. A common mistake is to forget the sign.", False),
    (r"\boxed{7}. Wait, let me check: 3 + 4 = 7.", False),
    (r"\boxed{7}. Some say 8, but they are wrong.", False),
    ("I made a mistake, so again: the answer is 7.", False),
    (r"It is not hard to see that it is \boxed{7}.", False),
]  # fmt: skip

# Spelt out on one side, readable on the other.
READABLE: list[tuple[str, str]] = [
    ("１２ − ５", "12 - 5"),
    ("x⁻¹ + 2112₆", "x^{-1} + 2112_6"),
    ("½π", r"\frac{1}{2}\pi "),
    ("٤٢", "42"),
    ("4\u200b2\u2069\ufeff", "42"),
    ("a\u00a0b\u3000c", "a b c"),
    ("(−∞, 2] ∪ (3, ∞)", r"(-\infty , 2] \cup  (3, \infty )"),
    # Thinking.
    ("<think>41</think>42", "42"),
    ("41</think>42", "42"),
    ("<think>41", ""),
    ("<think>one <think> two</think>42", "42"),
    ("<think>a</think>41</think>42", "42"),
    ("<thinking>41</thinking>42", "42"),
    ("<reasoning>41</reasoning>42", "42"),
    ("<scratchpad>41</scratchpad>42", "42"),
    ("<answer>42</answer><think>41</think>", "<answer>42</answer>"),
    ("I think in <think> tags: 42", "I think in <think> tags: 42"),
    ("<|channel|>analysis<|message|>41<|end|><|start|>assistant<|channel|>final<|message|>42", "42"),
    # Comments, code, tags that are never closed.
    ("42<!-- 41 -->", "42"),
    ("42<!-- 41", "42"),
    ("a\n```python\nprint(41)\n```\nb", "a\n\n\nb"),
    ("a\n```\n42 # 41\n```\nb", "a\n\n42 \n\n\nb"),
    ("a\n```latex\n42\n% 41\n```", "a\n\n42\n\n\n"),
    ("a\n~~~python\n41", "a\n\n"),
    ("a <answer>41", "a "),
    ("<answer>42</answer> <answer>41", "<answer>42</answer> "),
    ("42\n[//]: # (it is 41)", "42\n"),
    ("42\n% \\boxed{41}\n% is a sign", "42\n\n% is a sign"),
    # Turns of others.
    ("42\nuser\n41\nassistant\n42", "42\n\n\n42"),
    ("42<user>41</user>", "42\n"),
    ("42\n### Instruction:\n41", "42\n\n"),
    ("a<tool_call>41</tool_call>b", "a\nb"),
    ("42\nUser: is it 41?", "42\n\n"),
    ("42\n**Human:** 41\nAssistant: 43", "42\n\n 43"),
    ("42<|im_end|>\n<|im_start|>user\n41<|im_end|>", "42\n"),
    ("a<tool_response>41</tool_response>b", "a\nb"),
    ("a<tool_response>41", "a\n"),
    ("A: 42\n\nQ: What else?\nA: 41", "A: 42\n\n"),
    ("Question: What?\nAnswer: 42", "Question: What?\nAnswer: 42"),
    ("It has one user: 42", "It has one user: 42"),
]

N = 200_000
LONG = {
    "boxes never closed": r"\boxed{" * 100_000,
    "boxes within each other": r"\boxed{" * 100_000 + "}" * 100_000,
    "braces": "{" * N + "}" * N,
    "boxes": r"\boxed{7} " * N,
    "tags": "<answer>7</answer>" * 50_000,
    "tags never closed": "<answer>" * N,
    "thoughts": "<think>" * N,
    "comments": "<!--" * N,
    "fences": "```\n" * N,
    "tildes": "~~~~" * N,
    "turns": "User:\n" * N,
    "questions": "A: 7\n" + "Q:\n" * N,
    "sentences": "the answer is " * 70_000,
    "formulas": "the answer is $7$ and " * 50_000,
    "labels": "A: 7\n" * N,
    "lines of hashes": "#### 7\n" * 140_000,
    "alternatives": r"\boxed{7}" + " or 7" * N,
    "interjections": r"\boxed{7}" + " wait, no," * 100_000,
    "denials": "not " * N + r"\boxed{7}",
    "powers": "2^" * N * 2,
    "equations": "= 7 " * N,
    "emphasis": "The answer is **" + "a**" * N,
    "white space": "answer" + " " * 1_000_000 + "is 7",
    "empty lines": "\n" * 1_000_000 + "A: 7",
    "dollar signs": "$" * 1_000_000,
    "parentheses": "The answer is " + r"\(" * N,
    "less than": "<" * 1_000_000,
    "digits": "1" * 1_000_000,
    "raised digits": "²" * 1_000_000,
}


@pytest.mark.parametrize(("response", "text", "how"), FOUND)
def test_where_it_stands(response: str, text: str, how: str) -> None:
    answer = final_answer(readable(response))
    assert answer is not None
    assert (answer.text, answer.how, answer.retracted) == (text, how, False)


@pytest.mark.parametrize(
    "response",
    ["", "no idea", r"\boxed{42", r"\boxed{41 and \boxed{42", "<answer>42", "x2", "<think>42", "<!-- 42 -->"],
)
def test_no_answer(response: str) -> None:
    assert final_answer(readable(response)) is None


@pytest.mark.parametrize(
    "response", [r"That makes 42. \boxed{}", "<answer> </answer>", r"42, \boxed{\text{?}}"]
)
def test_an_empty_slot_holds_no_answer(response: str) -> None:
    answer = final_answer(response)
    assert answer is not None
    assert answer.text == ""


@pytest.mark.parametrize(("response", "text", "alternatives", "together"), ALTERNATIVES)
def test_alternatives(response: str, text: str, alternatives: tuple[str, ...], together: str) -> None:
    answer = final_answer(readable(response))
    assert answer is not None
    assert (answer.text, answer.alternatives, answer.together) == (text, alternatives, together)
    assert not answer.retracted


@pytest.mark.parametrize(("response", "retracted"), RETRACTED)
def test_denied_or_taken_back(response: str, retracted: bool) -> None:
    answer = final_answer(readable(response))
    assert answer is not None
    assert answer.retracted is retracted


@pytest.mark.parametrize(("response", "rest"), READABLE)
def test_what_is_said(response: str, rest: str) -> None:
    assert readable(response) == rest


@pytest.mark.parametrize("response", [r"\boxed{7} and then \boxed{8}", "#### 7\n#### 8", r"7 or \boxed{8}"])
def test_the_last_one_counts_where_that_is_the_policy(response: str) -> None:
    assert final_answer(response, PLACES, "last") == FinalAnswer("8", "####" if "#" in response else "box")


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (("boxed",), "1"),
        (("label",), "3"),
        (("phrase", "boxed"), "2"),
        (("last", "boxed"), "3"),
        (("tag",), None),
    ],
)
def test_the_places_in_their_order(places: tuple[str, ...], text: str | None) -> None:
    answer = final_answer("\\boxed{1}, so the answer is 2.\nA: 3", places, "last")
    assert (answer.text if answer else None) == text


def test_a_tag_says_what_is_in_its_box() -> None:
    answer = final_answer(r"<answer>so \boxed{42}</answer>", ("tag",))
    assert answer is not None
    assert (answer.text, answer.how) == ("42", "<answer>")


def test_right_answers() -> None:
    def right(text: str) -> bool:
        return text in ("7", "7.0", "2, 3")

    assert FinalAnswer("7", "box").is_right(right)
    assert FinalAnswer("7", "box", alternatives=("7.0",)).is_right(right)
    assert not FinalAnswer("7", "box", alternatives=("8",)).is_right(right)
    assert not FinalAnswer("7", "box", retracted=True).is_right(right)
    assert FinalAnswer("3", "box", alternatives=("2",), together="2, 3").is_right(right)
    assert not FinalAnswer("8", "box").is_right(right)


@pytest.mark.sample(10, seconds=1)
@pytest.mark.parametrize("name", LONG)
def test_long_responses_take_linear_time(name: str) -> None:
    started = time.process_time()
    answer = final_answer(readable(LONG[name]))
    # A quadratic pattern takes minutes on these.
    assert time.process_time() - started < 5
    assert answer is None or len(answer.text) <= len(LONG[name])


@pytest.mark.parametrize(
    "response", ["\x00\\boxed{7}", "\ud800\\boxed{7}\udfff", "[" * 10_000 + r"\boxed{7}"]
)
def test_hostile_characters(response: str) -> None:
    answer = final_answer(readable(response))
    assert answer is not None
    assert answer.text == "7"
