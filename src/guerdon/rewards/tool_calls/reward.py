"""The reward ``tool_calls``: does the response call the tools that it should, with the right arguments?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.errors import InputError
from guerdon.reward.decorator import reward_function
from guerdon.rewards.common.parameters import among, one_of, parameter_check
from guerdon.rewards.tool_calls.expected import expected_calls_of, tool_schemas
from guerdon.rewards.tool_calls.languages import LANGUAGES
from guerdon.rewards.tool_calls.matching import judge
from guerdon.rewards.tool_calls.message import calls_of_message
from guerdon.types import EvaluateResult, Message, MetricResult

ORDERS = ("any", "given")
SCORINGS = ("exact", "fraction")


@reward_function(
    scale=(0, 1),
    check=parameter_check(
        tools=lambda value, _: tool_schemas(value),
        function=lambda value, _: tool_schemas(value),
        order=among(ORDERS),
        scoring=among(SCORINGS),
        language=among(LANGUAGES),
    ),
)
def tool_calls(
    messages: Sequence[Message],
    ground_truth: Any = None,
    *,
    expected_calls: Any = None,
    tools: Any = None,
    function: Any = None,
    order: str = "any",
    scoring: str = "exact",
    language: str = "python",
) -> EvaluateResult:
    """Scores 1 where the response makes exactly the calls that were wanted, else 0.

    The ground truth, or ``expected_calls`` in its place, is a list of calls in any form below, as objects or
    as JSON text; ``[]`` where no call is expected. The calls have to be all there with equal arguments, none
    more, in any order or with ``order="given"`` in that of the list. Arguments are equal as JSON: ``1`` is
    ``1.0``, and is neither ``true`` nor ``"1"``.

    In the form of BFCL, ``[{"f": {"city": ["Paris", "Paris, FR"], "unit": ["", "celsius"]}}]``, each argument
    has the list of the values that are accepted, ``""`` where it may be left out. Texts are then compared
    without case, spaces and ``,./-_*^``; a whole number is accepted for a float, but no float for an integer
    by the schema of the tool, which ``tools`` or ``function`` gives. With ``language="java"`` or
    ``"javascript"`` texts are read in its notation under the type of the schema: ``"5L"`` is the long 5.

    The calls are those of the message's ``tool_calls``. Without any they are read from its text: elements
    ``<tool_call>``, ``<function=…>``, ``<invoke>``, after ``[TOOL_CALLS]`` or ``<|python_tag|>``, a response
    or a fenced block that is nothing but calls in JSON or Python's way, objects of JSON with a name and
    arguments. A call that is only mentioned, that stands in a comment or before ``</think>``, or that cannot
    be carried out as written, is none that was wanted.

    ``scoring="fraction"`` scores by the metric ``f1`` instead.

    Scale: 0 to 1; 0 or 1 unless ``scoring="fraction"``.

    The metric ``calls`` is how many calls were made, ``matched`` the share of the wanted ones that were made
    with everything right, ``f1`` the harmonic mean of precision and recall over names and arguments.

    Source: the AST check of the Berkeley Function Calling Leaderboard (Patil et al. 2025) for possible
    answers; equality of calls as in eval-protocol's function calling reward, which knows one order only.

    Raises InputError for a ground truth without calls that can be read, or tools that are none.

    >>> wanted = [{"name": "add", "arguments": {"a": 1, "b": 2}}]
    >>> tool_calls(response='<tool_call>{"name": "add", "arguments": {"a": 1, "b": 2}}</tool_call>',
    ...            ground_truth=wanted).score
    1.0
    >>> tool_calls(response="[add(a=1, b=3)]", ground_truth=wanted).reason
    'add: the argument "b" is 3, expected 2'
    """
    in_order = one_of(order, ORDERS, "order") == "given"
    scoring = one_of(scoring, SCORINGS, "scoring")
    language = one_of(language, LANGUAGES, "language")
    schemas = tool_schemas(tools, function)
    expected = ground_truth if expected_calls is None else expected_calls
    if expected is None:
        raise InputError("no ground truth: give the expected calls, [] where none is expected")
    wanted = expected_calls_of(expected)
    made = calls_of_message(messages[-1], schemas) if messages else []
    verdict = judge(made, wanted, schemas or {}, in_order, language)
    share = verdict.matched / len(wanted) if wanted else float(not made)
    metrics = {
        "calls": MetricResult(len(made), success=len(made) == len(wanted), reason=f"expected {len(wanted)}"),
        "matched": MetricResult(share, success=verdict.is_exact),
        "f1": MetricResult(verdict.f1, success=verdict.is_exact),
    }
    score = verdict.f1 if scoring == "fraction" else float(verdict.is_exact)
    return EvaluateResult(score, reason=verdict.problem or "as expected", metrics=metrics)
