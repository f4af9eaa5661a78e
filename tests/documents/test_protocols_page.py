"""The requests of docs/protocols.md are answered as the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from guerdon import RewardFunction
from guerdon.scoring.outcome import pack
from guerdon.serve.formats.base import RewardInfo
from guerdon.types import Sample
from support.docs_runner import blocks, commands, matches
from support.format_work import FORMATS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocols.md"
BLOCKS = blocks(PAGE.read_text(encoding="utf-8"))
CURLS = [pytest.param(block.body, id=f"line-{block.line}") for block in BLOCKS if block.language == "bash"]


def reward_of_the_page(directory: Path) -> RewardFunction:
    """The reward that the page defines."""
    (source,) = [block.body for block in BLOCKS if "file" in block.directives]
    (directory / "page_rewards.py").write_text(source + "\n", encoding="utf-8")
    return RewardFunction(func_path=f"{directory / 'page_rewards.py'}::exact")


@pytest.mark.parametrize("block", CURLS)
def test_a_request_is_answered_as_the_page_says(block: str, tmp_path: Path) -> None:
    body = re.sub(r"\n> ", " ", block)
    ((command, shown),) = commands(body)
    request = re.fullmatch(r"curl http://127\.0\.0\.1:8000(\S+) --json '(.+)'", command, re.DOTALL)
    assert request, command
    path, sent = request[1], json.loads(request[2])
    format, op = next((f, r.op) for f in FORMATS for r in f.routes if r.path == path and f.claims(r.op, sent))
    reward = reward_of_the_page(tmp_path)
    served = RewardInfo(reward.name, reward.version, reward.parameters)
    asked = format.read(op, request[2].encode(), served)
    samples = [sample for sample in asked.samples if isinstance(sample, Sample)]
    found = [pack(result) for result in reward.evaluate_batch(samples)] if samples else []
    status, answer = format.write(op, asked.context, found, served)
    assert status == 200
    assert matches("\n".join(shown), answer.decode()), answer.decode()


def test_the_page_shows_every_format() -> None:
    paths = {match[1] for block in BLOCKS for match in re.finditer(r":8000(/\S+)", block.body)}
    assert all(paths & {route.path for route in format.routes} for format in FORMATS)
