"""What is wrapped as a reward, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.errors import BindingError
from guerdon.trainers.foreign.autoevals import from_autoevals
from guerdon.trainers.foreign.deepeval import from_deepeval
from guerdon.trainers.foreign.openevals import from_openevals
from guerdon.trainers.verifiers import from_verifiers


def right(response: str, answer: str) -> bool:
    return response == answer


@pytest.mark.parametrize(
    ("make", "given", "text"),
    [
        (from_verifiers, right, "not a rubric, task or task set of verifiers"),
        (from_autoevals, right, "not a scorer of autoevals"),
        (from_deepeval, right, "not a metric of DeepEval"),
        (from_openevals, 3, "not an evaluator of OpenEvals"),
    ],
)
def test_other_objects_are_refused(make: Any, given: Any, text: str) -> None:
    with pytest.raises(BindingError, match=text):
        make(given)
