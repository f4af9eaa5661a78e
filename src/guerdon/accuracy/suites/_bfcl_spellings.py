"""Calls written down in every form that the reward ``tool_calls`` reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Called = Sequence[tuple[str, Mapping[str, Any]]]
"""Names and arguments of calls."""
ResponseMessage = dict[str, Any]


def _said(text: str) -> ResponseMessage:
    return {"role": "assistant", "content": text}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _native(calls: Called) -> ResponseMessage:
    made = [
        {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": _json(arguments)}}
        for i, (name, arguments) in enumerate(calls)
    ]
    return {"role": "assistant", "content": None, "tool_calls": made}


def _native_objects(calls: Called) -> ResponseMessage:
    made = [{"function": {"name": name, "arguments": dict(arguments)}} for name, arguments in calls]
    return {"role": "assistant", "content": "I look that up.", "tool_calls": made}


def _native_without_dots(calls: Called) -> ResponseMessage:
    return _native([(name.replace(".", "_"), arguments) for name, arguments in calls])


def _objects(calls: Called, key: str = "arguments") -> list[str]:
    return [_json({"name": name, key: arguments}) for name, arguments in calls]


def _hermes(calls: Called) -> ResponseMessage:
    return _said("\n".join(f"<tool_call>\n{one}\n</tool_call>" for one in _objects(calls)))


def _hermes_thought(calls: Called) -> ResponseMessage:
    return _said("<think>Which one?</think>\n\n" + _hermes(calls)["content"])


def _openai_fenced(calls: Called) -> ResponseMessage:
    made = [{"type": "function", "function": {"name": n, "arguments": _json(a)}} for n, a in calls]
    return _said(f"This call is needed:\n```json\n{json.dumps(made, indent=2)}\n```")


def _openai_object(calls: Called) -> ResponseMessage:
    made = [{"type": "function", "function": {"name": n, "arguments": dict(a)}} for n, a in calls]
    return _said(_json({"tool_calls": made}))


def _llama_json(calls: Called) -> ResponseMessage:
    return _said("; ".join(_objects(calls, "parameters")))


def _llama_tag(calls: Called) -> ResponseMessage:
    return _said("<|python_tag|>" + "; ".join(_objects(calls, "parameters")))


def _llama_function(calls: Called) -> ResponseMessage:
    return _said("".join(f"<function={name}>{_json(arguments)}</function>" for name, arguments in calls))


def _mistral(calls: Called) -> ResponseMessage:
    return _said("[TOOL_CALLS] [" + ", ".join(_objects(calls)) + "]")


def _mistral_named(calls: Called) -> ResponseMessage:
    return _said("".join(f"[TOOL_CALLS]{name}[ARGS]{_json(arguments)}" for name, arguments in calls))


def _prose(calls: Called) -> ResponseMessage:
    return _said(" ".join(f"I make this call: {one}." for one in _objects(calls)))


def _python(calls: Called) -> str:
    made = [f"{n}({', '.join(f'{key}={value!r}' for key, value in a.items())})" for n, a in calls]
    return f"[{', '.join(made)}]"


def _pythonic(calls: Called) -> ResponseMessage:
    return _said(_python(calls))


def _pythonic_fenced(calls: Called) -> ResponseMessage:
    return _said(f"```python\n{_python(calls)}\n```")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _qwen(calls: Called) -> ResponseMessage:
    made = []
    for name, arguments in calls:
        inner = "".join(f"<parameter={k}>\n{_text(v)}\n</parameter>\n" for k, v in arguments.items())
        made.append(f"<tool_call>\n<function={name}>\n{inner}</function>\n</tool_call>")
    return _said("\n".join(made))


def _invoke(calls: Called) -> ResponseMessage:
    made = []
    for name, arguments in calls:
        inner = "".join(f'<parameter name="{k}">{_text(v)}</parameter>\n' for k, v in arguments.items())
        made.append(f'<invoke name="{name}">\n{inner}</invoke>')
    return _said("<function_calls>\n" + "\n".join(made) + "\n</function_calls>")


SPELLINGS: Mapping[str, Callable[[Called], ResponseMessage]] = {
    "native": _native,
    "native, objects": _native_objects,
    "native, no dots": _native_without_dots,
    "hermes": _hermes,
    "hermes, thought": _hermes_thought,
    "openai, fenced": _openai_fenced,
    "openai, object": _openai_object,
    "llama, json": _llama_json,
    "llama, tag": _llama_tag,
    "llama, function": _llama_function,
    "mistral": _mistral,
    "mistral, named": _mistral_named,
    "prose": _prose,
    "pythonic": _pythonic,
    "pythonic, fenced": _pythonic_fenced,
    "qwen, elements": _qwen,
    "invoke": _invoke,
}
"""Every form, each a function from calls to the message that makes them."""


def can_be_spelled(spelling: str, calls: Called) -> bool:
    """Whether a form can hold these calls at all."""
    if spelling.startswith("pythonic"):
        return all(
            part.isidentifier() for name, arguments in calls for part in (*name.split("."), *arguments)
        )
    return True


def claimed(calls: Called) -> dict[str, ResponseMessage]:
    """Messages that tell of the calls and do not make them, by what they do instead."""
    made = _python(calls)
    return {
        "told": _said(f"I have called {made.strip('[]')} and it went well."),
        "thought": _said(f"<think>{_hermes(calls)['content']}</think>Done."),
        "comment": _said(f"```python\n# {made}\n```"),
        "hidden": _said(f"<!-- {_hermes(calls)['content']} -->All done."),
        "cut off": _said(_hermes(calls)["content"].removesuffix("\n</tool_call>")),
    }
