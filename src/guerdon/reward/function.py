"""RewardFunction, the class of every reward."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from guerdon.errors import BindingError
from guerdon.reward import hooks
from guerdon.reward.direct_call import DirectCall
from guerdon.reward.loading.modules import loaded_files
from guerdon.reward.loading.pickling import LoadedFiles, look_up, look_up_or_raise, pickled_by_cloudpickle
from guerdon.reward.names import find_target
from guerdon.reward.operators import scaled, times, total
from guerdon.reward.options import RewardOptions, is_number
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.composite import Composite
from guerdon.reward.scorers.function_scorer import FunctionScorer
from guerdon.reward.trainer_methods import TrainerMethods
from guerdon.reward.versioning.snapshot import DependencySnapshot

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # the default makes a bare RewardFunction one of anything

    Operand: TypeAlias = "RewardFunction | float | Callable[..., Any]"
    ResultT = TypeVar("ResultT", default=Any, covariant=True)
else:
    from typing import TypeVar

    ResultT = TypeVar("ResultT")


class RewardFunction(DirectCall, TrainerMethods, Generic[ResultT]):
    """A reward, whatever is behind it: a function in any calling convention, a class, a composition, a server.

    Called like the function, it gives an EvaluateResult; an exception inside becomes a result whose
    ``error`` says what happened. It has a ``name``, a ``version`` (a hash of what decides its verdicts),
    and composes: ``0.7 * correct + 0.3 * brief``.

    >>> def exact(response: str, answer: str) -> bool:
    ...     return response == answer
    >>> RewardFunction(exact)(response="4", answer="4").score
    1.0

    ``func_path`` takes ``file.py::name``, ``file.py`` where that defines one reward, ``pkg.mod:name`` or
    ``pkg.mod.name``; further keyword arguments are fixed arguments of the function. Raises BindingError where the
    function has no such parameter, ResolutionError where the path leads nowhere.

    A reward that a server scores: ``RewardFunction(endpoint="http://host:8000/rewards/math")``,
    ``RewardFunction(name="math", mode="remote")`` on the server of GUERDON_BASE_URL, and
    ``RewardFunction(model_id="…", mode="hosted")`` for a hosted reward model. Of the further arguments,
    ``api_key``, ``base_url``, ``format`` (``"v1"``, ``"adaptive"`` or ``"reward-kit"``; detected otherwise),
    ``timeout``, ``retries`` and ``ca_file`` say how it is called; the rest is sent with every sample.
    """

    def __init__(
        self,
        func: Any = None,
        func_path: str | None = None,
        *,
        mode: str = "local",
        name: str | None = None,
        endpoint: str | None = None,
        model_id: str | None = None,
        options: RewardOptions | None = None,
        **fixed_arguments: Any,
    ) -> None:
        if endpoint is not None and mode == "local":
            mode = "remote"
        if mode in hooks.REMOTE_MODES:
            if func is not None or func_path is not None:
                raise BindingError(
                    f'a reward in mode="{mode}" is not made of a function here; leave out func'
                )
            assert hooks.make_remote_scorer is not None
            spec = hooks.RemoteRewardSpec(
                mode=mode, name=name, endpoint=endpoint, model_id=model_id, arguments=fixed_arguments
            )
            self._set(hooks.make_remote_scorer(spec), replace(options or RewardOptions(), name=name))
            return
        if mode != "local":
            words = ", ".join(f'"{known}"' for known in ("local", *hooks.REMOTE_MODES))
            raise BindingError(
                f"mode must be one of {words}, not {mode!r} (reward_function takes pointwise and batch)",
                mode=mode,
            )
        if model_id is not None:
            raise BindingError('model_id belongs to mode="hosted"; this reward is mode="local"')
        if (func is None) == (func_path is None):
            raise BindingError("give either func or func_path")
        if func_path is not None or isinstance(func, str | os.PathLike):
            func = find_target(func_path if func_path is not None else func)
        self._build(func, fixed_arguments, options or RewardOptions(), name)

    @classmethod
    def of_target(cls, target: Any, parameters: Mapping[str, Any], name: str | None = None) -> RewardFunction:
        """A reward of a function, a class or a reward with parameters of any name, also ``name`` or ``mode``."""
        self = cls.__new__(cls)
        self._build(target, parameters, RewardOptions(), name)
        return self

    def _build(
        self, func: Any, fixed_arguments: Mapping[str, Any], options: RewardOptions, name: str | None
    ) -> None:
        if isinstance(func, RewardFunction):
            options = options if options != RewardOptions() else func.options
            func, fixed_arguments = func._refixed(fixed_arguments)
        batch = None if options.mode is None else options.mode == "batch"
        found = func if isinstance(func, Scorer) else hooks.foreign_scorer(func, fixed_arguments)
        scorer: Scorer = found or FunctionScorer(
            func, fixed_arguments, batch=batch, metadata_schema=options.metadata_schema
        )
        if fixed_arguments and isinstance(scorer, FunctionScorer):
            scorer.check_parameters(options.check)
        options = scorer.adapted_options(options)
        self._set(scorer, replace(options, name=name) if name is not None else options)

    @classmethod
    def of_scorer(cls, scorer: Scorer, options: RewardOptions) -> RewardFunction:
        """A reward around a scorer, for what is not a function, such as a composition."""
        self = cls.__new__(cls)
        self._set(scorer, options)
        return self

    def _refixed(self, more: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The target and fixed arguments of this reward with more arguments fixed."""
        if isinstance(self._scorer, FunctionScorer):
            return self._scorer.target, {**self._scorer.parameters, **more}
        if more and not self._scorer.takes_parameters:
            raise BindingError(f"{self.name} is a composition and takes no parameters: {', '.join(more)}")
        return self._scorer.with_parameters(more) if more else self._scorer, {}

    def with_name(self, name: str) -> RewardFunction:
        """The same reward under another name, which is the name of its metric in a composition."""
        return RewardFunction.of_scorer(self._scorer, replace(self.options, name=name))

    def __call__(self, *args: Any, **kwargs: Any) -> ResultT:
        """Call the reward as the function is called, by position or by name.

        Gives an EvaluateResult; an awaitable of one where the reward is async; a list where it scores
        batches and is called with lists. With a ``timeout`` the call runs in a worker process that is
        killed when it overruns, unless the reward ``enforces_timeout``. Raises BindingError and InputError for
        arguments that do not fit.
        """
        return cast("ResultT", self._called(args, kwargs))

    def __get__(self, instance: Any, owner: type | None = None) -> RewardFunction:
        """As a method, the reward is bound to its instance like any function."""
        target = self.func
        if instance is None or not isinstance(target, FunctionType):
            return self
        return RewardFunction(MethodType(target, instance), options=self.options, **self.parameters)

    # Arithmetic: sums are weighted compositions, products of rewards are products.

    def __add__(self, other: Operand) -> RewardFunction:
        operand = _operand(other)
        return NotImplemented if operand is None else composition(total(self, operand))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> RewardFunction:
        operand = _operand(other)
        return NotImplemented if operand is None else composition(total(self, operand, sign=-1.0))

    def __rsub__(self, other: Operand) -> RewardFunction:
        return -self + other

    def __neg__(self) -> RewardFunction:
        return composition(scaled(self, -1.0))

    def __mul__(self, other: Operand) -> RewardFunction:
        operand = _operand(other)
        if operand is None:
            return NotImplemented
        return composition(
            times(self, operand) if isinstance(operand, RewardFunction) else scaled(self, operand)
        )

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> RewardFunction:
        if not is_number(other):
            return NotImplemented
        if other == 0:
            raise BindingError("a reward cannot be divided by 0")
        return composition(scaled(self, 1.0 / other))

    def __reduce__(self) -> tuple[Any, ...]:
        # By reference where the name leads back here: what the function's module holds (a loaded model, a
        # lock) need not pickle then. By value otherwise, with the version, since the source may be missing there.
        # A script's own names are references for pickle, whose other processes know the script (those of
        # multiprocessing), but not for cloudpickle, whose processes need not.
        module, qualname = getattr(self, "__module__", None), getattr(self, "__qualname__", "")
        here = module != "__main__" or not pickled_by_cloudpickle(sys._getframe(1))
        if module and here and look_up(module, qualname) is self:
            files = {n: p for n, p in loaded_files().items() if n == module}
            return look_up_or_raise, (module, qualname, files)
        self.provenance  # noqa: B018  computed before it is pickled
        state = {
            k: v
            for k, v in self.__dict__.items()
            if k not in ("__wrapped__", "_snapshot", "wrong_length", "_ready_at")
        }
        return _restored, (LoadedFiles(), state)


def _restored(_: Any, state: dict[str, Any]) -> RewardFunction:
    reward = RewardFunction.__new__(RewardFunction)
    reward.__dict__.update(state, _snapshot=DependencySnapshot(), wrong_length=None, _ready_at=-math.inf)
    return reward


def _operand(other: Any) -> RewardFunction | float | None:
    """What stands beside a reward in a sum or a product; a plain function becomes a reward."""
    if isinstance(other, RewardFunction):
        return other
    if is_number(other):
        return float(other)
    return RewardFunction(other) if callable(other) else None


def composition(scorer: Composite, name: str | None = None) -> RewardFunction:
    """A reward around a composite scorer."""
    return RewardFunction.of_scorer(scorer, RewardOptions(name=name))
