"""Values that cross the border between programs: every type, subclasses, and text that is not a value."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import itertools
import math
import tracemalloc
from typing import Any, NamedTuple

import numpy
import pytest

from guerdon.sandbox.inside import decoding, encoding

UTC2 = datetime.timezone(datetime.timedelta(hours=2))


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -7, 10**30, 10**5000, -(10**5000), 1.5, -0.0, 1e308, 2 + 3j, "", "ä\n\x00",
        "\ud800", b"\x00\xff", bytearray(b"ab"), [], [1, [2, "x"], None], [10**5000, 1], (), (1,), ((1, 2), [3]),
        set(), {1, 2}, frozenset({(1, 2)}), {}, {1: "a", (2, 3): {"b": [4]}, None: 5, "x": ()}, range(3, 9, 2),
        range(10**5000), decimal.Decimal("1.50"), decimal.Decimal("NaN"), fractions.Fraction(-3, 7),
        datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 1, 2, 3, 4, UTC2, fold=1),
        datetime.datetime(2024, 2, 29), datetime.time(1, 2, 3), datetime.timedelta(-1, 5, 6), ...,
        collections.deque([1, 2]), {"a": {"dict": [1, 2]}},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    back = decoding.loads(encoding.dumps(value))
    assert type(back) is type(value)
    assert back == value or (back != back and value != value)
    if isinstance(value, float):
        assert math.copysign(1, back) == math.copysign(1, value)
    if isinstance(value, dict):
        assert list(back) == list(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_floats_that_are_no_numbers(value: float) -> None:
    back = decoding.loads(encoding.dumps([value]))[0]
    assert type(back) is float
    assert repr(back) == repr(value)


class Always(list[int]):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Any:
        return iter([42])

    def __len__(self) -> int:
        return 1


class Point(NamedTuple):
    x: int
    y: int


class Lying(int):
    def __index__(self) -> int:
        return 9

    def __repr__(self) -> str:
        return "9"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Text(str):
    def __str__(self) -> str:
        return "other"


class Colour(enum.IntEnum):
    RED = 3


class Mapping(dict[str, int]):
    def items(self) -> Any:
        return [("forged", 1)]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Always([1, 2]), [1, 2]),
        (Point(1, 2), (1, 2)),
        (Lying(5), 5),
        ([Lying(5)], [5]),
        (Text("own"), "own"),
        (Colour.RED, 3),
        (Mapping(a=2), {"a": 2}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.defaultdict(int, {"a": 1}), {"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_subclass_becomes_its_base_by_the_bases_own_methods(value: Any, plain: Any) -> None:
    back = decoding.loads(encoding.dumps(value))
    assert type(back) is type(plain)
    assert plain == back


@pytest.mark.parametrize(
    ("value", "items"),
    [
        (iter([1, 2]), [1, 2]),
        ((n for n in (1, 2)), [1, 2]),
        (map(str, [1]), ["1"]),
        (zip([1], [2], strict=True), [(1, 2)]),
        (itertools.chain([1], [2]), [1, 2]),
        (reversed([1, 2]), [2, 1]),
        (enumerate("a"), [(0, "a")]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_can_be_walked_once_stays_so_and_is_no_list(value: Any, items: list[Any]) -> None:
    back = decoding.loads(encoding.dumps(value))
    assert back != items
    assert list(back) == items
    assert list(back) == []


def test_views_of_a_dict_compare_as_views_do() -> None:
    back = decoding.loads(encoding.dumps([{"a": 1}.keys(), {"a": 1}.items(), {"a": 1}.values()]))
    assert back[0] == {"a"}
    assert back[1] == {("a", 1)}
    assert list(back[2]) == [1]


class Plain:
    pass


class Letter(enum.Enum):
    A = 1


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (Plain(), "Plain"),
        (Letter.A, "Letter"),
        (lambda: 1, "function"),
        (int, "type"),
        ([1, {2: Plain()}], "Plain"),
        (itertools.count(), "more than 1000000 items"),
        ("x" * (decoding.TEXT + 1), "bytes"),
        (fractions.Fraction(10**4000, 3), "digits"),
    ],
    ids=["object", "enum", "function", "class", "within", "endless", "long text", "long fraction"],
)
def test_what_is_no_plain_data_is_refused(value: Any, word: str) -> None:
    with pytest.raises(encoding.EncodingError, match=word):
        encoding.dumps(value)


def test_a_cycle_and_a_bomb_of_references_are_refused() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    bomb: list[Any] = [1] * 100
    for _ in range(10):
        bomb = [bomb] * 100
    for value in (cycle, bomb):
        with pytest.raises(encoding.EncodingError):
            encoding.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"nothing", b"[1", b"\xff", b'{"a": 1}', b'{"tuple": [], "set": []}', b"{}", b'{"tuple": 3}',
        b'{"set": [[1]]}', b'{"set": [1, 1]}', b'{"dict": [1]}', b'{"dict": [1, 2, 1, 3]}', b'{"dict": [[], 1]}',
        b'{"int": "zz"}', b'{"int": 5}', b"1" * 5000, b'{"decimal": "x"}', b'{"decimal": 1.5}',
        b'{"fraction": [1, 0]}', b'{"fraction": ["a", 1]}', b'{"date": [2024, 13, 1]}', b'{"date": [1]}',
        b'{"datetime": [2024, 1, 1, 0, 0, 0, 0, 0, 1e300]}', b'{"timedelta": [1e300, 0, 0]}',
        b'{"range": [1, 2, 0]}', b'{"bytes": "zz"}', b'{"bytes": 5}', b'{"ellipsis": 1}',
        b'{"items": [{"tuple": [[], 1]}]}', b'{"__class__": []}',
        b'{"array": ["<i8", [2], [1]]}', b'{"array": ["O", [1], [1]]}', b'{"array": [1]}',
        b'{"array": ["<i8", [-1, -1], [1]]}', b'{"complex": ["1", 2]}',
        b"[" * 100_000, b"[" * 500 + b"]" * 499, b'{"tuple":[' * 100_000,
    ],
    ids=range(38),
)  # fmt: skip
def test_text_that_is_no_value_is_an_error_and_no_other(text: bytes) -> None:
    with pytest.raises(decoding.DecodingError):
        decoding.loads(text)


@pytest.mark.parametrize(
    "keys",
    [
        [n * (2**61 - 1) for n in range(100_000)],
        [frozenset(), *(n * (2**61 - 1) for n in range(100_000))],
    ],
    ids=["integers", "mixed"],
)
def test_keys_made_to_collide_are_refused_instead_of_taking_quadratic_time(keys: list[Any]) -> None:
    text = encoding.dumps(keys)
    for tag in (b'{"set": ', b'{"frozenset": ', b'{"keys": '):
        with pytest.raises(decoding.DecodingError, match="one hash"):
            decoding.loads(tag + text + b"}")
    assert len(decoding.loads(b'{"set": ' + encoding.dumps([2**n for n in range(5000)]) + b"}")) == 5000


def test_reading_hostile_text_takes_bounded_memory() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(decoding.DecodingError):
            decoding.loads(b"[" + b"[]," * 2_700_000 + b"[]]")
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_arrays_travel_with_type_and_shape() -> None:
    for array in (
        numpy.arange(6).reshape(2, 3),
        numpy.array(1.5),
        numpy.zeros((0, 3)),
        numpy.array(["a", "bc"]),
    ):
        back = decoding.loads(encoding.dumps(array), arrays=True)
        assert back.dtype == array.dtype
        assert back.shape == array.shape
        assert (back == array).all()
        assert decoding.loads(encoding.dumps(array)) == array.tolist() or array.size == 0
    assert decoding.loads(encoding.dumps([numpy.int64(3), numpy.float32(0.5), numpy.bool_(True)])) == [
        3,
        0.5,
        True,
    ]
    with pytest.raises(encoding.EncodingError, match="object"):
        encoding.dumps(numpy.array([object()]))
