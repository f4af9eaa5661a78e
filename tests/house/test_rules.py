"""The rules of the house hold for every module of the package and every test."""

from __future__ import annotations

import pytest

from house import rules


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
def test_nothing_breaks_the_rules(rule: rules.Rule) -> None:
    assert list(rule()) == []
