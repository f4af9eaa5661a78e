"""Any response gets a score from the rewards that read answers: never an error, never outside 0 to 1."""

from __future__ import annotations

from typing import Any

from guerdon import Sample, get_reward_function

_SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "multipleOf": 2}}, "required": ["n"]}
_TRUTHS: dict[str, Any] = {
    "contains": "Paris",
    "exact_match": "Paris",
    "format": None,
    "json_schema": None,  # it has a column of its own
    "math": r"\frac{3}{4}",
    "multiple_choice": "B",
    "short_answer": "Vistula river",
    "tool_calls": [{"name": "add", "arguments": {"a": 1}}],
}
_REWARDS = {name: get_reward_function(name) for name in _TRUTHS}

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
    for name, truth in _TRUTHS.items():
        row = {"json_schema": _SCHEMA} if name == "json_schema" else {}
        sample = Sample(
            messages=[{"role": "assistant", "content": response}], ground_truth=truth, metadata=row
        )
        result = _REWARDS[name].evaluate(sample)
        assert result.error is None, f"{name}: {result.error}"
        assert result.score is not None, name
        assert 0 <= result.score <= 1, f"{name}: {result.score}"
