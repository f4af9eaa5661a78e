"""The suite ``json-schema``: every required case of both drafts is right."""

from __future__ import annotations

from pathlib import Path

import pytest

import guerdon
from guerdon.accuracy.suite import Suite
from guerdon.accuracy.suites import json_schema as module
from guerdon.accuracy.suites.json_schema import SUITES, jsonschema_verdict


@pytest.mark.parametrize("suite", SUITES, ids=[suite.name for suite in SUITES])
def test_every_case_is_right(data_dir: Path, suite: Suite) -> None:
    cases = list(suite.cases(data_dir))
    assert len(cases) > 1_500
    assert len({case.id for case in cases}) == len(cases)
    scores = guerdon.score("json_schema", [dict(case.row) for case in cases], workers=1)
    wrong = [case.id for case, result in zip(cases, scores, strict=True) if result.score != float(case.right)]
    assert wrong == []


def test_both_drafts_are_in_it(data_dir: Path) -> None:
    kinds = {case.kind.split()[0] for case in module.required(data_dir)}
    assert kinds == {"draft7", "draft2020-12"}


def test_the_peer_decides() -> None:
    row = {"messages": [{"role": "assistant", "content": "1"}], "draft": "7", "formats": False}
    assert jsonschema_verdict({**row, "schema": {"type": "integer"}}) is True
    assert jsonschema_verdict({**row, "schema": {"type": "string"}}) is False
    assert jsonschema_verdict({**row, "schema": {"$ref": "#/nowhere"}}) is None
