"""The suites of IFEval: a case for each instruction, with the verdict of the mode."""

from __future__ import annotations

import json
from pathlib import Path

import guerdon
from guerdon.accuracy.suites.ifeval import FILE, SUITES

ROW = {
    "id": "r1",
    "prompt": "Say no\u2028thing.",
    "instruction_id_list": ["punctuation:no_comma", "startend:quotation"],
    "kwargs": [{}, {}],
    "response": 'Sure:\n"Nothing"',
    "strict_list": [True, False],
    "loose_list": [True, True],
}


def test_a_case_for_each_instruction(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps(ROW, ensure_ascii=False) + "\n", encoding="utf-8")
    strict, loose = (list(suite.cases(tmp_path)) for suite in SUITES)
    assert [(case.id, case.kind, case.right) for case in strict] == [
        ("r1/0", "punctuation:no_comma", True),
        ("r1/1", "startend:quotation", False),
    ]
    assert [case.right for case in loose] == [True, True]


def test_ours_scores_the_cases(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps(ROW, ensure_ascii=False) + "\n", encoding="utf-8")
    for suite in SUITES:
        (given,) = suite.catalogue
        reward = guerdon.get_reward_function(given.reward, **given.parameters)
        cases = list(suite.cases(tmp_path))
        scores = guerdon.score(reward, [case.row for case in cases], workers=0).scores
        assert [score == 1 for score in scores] == [case.right for case in cases]
