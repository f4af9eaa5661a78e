"""Objects of other packages as rewards: which of our files knows what to do with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from guerdon.reward.scorers.base import Scorer


def wrap_foreign(package: str, target: Any, fixed: Mapping[str, Any]) -> Scorer | None:
    """The scorer for an object of another package; None where it is like any function or class.

    Raises BindingError for an object that cannot be a reward, saying why.
    """
    makers: dict[str, Callable[[Any, Mapping[str, Any]], Scorer | None]] = {}
    if package == "autoevals":
        from guerdon.trainers.foreign.autoevals import scorer_of as autoevals

        makers[package] = autoevals
    elif package == "openevals":
        from guerdon.trainers.foreign.openevals import scorer_of as openevals

        makers[package] = openevals
    elif package == "deepeval":
        from guerdon.trainers.foreign.deepeval import scorer_of as deepeval

        makers[package] = deepeval
    elif package == "verifiers":
        from guerdon.trainers.foreign.verifiers import scorer_of as verifiers

        makers[package] = verifiers
    return makers[package](target, fixed) if package in makers else None
