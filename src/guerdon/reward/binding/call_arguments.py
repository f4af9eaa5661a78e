"""The arguments of a direct call by name, and the sample that they make up."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set, ValuesView
from typing import Any

from guerdon.errors import BindingError, InputError
from guerdon.reward.binding.conventions import BATCH_NAMES, STANDARD_NAMES
from guerdon.reward.binding.signature import Signature, no_such_parameter
from guerdon.types import Message, Sample, as_messages, check_ending

RESPONSE_NAMES = ("response", "completion", "solution_str")
"""What a function calls the response of a sample."""
_LISTS = frozenset({"prompts", "labels", "ground_truths", "ground_truth", "answer"})
"""What a batched function reads as one value for each sample."""


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
    return all(
        isinstance(explicit[name], list | tuple) for name in ("response", "completion") if name in explicit
    )


def without_absent(signature: Signature | None, explicit: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call but for a ground truth that is needed and is None, or a list of nothing else."""
    needed = set() if signature is None else {p.name for p in signature.parameters if p.required}
    return {
        name: value
        for name, value in explicit.items()
        if name not in ("ground_truth", "answer") or name not in needed or not _is_absent(value)
    }


def _is_absent(value: Any) -> bool:
    return value is None or (
        isinstance(value, list | tuple) and bool(value) and all(v is None for v in value)
    )


def batch_size(
    name: str, signature: Signature | None, fixed: Collection[str], explicit: Mapping[str, Any]
) -> int:
    """How many samples the lists of a call stand for.

    Raises BindingError where they differ in length, and where there is no list of completions.
    """
    sizes: dict[str, int] = {}
    for key, value in explicit.items():
        count = _length(value)
        if count is None and (
            key in BATCH_NAMES
            or (key in _LISTS and isinstance(value, str | Mapping | Set | Iterator | ValuesView))
        ):
            kind = type(value).__name__
            raise BindingError(f"{name}: {key} must be a list with one entry for each sample, not {kind}")
        if count is not None and _is_column(key, signature, fixed):
            sizes[key] = count
    first = next((key for key in sizes if key in BATCH_NAMES), next(iter(sizes), None))
    if first is None:
        return 1
    for key, count in sizes.items():
        if count != sizes[first]:
            raise BindingError(
                f"{name}: {key!r} has {count} values for {sizes[first]} {first}; it needs one for each"
            )
    return sizes[first]


def _length(value: Any) -> int | None:
    """The length of a list, or of what is read like one; None for all else."""
    kind = type(value)
    if isinstance(value, str | bytes | bytearray | Mapping | Set) or not hasattr(kind, "__getitem__"):
        return None
    try:
        return len(value)
    except TypeError:  # an array without dimensions
        return None


def _is_column(name: str, signature: Signature | None, fixed: Collection[str]) -> bool:
    """Whether an argument has a value for each sample, and is no setting of the function."""
    if name in fixed or signature is None:
        return name not in fixed
    parameter = next((p for p in signature.parameters if p.name == name), None)
    if parameter is None or name in STANDARD_NAMES or name in BATCH_NAMES:
        return True
    return parameter.required and not parameter.is_setting


def coerced_batch(name: str, value: Any, *, any_ending: bool = False) -> Any:
    """A list of conversations as lists of Message objects; any other argument as it is.

    Raises InputError for what is no conversation, and for a completion that is neither text nor messages.
    """
    if name in ("messages", "rollouts_messages", "original_messages") and isinstance(value, list | tuple):
        read = [as_messages(item, f"{name}[{i}]") for i, item in enumerate(value)]
        for messages in read if name != "original_messages" and not any_ending else ():
            check_ending(messages)
        return read
    if name in RESPONSE_NAMES or name in ("completions", "queries", "solution_strs"):
        for i, item in enumerate(value):
            if isinstance(item, str):
                continue
            if not isinstance(item, list | tuple):
                kind = type(item).__name__
                raise InputError(f"{name}[{i}] must be text or a list of messages, not {kind}")
            if not any_ending:
                check_ending(as_messages(item, f"{name}[{i}]"))
    return value


def sample_of(explicit: dict[str, Any]) -> tuple[Sample, dict[str, Any]]:
    """The sample that a direct call describes, and its arguments with messages as Message objects."""
    explicit = dict(explicit)
    for name in ("messages", "original_messages"):
        if explicit.get(name) is not None or (name == "messages" and name in explicit):
            explicit[name] = as_messages(explicit[name], name)
        elif name in explicit:
            del explicit[name]
    for name in RESPONSE_NAMES:
        if name in explicit and not isinstance(explicit[name], str):
            kind = type(explicit[name]).__name__
            raise InputError(f"{name} must be text, not {kind}; a conversation goes into messages")
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
    response = next((explicit[n] for n in RESPONSE_NAMES if n in explicit), None)
    if response is None:
        return []
    prompt = explicit.get("prompt")
    before = [Message(role="user", content=prompt)] if isinstance(prompt, str) and prompt else []
    return [*before, Message(role="assistant", content=response)]
