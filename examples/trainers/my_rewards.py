import re

from guerdon import EvaluateResult, MetricResult, reward_function


@reward_function
def last_number(response: str, ground_truth: str) -> EvaluateResult:
    """Whether the last number of the response is the right one."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", response)
    if not numbers:
        return EvaluateResult(0.0, "no number")
    right = float(numbers[-1]) == float(ground_truth)
    return EvaluateResult(float(right), f"found {numbers[-1]}", {"numbers": MetricResult(len(numbers))})


def brief(response: str) -> float:
    """Full score up to 20 words, none from 60 on."""
    return min(1.0, max(0.0, (60 - len(response.split())) / 40))
