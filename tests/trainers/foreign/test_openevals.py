"""Evaluators in the form of OpenEvals."""

from __future__ import annotations

from typing import Any

from guerdon.trainers.foreign.openevals import from_openevals


def test_any_function_in_the_form_of_openevals_will_do() -> None:
    def near(*, outputs: str, reference_outputs: str, unit: str = "") -> dict[str, Any]:
        return {"key": "near", "score": float(outputs == reference_outputs + unit), "comment": "as it is"}

    result = from_openevals(near)(response="4 m", ground_truth="4", unit=" m")
    assert (result.score, result.reason) == (1.0, "as it is")
