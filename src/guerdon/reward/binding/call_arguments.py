"""The arguments of a direct call by name, and the sample that they make up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from guerdon.errors import BindingError
from guerdon.reward.binding.conventions import STANDARD_NAMES
from guerdon.reward.binding.signature import Signature, no_such_parameter
from guerdon.types import Message, Sample, as_messages


def arguments_by_name(
    name: str,
    signature: Signature | None,
    fixed: Collection[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    any_name: bool,
) -> dict[str, Any]:
    """A call's arguments under their names, positional ones too.

    Raises BindingError for too many, for one given twice, and for a name that neither the function nor a
    sample knows, unless ``any_name`` says that others have a meaning (columns of a metadata schema).
    """
    # A composition has no signature: it is called with messages or, as most of its parts are, with a text.
    is_text = bool(args) and isinstance(args[0], str)
    names: Sequence[str] = ("response",) if is_text else ("messages", "original_messages")
    if signature is not None:
        names = [parameter for parameter in signature.names if parameter not in fixed]
    if len(args) > len(names):
        raise BindingError(f"{name} takes {len(names)} positional arguments, not {len(args)}")
    explicit = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key in explicit:
            raise BindingError(f"{name} got {key!r} twice")
        explicit[key] = value
    if signature is not None and not signature.takes_kwargs and not any_name:
        known = {*signature.names, *STANDARD_NAMES}
        if unknown := [key for key in explicit if key not in known]:
            raise BindingError(no_such_parameter(signature, unknown[0]), parameter=unknown[0])
    return explicit


def is_batch_call(explicit: Mapping[str, Any]) -> bool:
    """Whether a call gives lists of samples rather than one sample."""
    messages = explicit.get("messages")
    if isinstance(messages, list | tuple) and messages:
        return isinstance(messages[0], list | tuple)
    return not {"response", "completion"} & set(explicit)


def coerced_batch(name: str, value: Any) -> Any:
    """A list of conversations as lists of Message objects; any other argument as it is."""
    if name in ("messages", "rollouts_messages", "original_messages") and isinstance(value, list | tuple):
        return [as_messages(item, f"{name}[{i}]") for i, item in enumerate(value)]
    return value


def sample_of(explicit: dict[str, Any]) -> tuple[Sample, dict[str, Any]]:
    """The sample that a direct call describes, and its arguments with messages as Message objects."""
    explicit = dict(explicit)
    for name in ("messages", "original_messages"):
        if explicit.get(name) is not None or (name == "messages" and name in explicit):
            explicit[name] = as_messages(explicit[name], name)
        elif name in explicit:
            del explicit[name]
    messages = explicit.get("messages")
    if messages is None:
        messages = _conversation(explicit)
    elif "original_messages" not in explicit:
        explicit["original_messages"] = messages[:-1]
    given = explicit.get("metadata")
    columns = {k: v for k, v in explicit.items() if k not in STANDARD_NAMES or k == "step"}
    sample = Sample(
        messages=messages,
        original_messages=explicit.get("original_messages"),
        ground_truth=explicit.get("ground_truth"),
        answer=explicit.get("answer"),
        metadata={**(given if isinstance(given, Mapping) else {}), **columns},
        id=explicit.get("id"),
    )
    if "answer" in explicit and "ground_truth" not in explicit:
        sample.ground_truth = explicit["answer"]
    return sample, explicit


def _conversation(explicit: Mapping[str, Any]) -> list[Message]:
    """A conversation made of ``prompt`` and ``response``, for a call that gives those."""
    names = ("response", "completion", "solution_str")
    response = next((explicit[n] for n in names if isinstance(explicit.get(n), str)), None)
    if response is None:
        return []
    prompt = explicit.get("prompt")
    before = [Message(role="user", content=prompt)] if isinstance(prompt, str) and prompt else []
    return [*before, Message(role="assistant", content=response)]
