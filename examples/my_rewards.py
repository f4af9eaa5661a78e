import re


def last_number(response: str, ground_truth: str) -> bool:
    """Whether the last number of the response is the right one."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", response)
    return bool(numbers) and float(numbers[-1]) == float(ground_truth)


def brief(response: str) -> float:
    """Full score up to 20 words, none from 60 on."""
    return min(1.0, max(0.0, (60 - len(response.split())) / 40))
