"""Compositions that were published: accuracy with length, with format, and with a limit to the length."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.compose import gate
from guerdon.reward.factory import composition_factory
from guerdon.reward.function import RewardFunction
from guerdon.reward.registry import resolve
from guerdon.rewards.common.parameters import any_number
from guerdon.rewards.format import format as form
from guerdon.rewards.length import length

Path = str | os.PathLike[str]


def _length(**given: Any) -> RewardFunction:
    """The reward ``length``; what is not given is left to the row's columns."""
    return resolve(length, **{name: value for name, value in given.items() if value is not None})


def _on_scale(made: RewardFunction, ends: Sequence[float]) -> RewardFunction:
    """The composition with the scale that these ends make, as far as they make one."""
    low, high = float(min(ends)), float(max(ends))
    scale = (low, high) if low < high else None
    return RewardFunction.of_scorer(made.scorer, replace(made.options, scale=scale))


def _scaled_ends(accuracy: RewardFunction, factor: float) -> list[float]:
    """The least and the greatest that an accuracy with a weight can be; from 0 to 1 where it does not say."""
    return [factor * end for end in accuracy.options.scale or (0.0, 1.0)]


@composition_factory
def accuracy_length(
    accuracy: Any = "math",
    *,
    maximum: float = 1000,
    unit: str = "words",
    tokenizer: Path | None = None,
    min_value_correct: float = 0.5,
    max_value_correct: float = 1.0,
    min_value_wrong: float = -1.0,
    max_value_wrong: float = -0.5,
    exceeded: float | None = None,
    threshold: float = 1.0,
    **parameters: Any,
) -> RewardFunction:
    """Scores accuracy and length by a cosine: a short right answer earns most, a short wrong one least.

    A response is right where the reward ``accuracy`` gives ``threshold`` or more. A right one falls from
    ``max_value_correct`` at length 0 to ``min_value_correct`` at the ``maximum``: it should be brief. A wrong one
    rises from ``min_value_wrong`` to ``max_value_wrong``: it should have thought longer. Beyond the ``maximum`` both
    stay there, or earn ``exceeded`` where that is given. ``unit`` and ``tokenizer`` are those of the reward
    ``length``. Further parameters are those of the reward ``accuracy``.

    Scale: −1 to 1; from the least to the greatest of the values where they are set.

    The metrics are those of the parts: ``math``, and ``right`` or ``wrong`` with the ``length`` in it.

    Source: the cosine reward of "Demystifying Long Chain-of-Thought Reasoning" (Yeo et al. 2025) with the values
    of open-r1's, held beyond the maximum where open-r1's cosine rises again. The paper's own are 1 and 2 for right
    answers, −10 and 0 for wrong ones, and ``exceeded=-10``, with the length in tokens.

    Raises InputError for a value that is not a number, BindingError for a parameter that ``accuracy`` lacks.

    >>> import guerdon
    >>> reward = guerdon.get_reward_function(
    ...     "accuracy_length", accuracy="keywords", required="42", maximum=4
    ... )
    >>> [round(reward(response=text).score, 6) for text in ("42 apples", "42 apples for me", "41 apples")]
    [0.75, 0.5, -0.75]
    """
    correct = resolve(accuracy, **parameters)
    wave = _length(shape="cosine", minimum=0, maximum=maximum, unit=unit, tokenizer=tokenizer)
    least, most = (
        any_number(min_value_correct, "min_value_correct"),
        any_number(max_value_correct, "max_value_correct"),
    )
    worst, best = (
        any_number(min_value_wrong, "min_value_wrong"),
        any_number(max_value_wrong, "max_value_wrong"),
    )
    right = (least + (most - least) * wave).with_name("right")
    wrong = (best + (worst - best) * wave).with_name("wrong")
    made = gate(correct, right, otherwise=wrong, threshold=any_number(threshold, "threshold"))
    ends = [least, most, worst, best]
    if exceeded is not None:
        ends.append(any_number(exceeded, "exceeded"))
        within = _length(minimum=0, maximum=maximum, falloff=0, unit=unit, tokenizer=tokenizer).with_name(
            "within"
        )
        made = gate(within, made.with_name("cosine"), otherwise=ends[-1], threshold=1)
    return _on_scale(made, ends)


@composition_factory
def accuracy_format(
    accuracy: Any = "math",
    *,
    template: str | Sequence[str] = ("think", "answer"),
    outside: str = "nothing",
    prefix: str = "",
    scoring: str = "all",
    accuracy_scoring: str | None = None,
    accuracy_weight: float = 1.0,
    format_weight: float = 0.5,
    **parameters: Any,
) -> RewardFunction:
    """Scores accuracy plus format: the weighted sum of the two.

    ``template``, ``outside``, ``prefix`` and ``scoring`` are those of the reward ``format``; further parameters are
    those of the reward ``accuracy``, and ``accuracy_scoring`` is its ``scoring``. Format weighs half by default, so
    that a wrong answer in perfect form earns less than a right one without; with ``format_weight=1``, as in the
    paper, the two earn the same.

    Scale: 0 to 1.5; 0 to the sum of the weights where they are set.

    The metrics are those of the parts, ``math`` and ``format``.

    Source: the rule-based reward of DeepSeek-R1 (Guo et al. 2025).

    Raises InputError for an invalid template or a weight that is not a number, BindingError for a parameter that
    ``accuracy`` lacks.

    >>> import guerdon
    >>> reward = guerdon.get_reward_function("accuracy_format", accuracy="keywords", required="42")
    >>> right = "<think>6 times 7</think><answer>42</answer>"
    >>> [reward(response=text).score for text in (right, "42", right.replace("42", "41"), "41")]
    [1.5, 1.0, 0.5, 0.0]
    """
    if accuracy_scoring is not None:
        parameters["scoring"] = accuracy_scoring
    correct = resolve(accuracy, **parameters)
    shaped = resolve(form, template=template, outside=outside, prefix=prefix, scoring=scoring)
    weights = any_number(accuracy_weight, "accuracy_weight"), any_number(format_weight, "format_weight")
    made = weights[0] * correct + weights[1] * shaped
    ends = [end + more for end in _scaled_ends(correct, weights[0]) for more in (0.0, weights[1])]
    return _on_scale(made, ends)


@composition_factory
def accuracy_overlong(
    accuracy: Any = "math",
    *,
    maximum: float | None = None,
    cache: float | None = None,
    unit: str = "words",
    tokenizer: Path | None = None,
    right: float = 1.0,
    wrong: float = -1.0,
    **parameters: Any,
) -> RewardFunction:
    """Scores accuracy minus a soft penalty for responses that are too long.

    The reward ``accuracy`` is put on the scale from ``wrong`` to ``right``. Up to ``maximum`` − ``cache`` there is no
    penalty; from there it grows linearly to 1 at the ``maximum``, and stays. ``unit``, ``tokenizer`` and ``cache``,
    a fifth of the maximum by default, are those of the reward ``length``. Without a ``maximum`` it is the row's
    column of that name. Further parameters are those of the reward ``accuracy``.

    Scale: −2 to 1; from ``wrong`` − 1 to ``right`` where they are set.

    The metrics are those of the parts, ``math`` and ``length``.

    Source: DAPO (Yu et al. 2025), where the maximum is 20,480 tokens and the cache 4,096.

    Raises InputError for a value that is not a number or a maximum that is missing, BindingError for a parameter that
    ``accuracy`` lacks.

    >>> import guerdon
    >>> reward = guerdon.get_reward_function(
    ...     "accuracy_overlong", accuracy="keywords", required="42", maximum=4, cache=2
    ... )
    >>> [reward(response=text).score for text in ("It's 42.", "It is 42.", "It is 41.", "so it is 41, isn't it?")]
    [1.0, 0.5, -1.5, -2.0]
    """
    correct = resolve(accuracy, **parameters)
    penalty = _length(shape="overlong", maximum=maximum, cache=cache, unit=unit, tokenizer=tokenizer)
    high, low = any_number(right, "right"), any_number(wrong, "wrong")
    ends = [low + end + more for end in _scaled_ends(correct, high - low) for more in (-1.0, 0.0)]
    return _on_scale((high - low) * correct + low + penalty, ends)


@composition_factory
def accuracy_target_length(
    accuracy: Any = "math",
    *,
    target: float | None = None,
    alpha: float = 0.0003,
    unit: str = "words",
    tokenizer: Path | None = None,
    **parameters: Any,
) -> RewardFunction:
    """Scores accuracy minus ``alpha`` for every word that the response is longer or shorter than wanted.

    At most 1 is taken away, which is at 1 / ``alpha`` words too many or too few. ``unit`` and ``tokenizer`` are those
    of the reward ``length``. Without a ``target`` it is the row's column of that name, since the method draws one
    for each prompt and states it in the prompt. Further parameters are those of the reward ``accuracy``.

    Scale: −1 to 1.

    The metrics are those of the parts, ``math`` and ``length``.

    Source: the exact form of length controlled policy optimisation, LCPO, in L1 (Aggarwal and Welleck 2025), where
    the penalty has no end and the length is in tokens.

    Raises InputError for an ``alpha`` that is not more than 0, BindingError for a parameter that ``accuracy`` lacks.

    >>> import guerdon
    >>> reward = guerdon.get_reward_function(
    ...     "accuracy_target_length", accuracy="keywords", required="42", alpha=0.25
    ... )
    >>> [reward(response=text, target=3).score for text in ("It is 42.", "42", "It is 41.")]
    [1.0, 0.5, 0.0]
    """
    correct = resolve(accuracy, **parameters)
    slope = any_number(alpha, "alpha")
    if slope <= 0:
        raise InputError("alpha must be more than 0")
    near = _length(target=target, falloff=1 / slope, unit=unit, tokenizer=tokenizer)
    ends = [end + more for end in _scaled_ends(correct, 1.0) for more in (-1.0, 0.0)]
    return _on_scale(correct + near - 1, ends)
