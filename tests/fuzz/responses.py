"""Any response gets a score from the rewards that read answers: never an error, never outside 0 to 1."""

from __future__ import annotations

from typing import Any

from guerdon import Sample, get_reward_function

_ROWS: dict[str, dict[str, Any]] = {
    "bleu": {"ground_truth": "the cat sat on the mat"},
    "contains": {"ground_truth": "Paris"},
    "diversity": {},
    "exact_match": {"ground_truth": "Paris"},
    "format": {},
    "instructions": {
        "instruction_id_list": [
            "detectable_format:json_format",
            "punctuation:no_comma",
            "startend:quotation",
            "detectable_format:title",
            "length_constraints:number_sentences",
        ],
        "kwargs": [{}, {}, {}, {}, {"relation": "at least", "num_sentences": 2}],
    },
    "json_schema": {
        "json_schema": {
            "type": "object",
            "properties": {"n": {"type": "integer", "multipleOf": 2}},
            "required": ["n"],
        }
    },
    "keywords": {"keywords": ["Paris", "box"]},
    "math": {"ground_truth": r"\frac{3}{4}"},
    "multiple_choice": {"ground_truth": "B"},
    "number_list": {"ground_truth": "[1, 2.5]"},
    "reasoning_steps": {},
    "repetition": {},
    "rouge": {"ground_truth": "the cat sat on the mat"},
    "short_answer": {"ground_truth": "Vistula river"},
    "token_f1": {"ground_truth": "the river Vistula"},
    "tool_calls": {"ground_truth": [{"name": "add", "arguments": {"a": 1}}]},
}
_REWARDS = {name: get_reward_function(name) for name in _ROWS}

SEEDS = [
    b"The answer is \\boxed{\\frac{3}{4}}.",
    b"<think>\n1 + 2 = 3\n</think>\n<answer>0.75</answer>",
    b"\\boxed{\\{(1,2),[3,4)\\}} or $x^2-1=\\sqrt[3]{8}$, so 1e5 km/h",
    b'```json\n{"n": 4, "m": [1, null, "a\\u00e9"]}\n```',
    b'<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>',
    b"add(a=1)\n[add(a=1.0), add(a='x')]",
    b"It is (B), not C. Final answer: **B**",
    "Perhaps the Vistula — “Wisła” – or\u00a0the Oder; 3½ × 10⁻³".encode(),
    b"A) Paris\nB) Rome\n\nAnswer: B",
]


def check(data: bytes) -> None:
    response = data.decode("utf-8", "replace")
    for name, row in _ROWS.items():
        truth = row.get("ground_truth")
        columns = {column: value for column, value in row.items() if column != "ground_truth"}
        messages = [{"role": "assistant", "content": response}]
        result = _REWARDS[name].evaluate(Sample(messages=messages, ground_truth=truth, metadata=columns))
        assert result.error is None, f"{name}: {result.error}"
        assert result.score is not None, name
        assert 0 <= result.score <= 1, f"{name}: {result.score}"
