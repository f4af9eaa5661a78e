"""What other packages' rewards and scorers share once they are behind a RewardFunction."""

from __future__ import annotations

import functools
import inspect
import re
from abc import abstractmethod
from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any, ClassVar

from guerdon.errors import BindingError
from guerdon.reward.binding.conventions import MISSING, POINTWISE
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import CallArguments
from guerdon.reward.versioning.fingerprint import fingerprint
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.types import EvaluateResult, Sample


class ForeignScorer(Scorer):
    """An object of another package, called as that package calls it.

    It scores one sample at a time. What the object raises is its sample's failure, as with any reward.
    """

    package: ClassVar[str]
    """The distribution that the object comes from; its release is part of the version."""

    def __init__(self, name: str, target: Any, fixed: Mapping[str, Any]) -> None:
        self.name = name
        self.wrapped = target
        self._fixed = dict(fixed)

    @abstractmethod
    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        """The verdict on one sample; only called where ``is_async``."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._fixed

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        return [
            self.package,
            fingerprint_data_of(self.wrapped, self.package, snapshot),
            fingerprint(self._fixed),
        ]


def fingerprint_data_of(target: Any, package: str, snapshot: DependencySnapshot) -> Any:
    """What decides the verdicts of an object: its source where it is the user's own, else its package's release.

    What a function closed over and what an instance holds count in either case.
    """
    owner = _owner(target)
    if (getattr(owner, "__module__", None) or "").partition(".")[0] != package:
        return fingerprint(target, owner, snapshot)
    held: Any = None
    if isinstance(owner, FunctionType):
        cells = zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True)
        held = {name: _held(cell) for name, cell in cells}
    if isinstance(target, MethodType):
        held = [held, _state(target.__self__)]
    elif owner is type(target):
        held = _state(target)
    # ForeignScorer as the home: the package's own functions are pictured, what they refer to is not.
    return [release_of(package), owner.__qualname__, fingerprint(held, ForeignScorer, snapshot)]


def _owner(target: Any) -> Any:
    """The function or the class behind a target, whose module tells the package."""
    if isinstance(target, functools.partial):
        return _owner(target.func)
    if isinstance(target, MethodType):
        return target.__func__
    return target if isinstance(target, type | FunctionType) else type(target)


def _state(instance: Any) -> dict[str, Any]:
    """What an instance holds, without names that it made of its own address."""
    address = str(id(instance))
    held = vars(instance).items()
    return {name: value for name, value in held if not (isinstance(value, str) and address in value)}


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled in yet
        return None


@functools.cache
def release_of(package: str) -> str:
    """The installed release of a distribution; empty where it is not installed as one."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def slug(text: str) -> str:
    """A name in the form of a reward's.

    >>> slug("Exact Match"), slug("JSONDiff"), slug("ExactMatchMetric")
    ('exact_match', 'json_diff', 'exact_match_metric')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text)
    return re.sub(r"\W+", "_", spaced).strip("_").lower() or "reward"


def truth_of(sample: Sample) -> Any:
    """The ground truth, else the answer; None where a sample has neither."""
    value = POINTWISE["ground_truth"](sample)
    return None if value is MISSING else value


def columns_of(sample: Sample, explicit: CallArguments) -> dict[str, Any]:
    """The columns of a sample, with the arguments of a direct call."""
    return {str(name): value for name, value in {**sample.metadata, **explicit}.items()}


def instantiate(cls: type, fixed: Mapping[str, Any]) -> Any:
    """An instance of a class of another package. Raises BindingError where it cannot be made."""
    try:
        return cls(**fixed)
    except Exception as error:  # the edge to the other package's constructor
        raise BindingError(f"cannot make a {cls.__name__}: {error}") from error


def refuse_parameters(name: str, fixed: Mapping[str, Any]) -> None:
    """Raises BindingError for parameters of what was given them when it was made."""
    if fixed:
        raise BindingError(f"{name} is made already and takes no parameters: {', '.join(sorted(fixed))}")


def accepted(function: Any, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the offered arguments that a function takes by name."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters):
        return dict(offered)
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    names = {p.name for p in parameters if p.kind not in by_position}
    return {name: value for name, value in offered.items() if name in names}
