"""The rewards that trainers are given in their own environments: right and wrong answers, failures, slow calls.

They say so where a column does not arrive as the Python value that the data set has: a failure with "column" in it.
"""

import asyncio
import time

from guerdon import reward_function, weighted


def checked(levels, flag, note):
    values = (levels, flag, note)
    if [type(value) for value in values] != [list, bool, str] or type(levels[0]) is not int:
        raise TypeError(f"a column is no plain value: {values!r}")


def graded(response, ground_truth):
    if response == "bad":
        raise ValueError("asked to fail")
    return float(response == ground_truth)


@reward_function
def right(response, ground_truth, levels, flag, note):
    """One for the ground truth; "bad" fails and "hang" never ends."""
    checked(levels, flag, note)
    if response == "hang":
        time.sleep(120)
    return graded(response, ground_truth)


@reward_function
def right_form(response):
    """A name like the other's: one for a response that is a number."""
    return float(response.isdigit())


@reward_function
def score(response):
    """Named like a key of the trainers' own: a tenth for each character."""
    return len(response) / 10


combined = weighted({right: 0.5, right_form: 0.25, score: 0.25}).with_name("combined")


@reward_function
async def right_async(response, ground_truth, levels, flag, note):
    """The same as ``right``, for an event loop; each call takes a quarter of a second."""
    checked(levels, flag, note)
    await asyncio.sleep(120 if response == "hang" else 0.25)
    return graded(response, ground_truth)
