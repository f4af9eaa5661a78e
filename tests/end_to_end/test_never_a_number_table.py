"""Every entry point and every kind of wrongness, as a table: an error or a failure in each cell, never a number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.errors import RewardError
from guerdon.serve.background import BackgroundServer
from guerdon.serve.run import serve
from guerdon.train.backends import registry
from guerdon.trainers import trainers
from support import wrong_rewards
from support.entry_points import ENTRIES, Given, NotHereError, Place, RefusedError

USER = {"role": "user", "content": "4"}
ASSISTANT = {"role": "assistant", "content": "4"}
SERVED = ["exact", "none_at_all", "one_too_many", "text_score", "nan_score", "dict_without_score", "measured"]

KINDS: dict[str, list[Given]] = {
    # The reward returns another number of results than it got samples.
    "length": [Given(reward=name, columns={}) for name in ("none_at_all", "one_too_many")],
    # The reward returns what is no score.
    "type": [Given(reward=name, columns={}) for name in ("text_score", "nan_score", "dict_without_score")],
    # What the model wrote is no text.
    "response": [
        Given(response=wrong)
        for wrong in (4, True, b"4", [4], [[]], {"content": "4"}, {"role": "user", "content": "4"})
    ],
    # The conversation does not end with a response.
    "ending": [
        Given(messages=wrong)
        for wrong in (
            "4",
            ASSISTANT,
            [],
            [USER],
            [USER, {"role": "tool", "content": "4"}],
            [USER, {"role": "assistant"}],
            [USER, {"role": "assistant", "content": 4}],
            [USER, {"role": "assistant", "content": [{"type": "text"}]}],
            [USER, {"content": "4"}],
            [USER, None],
        )
    ],
    # What the reward needs is not there, or not under its name.
    "absent": [Given(columns={}), Given(columns={"ground_truth": None})],
    # A column holds what the reward cannot compute with.
    "column": [Given(reward="measured", columns={"most": wrong}) for wrong in ("many", [3], {"a": 3})],
    # A column of a batch of two does not have two values.
    "series": [
        Given(series={"ground_truth": wrong})
        for wrong in (["4"], ["4"] * 3, [], {"4"}, iter(["4", "4"]), range(3), {"a": "4"}.values())
    ],
    # A parameter of the reward has a value or a name that it does not know, or is what is scored.
    "parameter": [
        Given(reward="measured", columns={}, parameters=wrong)
        for wrong in ({"most": "many"}, {"most": [3]}, {"most": 1.5}, {"mst": 3}, {"response": "4"})
    ]
    + [Given(reward="built", parameters=wrong) for wrong in ({"strict": "no"}, {"strct": True})],
}

TABLE = """
                  length  type  response  ending  absent  column  series  parameter
score             x       x     x         x       x       x       -       x
stream            x       x     x         x       x       x       -       x
ascore            x       x     x         x       x       x       -       x
astream           x       x     x         x       x       x       -       x
composition       x       x     x         x       x       x       -       x
direct call       x       x     x         x       x       x       -       x
direct batch      -       -     x         -       x       -       x       -
remote            x       x     x         x       x       x       -       -
client            x       x     x         x       x       x       -       -
guerdon score     x       x     x         x       x       x       -       x
guerdon preview   x       x     x         x       x       x       -       x
guerdon test      x       x     x         x       x       x       -       x
guerdon judge     x       x     x         x       x       x       -       x
guerdon train     x       x     -         -       x       x       -       x
guerdon evaluate  x       x     -         -       x       x       -       x
adaptive          x       x     x         x       x       x       -       -
adaptive batch    x       x     x         x       x       x       -       -
adaptive ws       x       x     x         x       x       x       -       -
v1                x       x     x         x       x       x       -       -
v1 chat           x       x     x         x       x       x       -       -
v1 batch          x       x     x         x       x       x       -       -
v1 ws             x       x     x         x       x       x       -       -
reward_kit        x       x     x         x       x       x       -       -
reward_kit eval   x       x     x         x       x       x       -       -
openrlhf          x       x     x         -       x       x       -       -
slime             x       x     x         -       x       x       -       -
nemo_gym          x       x     x         -       x       x       -       -
openenv           x       x     x         x       x       x       -       -
openenv ws        x       x     x         x       x       x       -       -
to_trl            x       x     x         x       x       x       x       x
to_trl async      x       x     x         x       x       x       x       x
to_axolotl        x       x     x         x       x       x       x       x
to_unsloth        x       x     x         x       x       x       x       x
to_swift          x       x     x         x       x       x       x       x
to_tunix          x       x     x         x       x       x       x       x
to_verl           x       x     x         -       x       x       -       x
to_verl sync      x       x     x         -       x       x       -       x
to_openrlhf       x       x     x         -       x       x       x       x
to_slime          x       x     x         -       x       x       -       x
to_nemo_rl        x       x     x         x       x       x       x       x
to_nemo_gym       x       x     x         -       x       x       -       x
to_skyrl          x       x     x         -       x       x       -       x
to_tinker         x       x     x         -       x       x       -       x
to_verifiers      x       x     x         x       x       x       -       x
to_art            x       x     x         x       x       x       -       x
to_openenv        x       x     x         -       x       x       -       x
"""
"""x: tried; -: the entry point has no place for such a thing."""
HEAD, *LINES = TABLE.strip().splitlines()
MARKS = {line[:18].strip(): dict(zip(HEAD.split(), line[18:].split(), strict=True)) for line in LINES}
CELLS = [(entry, kind) for entry, marks in MARKS.items() for kind, mark in marks.items() if mark == "x"]


@pytest.fixture(scope="module")
def server() -> Iterator[BackgroundServer]:
    served = [getattr(wrong_rewards, name) for name in SERVED]
    running = serve(*served, port=0, blocking=False, workers=1)
    assert isinstance(running, BackgroundServer)
    with running:
        yield running


@pytest.fixture
def place(server: BackgroundServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    backends = {**registry.BACKENDS, "parrot": "support.train_work:ParrotBackend"}
    monkeypatch.setattr(registry, "BACKENDS", backends)
    monkeypatch.chdir(tmp_path)
    return Place(tmp_path, server.url)


def numbers(entry: str, given: Given, place: Place) -> list[Any] | None:
    """What stands where scores do; an empty list for what was refused, None where there is no place for it."""
    try:
        return ENTRIES[entry](given, place)
    except (RewardError, RefusedError):
        return []
    except NotHereError:
        return None


def test_the_table_has_every_entry_point() -> None:
    assert list(MARKS) == list(ENTRIES)
    adapters = {name.split()[0] for name in ENTRIES if name.startswith("to_")}
    assert adapters == {f"to_{name.replace('-', '_')}" for name in trainers()}


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_right_is_a_number(entry: str, place: Place) -> None:
    found = numbers(entry, Given(), place)
    assert found
    assert set(found) == {1.0}


@pytest.mark.parametrize(("entry", "kind"), CELLS, ids=lambda value: value)
def test_what_is_wrong_is_none(entry: str, kind: str, place: Place) -> None:
    found = [(given, numbers(entry, given, place)) for given in KINDS[kind]]
    assert [(given, got) for given, got in found if set(got or []) - {None}] == []
    assert any(got is not None for _, got in found)


@pytest.mark.parametrize("entry", ENTRIES)
def test_where_the_table_has_a_dash_nothing_can_be_tried(entry: str, place: Place) -> None:
    for kind, mark in MARKS[entry].items():
        if mark == "-":
            assert [numbers(entry, given, place) for given in KINDS[kind]] == [None] * len(KINDS[kind])
