"""A folder as a metric: ``evaluate`` in ``main.py`` measures how relevant an answer is to its question.

guerdon preview --metrics-folders "relevance=examples/relevance" --samples examples/conversations.jsonl
"""

from __future__ import annotations

import re

from guerdon import EvaluateResult, Message, MetricResult, reward_function

COMMON = frozenset(
    {
        *("about", "does", "each", "from", "give", "have", "just", "many", "much", "that", "them", "then"),
        *("there", "they", "this", "were", "what", "when", "where", "which", "will", "with", "would", "your"),
    }
)
COVERAGE_WEIGHT = 0.7


def topics(text: str) -> set[str]:
    """The content words, without a plural s and cut to five letters."""
    words = re.findall(r"[a-z]{4,}", text.lower())
    return {word.removesuffix("s")[:5] for word in words if word not in COMMON}


@reward_function
def evaluate(messages: list[Message]) -> EvaluateResult:
    """Seven tenths for the share of the question's topics in the answer, three tenths for keeping to them."""
    question = topics(" ".join(m.text for m in messages[:-1] if m.role == "user"))
    if not question:
        return EvaluateResult(reason="the question has no topic to keep to")
    answer = messages[-1].text
    covered = question & topics(answer)
    sentences = [part for part in re.split(r"[.!?\n]+\s*", answer) if part.strip()]
    on_topic = [part for part in sentences if topics(part) & question]
    coverage = len(covered) / len(question)
    focus = len(on_topic) / len(sentences) if sentences else 0.0
    return EvaluateResult(
        COVERAGE_WEIGHT * coverage + (1 - COVERAGE_WEIGHT) * focus,
        reason=f"{len(covered)} of {len(question)} topics come up",
        metrics={
            "coverage": MetricResult(coverage, reason=", ".join(sorted(covered)) or "none of the topics"),
            "focus": MetricResult(
                focus, reason=f"{len(on_topic)} of {len(sentences)} sentences keep to them"
            ),
        },
    )
