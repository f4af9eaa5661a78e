"""Numbers as they come in: which are taken, and the words for the others."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy
import pytest
from pydantic import ValidationError

from guerdon import (
    EvaluateResult,
    MetricResult,
)
from guerdon.checks import finite


class Scalar:
    """What numpy's and torch's scalars have of a number."""

    def __init__(self, value: float | BaseException) -> None:
        self.value = value

    def __float__(self) -> float:
        if isinstance(self.value, BaseException):
            raise self.value
        return self.value


# Numbers


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.5, 0.5),
        (3, 3.0),
        (-3, -3.0),
        (True, 1.0),
        (2**1000, float(2**1000)),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (Scalar(0.75), 0.75),
        (-0.0, 0.0),
        (5e-324, 5e-324),
        *((kind(0.5), 0.5) for kind in (numpy.float16, numpy.float32, numpy.array)),
        *((numpy.int8(3), 3.0), (numpy.bool_(True), 1.0), (numpy.array(0.5, dtype=object), 0.5)),
    ],
)
def test_numbers(value: Any, number: float) -> None:
    found = finite(value)
    assert (found, type(found)) == (number, float)
    assert EvaluateResult(value).score == MetricResult(value).score == number


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, 10**400, -(10**5000), 1j, "0.5", "nan", b"1", bytearray(b"1")),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Scalar(math.nan), Scalar(math.inf)),
        *(object(), [], [0.5], {}, {"score": 1}, float, len),
        *(numpy.complex64(1 + 2j), numpy.complex128(1j), numpy.timedelta64(5, "ns"), numpy.void(b"1")),
        *(numpy.array("0.5"), numpy.array("0.5", dtype=object), numpy.array(b"1"), numpy.str_("1")),
        *(Scalar(e) for e in (ValueError("v"), TypeError("t"), RuntimeError("r"), KeyError("k"))),
        *(Scalar(e) for e in (ZeroDivisionError("z"), OverflowError("o"), RecursionError("d"))),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_number_is_refused_in_one_short_line(value: Any) -> None:
    with pytest.raises(ValueError, match=r"^the thing must be ") as caught:
        finite(value, "the thing")
    assert len(str(caught.value)) < 200
    for build in (
        EvaluateResult,
        MetricResult,
        lambda v: EvaluateResult(0.0, metrics={"m": MetricResult(v)}),
    ):
        with pytest.raises(ValidationError):
            build(value)
