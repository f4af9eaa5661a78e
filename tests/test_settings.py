"""The table of settings and what its values are read from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.settings import (
    SETTINGS,
    parse_bool,
    parse_bytes,
    parse_count,
    parse_positive,
    parse_seconds,
    setting,
)

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("parse", "given", "value"),
    [
        (parse_bytes, "512MB", 512 * 10**6),
        (parse_bytes, "2GiB", 2**31),
        (parse_bytes, " 1.5 gb ", 1_500_000_000),
        (parse_bytes, "3k", 3000),
        (parse_bytes, "7", 7),
        (parse_bytes, "7b", 7),
        (parse_bytes, 2048, 2048),
        (parse_seconds, "2.5", 2.5),
        (parse_seconds, " 1e3 ", 1000.0),
        (parse_seconds, 10, 10.0),
        (parse_seconds, "30s", 30.0),
        (parse_seconds, " 1.5 m ", 90.0),
        (parse_seconds, "500ms", 0.5),
        (parse_seconds, "2h", 7200.0),
        (parse_count, "0", 0),
        (parse_count, 3, 3),
        (parse_count, 3.0, 3),
        (parse_positive, "1", 1),
        (parse_bool, "YES", True),
        (parse_bool, " on ", True),
        (parse_bool, 1, True),
        (parse_bool, False, False),
        (parse_bool, "", False),
        (parse_bool, "no", False),
    ],
)
def test_readable_values(parse: Callable[[Any], Any], given: Any, value: Any) -> None:
    found = parse(given)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("parse", "values"),
    [
        (
            parse_bytes,
            ["", "0", 0, -1, True, "-5MB", "5 zb", "MB", "1e9", "0.0001", "i", "ib", None, NAN, [1]],
        ),
        (
            parse_seconds,
            ["", "0", 0, -1, "ten", "inf", INF, NAN, None, True, 10**400, [1], "10 x", "0s", "-1s", "1e3s"],
        ),
        (parse_count, ["", "-1", -1, "2.5", 2.5, INF, NAN, True, None, "many", [1]]),
        (parse_positive, ["0", 0, True, 0.5, None, INF]),
        (parse_bool, ["maybe", 2, None, "y e s", 0.5]),
    ],
)
def test_unreadable_values_are_one_line_that_shows_them(
    parse: Callable[[Any], Any], values: list[Any]
) -> None:
    for value in values:
        with pytest.raises(InputError) as caught:
            parse(value)
        text = str(caught.value)
        assert "\n" not in text
        assert len(text) < 160
        assert (repr(value) in text) or len(repr(value)) > 60


@pytest.mark.parametrize(
    ("name", "variable", "text", "value"),
    [
        ("timeout", "GUERDON_TIMEOUT", "2.5", 2.5),
        ("workers", "GUERDON_WORKERS", "0", 0),
        ("concurrency", "GUERDON_CONCURRENCY", "8", 8),
        ("max_memory", "GUERDON_MAX_MEMORY", "1GB", 10**9),
        ("load_timeout", "GUERDON_LOAD_TIMEOUT", "5", 5.0),
        ("debug", "GUERDON_DEBUG", "1", True),
    ],
)
def test_given_before_environment_before_default(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str, text: str, value: Any
) -> None:
    monkeypatch.delenv(variable, raising=False)
    assert setting(name) == SETTINGS[name].default
    monkeypatch.setenv(variable, "  ")
    assert setting(name) == SETTINGS[name].default
    monkeypatch.setenv(variable, text)
    assert setting(name) == value
    assert setting(name, "1") == 1
    monkeypatch.setenv(variable, "nonsense")
    with pytest.raises(InputError, match=f"^{variable}: 'nonsense' "):
        setting(name)


def test_defaults_read_as_their_own_values_and_have_a_sentence() -> None:
    for name, row in SETTINGS.items():
        assert (row.name, row.variable) == (name, f"GUERDON_{name.upper()}")
        assert row.help.endswith(".")
        assert row.default is None or row.parse(row.default) == row.default
