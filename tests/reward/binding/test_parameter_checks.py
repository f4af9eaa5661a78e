"""Values of parameters are held to their annotations once, where a reward is made."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import numpy
import pytest

from guerdon import RewardFunction, get_reward_function, reward_function
from guerdon.errors import BindingError, InputError
from guerdon.reward.binding.parameter_checks import check_values, fits


class Unit(enum.Enum):
    WORDS = "words"
    LETTERS = "letters"


@pytest.mark.parametrize(
    ("hint", "right", "wrong"),
    [
        (Any, [1, None, object()], []),
        (bool, [True, numpy.bool_(False)], [1, "true", None]),
        (int, [3, numpy.int64(3)], [True, 3.0, "3", None]),
        (float, [3, 0.5, numpy.float32(1)], [True, "0.5", None, 1j]),
        (str, ["a", numpy.str_("a")], [3, b"a", None]),
        (Path, ["a", Path("a")], [3]),
        (Optional[int], [3, None], ["3"]),  # noqa: UP045
        (Union[int, str], [3, "a"], [0.5]),  # noqa: UP007
        (int | None, [3, None], ["3"]),
        (Literal["a", 1], ["a", 1], ["b", True, "1"]),
        (Annotated[int, "x"], [3], ["3"]),
        (Unit, [Unit.WORDS, "letters"], ["sentences", 3]),
        (list[str], [["a"], ("a",), []], ["a", [1], {"a": 1}, 3]),
        (Sequence[float], [[1, 0.5]], ["12", [None]]),
        (tuple[int, int], [(1, 2), [1, 2]], [(1,), (1, 2, 3), ("a", "b")]),
        (dict[str, float], [{"a": 1}], [["a"], {"a": "b"}, {1: 1}]),
        (Mapping[str, Any], [{}], ["a", []]),
        (Callable[..., float], [len], [3, "len"]),
        (os.PathLike, ["a"], [3]),
    ],
)
def test_values(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    assert [fits(value, hint) for value in right] == [True] * len(right)
    assert [fits(value, hint) for value in wrong] == [False] * len(wrong)


def brief(
    response: str,
    most: int = 9,
    unit: Literal["words", "letters"] = "words",
    tags: list[str] = None,  # type: ignore[assignment]  # noqa: RUF013
    more: Any = 3,
) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"most": "many"}, "brief: most must be a whole number, not 'many'"),
        ({"unit": "word"}, "brief: unit must be 'words' or 'letters', not 'word'; did you mean 'words'?"),
        ({"tags": "a"}, "brief: tags must be a list of texts, not 'a'"),
        ({"moat": 3}, "brief has no parameter 'moat'; did you mean 'most'?"),
    ],
)
def test_a_reward_is_not_made_with_what_does_not_fit(given: dict[str, Any], says: str) -> None:
    for make in (RewardFunction, get_reward_function):
        with pytest.raises(BindingError) as raised:
            make(brief, **given)
        assert str(raised.value) == says


def test_what_has_no_annotation_takes_anything_and_a_default_fits() -> None:
    assert RewardFunction(brief, more="x", tags=None, most=3)(response="").score == 1.0
    check_values("f", lambda a: a, {"a": object()})


def test_classes_are_held_to_theirs() -> None:
    class Judge:
        def __init__(self, most: int = 3) -> None:
            self.most = most

        def __call__(self, response: str, least: int = 1) -> float:
            return 1.0

    for name in ("most", "least"):
        with pytest.raises(BindingError, match=f"{name} must be a whole number"):
            RewardFunction(Judge, **{name: "x"})


def test_a_check_of_the_author_decides() -> None:
    def check(most: Any = 3, **_: Any) -> None:
        if int(most) > 5:
            raise InputError("most must be 5 or less")

    reward = reward_function(check=check)(brief)
    assert RewardFunction(reward, most="4").parameters == {"most": "4"}
    with pytest.raises(InputError, match="5 or less"):
        RewardFunction(reward, most=6)
    with pytest.raises(BindingError, match="a parameter does not fit: ValueError"):
        RewardFunction(reward, most="many")
