"""The family of errors: kinds, attributes, pickling."""

from __future__ import annotations

import copy
import pickle

import pytest

from guerdon import errors
from guerdon.errors import RewardError, error_of_kind, kind_of

FAMILY = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, RewardError) and value is not RewardError
]


def test_every_error_has_a_kind_of_its_own_and_is_drawn_in_the_docstring() -> None:
    assert len(FAMILY) == 14
    assert len({cls.kind for cls in FAMILY}) == len(FAMILY)
    drawn = [line.split()[1] for line in str(errors.__doc__).splitlines() if "──" in line]
    assert sorted(drawn) == sorted(cls.__name__ for cls in FAMILY)


@pytest.mark.parametrize("cls", [RewardError, *FAMILY])
def test_an_error_keeps_its_facts_through_a_pickle_and_a_copy(cls: type[RewardError]) -> None:
    error = cls("row 3: no", row=3, path="a.py", seconds=0.5)
    for found in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(found) is cls
        assert (str(found), found.message) == ("row 3: no", "row 3: no")
        assert (found.row, found.path, found.seconds) == (3, "a.py", 0.5)
        assert found.about == {"row": 3, "path": "a.py", "seconds": 0.5}
        with pytest.raises(AttributeError, match=f"{cls.__name__} has no attribute 'nothing'"):
            _ = found.nothing


@pytest.mark.parametrize("cls", FAMILY)
def test_a_recorded_kind_leads_back_to_its_class(cls: type[RewardError]) -> None:
    made = error_of_kind(cls.kind, "text", reward="math")
    assert (type(made), str(made), made.reward, kind_of(made)) == (cls, "text", "math", cls.kind)


@pytest.mark.parametrize("kind", [None, "", "error", "a kind of a later version"])
def test_an_unknown_kind_is_the_root(kind: str | None) -> None:
    assert type(error_of_kind(kind, "text")) is RewardError


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError(), "exception"),
        (MemoryError(), "memory"),
        (RecursionError(), "exception"),
        (SystemExit(2), "exception"),
        (RewardError("x"), "error"),
    ],
)
def test_kinds_of_other_exceptions(error: BaseException, kind: str) -> None:
    assert kind_of(error) == kind


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (errors.BindingError, TypeError),
        (errors.InputError, ValueError),
        (errors.ResolutionError, LookupError),
        (errors.InvalidResultError, ValueError),
        (errors.DeadlineError, TimeoutError),
        (errors.MissingExtraError, ImportError),
    ],
)
def test_errors_are_caught_as_what_they_are_elsewhere(
    cls: type[RewardError], builtin: type[Exception]
) -> None:
    assert issubclass(cls, builtin)
    with pytest.raises(builtin):
        raise cls("x", a=1)


def test_a_missing_extra_is_the_line_that_installs_it() -> None:
    error = errors.MissingExtraError.of("math", "the reward math")
    assert str(error) == 'the reward math needs an extra: pip install "guerdon[math]"'
    assert (error.extra, error.kind) == ("math", "missing_extra")
