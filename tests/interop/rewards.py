"""The reward that every peer serves in its own form, here as guerdon serves it."""

from guerdon import EvaluateResult, MetricResult, reward_function


@reward_function
def scary(response, ground_truth=None, scary_letter=None):
    """One point for a response without the scary letter, which is given by its name or as the ground truth."""
    letter = scary_letter or ground_truth
    if response == "raise":
        raise ValueError("asked to raise")
    count = response.count(letter)
    metric = MetricResult(1 / (1 + count), success=count == 0, reason=f"{count} of {letter}")
    return EvaluateResult(float(count == 0), f"{count} scary letters", {"count": metric})
