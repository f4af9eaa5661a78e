"""Columns: how a row becomes a sample, and what is said of a row that cannot."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.data import Columns, parse_mapping, parse_mappings
from guerdon.errors import InputError

CHAT = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
REPLY = {"role": "assistant", "content": "a"}
U, A = ("user", "u"), ("assistant", "a")

# The columns, the row, the messages, the ground truth, the metadata.
MADE: list[tuple[str, Columns, dict[str, Any], list[tuple[str, str]], Any, dict[str, Any]]] = [
    ("chat form", Columns(), {"messages": [*CHAT, REPLY], "x": 1}, [("system", "s"), U, A], None, {"x": 1}),
    ("chat, answer", Columns(answer="g"), {"messages": [REPLY], "g": [1]}, [A], [1], {}),
    ("text", Columns(prompt="q", response="r"), {"q": "u", "r": "a", "x": 1}, [U, A], None, {"x": 1}),
    (
        "messages",
        Columns(prompt="q", response="r"),
        {"q": CHAT, "r": [REPLY]},
        [("system", "s"), U, A],
        None,
        {},
    ),
    ("a message", Columns(prompt="q", response="r"), {"q": CHAT[1], "r": REPLY}, [U, A], None, {}),
    (
        "prompt in messages",
        Columns(prompt="messages", response="r"),
        {"messages": CHAT[1:], "r": "a"},
        [U, A],
        None,
        {},
    ),
    (
        "empty text",
        Columns(prompt="q", response="r"),
        {"q": "", "r": ""},
        [("user", ""), ("assistant", "")],
        None,
        {},
    ),
    ("response alone", Columns(response="r", answer="g"), {"r": "a", "g": None}, [A], None, {}),
    (
        "renamed",
        Columns(rename={"messages": "chat", "level": "l"}),
        {"chat": [REPLY], "l": 2},
        [A],
        None,
        {"level": 2},
    ),
    (
        "ground truth by name",
        Columns(rename={"ground_truth": "g"}),
        {"messages": [REPLY], "g": "4"},
        [A],
        "4",
        {},
    ),
    (
        "twice",
        Columns(prompt="q", response="r", rename={"q": "q", "kept": "r"}),
        {"q": "u", "r": "a"},
        [U, A],
        None,
        {"q": "u", "kept": "a"},
    ),
    (
        "swapped",
        Columns(rename={"x": "y", "y": "x"}),
        {"messages": [REPLY], "x": 1, "y": 2},
        [A],
        None,
        {"x": 2, "y": 1},
    ),
    (
        "moved away",
        Columns(response="r", rename={"chat": "messages"}),
        {"r": "a", "messages": "old"},
        [A],
        None,
        {"chat": "old"},
    ),
    (
        "as JSON text",
        Columns(),
        {"messages": '[{"role": "assistant", "content": "a"}]', "metadata": '{"x": 1}'},
        [A],
        None,
        {"x": 1},
    ),
    (
        "blank metadata",
        Columns(),
        {"messages": [REPLY], "metadata": " ", "original_messages": ""},
        [A],
        None,
        {},
    ),
]


@pytest.mark.parametrize(
    ("columns", "row", "messages", "truth", "metadata"), [c[1:] for c in MADE], ids=[c[0] for c in MADE]
)
def test_a_row_becomes_a_sample(
    columns: Columns,
    row: dict[str, Any],
    messages: list[tuple[str, str]],
    truth: Any,
    metadata: dict[str, Any],
) -> None:
    before = repr(row)
    sample = columns.sample(row)
    assert [(m.role, m.content) for m in sample.messages] == messages
    assert (sample.ground_truth, sample.metadata) == (truth, metadata)
    assert repr(row) == before


def test_other_columns_of_a_sample_are_kept() -> None:
    row = {"q": "u", "r": "a", "id": 7, "answer": "4", "metadata": {"x": 1}, "y": 2}
    sample = Columns(prompt="q", response="r").sample(row)
    assert (sample.id, sample.answer, sample.metadata) == (7, "4", {"x": 1, "y": 2})


REFUSED = [
    (
        Columns(),
        {"id": 1, "question": "u", "reply": "a"},
        "no column for the response of the model; the columns are: id, question, reply; say which holds it: "
        "--response-column reply",
    ),
    (Columns(), {"x": 1, "y": 2}, "say which holds it: --response-column NAME"),
    (
        Columns(),
        {"prompt": "u", "response": "a", "completion": "b"},
        "2 columns may be the response: response and completion; choose one: --response-column response or "
        "--response-column completion",
    ),
    (
        Columns(),
        {"prompt": "u", "question": "v", "response": "a"},
        "2 columns may be the prompt: prompt and question; choose one: --prompt-column prompt or "
        "--prompt-column question",
    ),
    (
        Columns(spelling="mapping"),
        {"prompt": "u", "question": "v", "response": "a"},
        'choose one: columns={"prompt": "prompt"} or columns={"prompt": "question"}',
    ),
    (
        Columns(prompt="promt"),
        {"prompt": "u", "response": "a"},
        'no column "promt" (--prompt-column); did you mean prompt? the columns are: prompt, response',
    ),
    (Columns(), {f"c{i}": i for i in range(40)}, "c10, c11 and 28 more;"),
    (
        Columns(prompt="p", response="r"),
        {"q": "u", "r": "a"},
        'no column "p" (--prompt-column); the columns are: q, r',
    ),
    (Columns(prompt="p", response="r"), {"p": "u"}, 'no column "r" (--response-column)'),
    (Columns(answer="g"), {"messages": [REPLY]}, 'no column "g" (--answer-column)'),
    (Columns(rename={"n": "c"}), {"messages": [REPLY]}, 'no column "c" (--map n=c)'),
    (
        Columns(prompt="p", response="r"),
        {"p": None, "r": "a"},
        'column "p" must hold text or a list of messages, not null',
    ),
    (
        Columns(prompt="p", response="r"),
        {"p": "u", "r": 4},
        'column "r" must hold text or a list of messages, not int',
    ),
    (
        Columns(prompt="p", response="r"),
        {"p": [], "r": "a"},
        'column "p" must hold text or a list of messages, not an empty list',
    ),
    (Columns(prompt="p", response="r"), {"p": ["u"], "r": "a"}, 'column "p"[0] must be an object'),
    (Columns(prompt="p", response="r"), {"p": "u", "r": {"text": "a"}}, 'column "r"[0].role: Field required'),
    (
        Columns(response="r"),
        {"r": "a", "messages": [*CHAT, REPLY]},
        'has a column "messages" already, which --response-column r would overwrite; keep that one under '
        "another name: --map old_messages=messages",
    ),
    (
        Columns(answer="g"),
        {"messages": [REPLY], "g": 1, "ground_truth": 2},
        "which --answer-column g would overwrite",
    ),
    (Columns(rename={"x": "y"}), {"messages": [REPLY], "x": 1, "y": 2}, "which --map x=y would overwrite"),
    (
        Columns(),
        {"messages": '[{"role": "user"}] x'},
        'column "messages": not JSON: more after its end, from column 19',
    ),
    (Columns(), {"messages": [REPLY], "metadata": "text"}, 'column "metadata": not JSON: Expecting value'),
]


@pytest.mark.parametrize(("columns", "row", "reason"), REFUSED)
def test_what_is_said_of_a_row_that_is_refused(columns: Columns, row: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError) as caught:
        columns.sample(row)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"response": "r", "rename": {"messages": "m"}}, "both make the conversation"),
        ({"answer": "g", "rename": {"ground_truth": "h"}}, "both set the ground truth"),
    ],
)
def test_parts_that_contradict_each_other(parts: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        Columns(**parts)


@pytest.mark.parametrize(
    ("text", "pair"),
    [("a=b", ("a", "b")), (" a = b c ", ("a", "b c")), ("a=b=c", ("a", "b=c")), ("a==", ("a", "="))],
)
def test_a_mapping_is_parsed(text: str, pair: tuple[str, str]) -> None:
    assert parse_mapping(text) == pair


@pytest.mark.parametrize("text", ["", "a", "=", "a=", "=b", " = ", "a= "])
def test_a_mapping_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="is not of the form name=column, such as --map ground_truth=gold"):
        parse_mapping(text)


def test_several_mappings() -> None:
    assert parse_mappings(["a=x", "b=x", "a=x"]) == {"a": "x", "b": "x"}
    with pytest.raises(InputError, match='--map gives "a" twice: from x and from y'):
        parse_mappings(["a=x", "a=y"])
