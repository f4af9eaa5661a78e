"""Strategies for what JSON holds and for messages, shared by the tests of the types."""

from __future__ import annotations

from hypothesis import strategies as st

CALL = {"function": {"name": "f", "arguments": '{"x": 1}'}, "id": "call_1", "type": "function"}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


# Names that are no field and none of pydantic's own methods.
EXTRA = st.dictionaries(st.text("abcxyz_0", min_size=1).map("x_".__add__), JSON, max_size=3)


MESSAGES = st.builds(
    lambda given, extra: {**given, **extra},
    st.fixed_dictionaries(
        {"role": st.text()},
        optional={
            "content": st.text()
            | st.none()
            | st.lists(st.dictionaries(st.text(), JSON, max_size=2), max_size=2),
            "name": st.text() | st.none(),
            "tool_call_id": st.text(),
            "tool_calls": st.just([CALL]),
        },
    ),
    EXTRA,
)
