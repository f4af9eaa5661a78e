"""The files that setup guides write from templates."""

from __future__ import annotations

import pytest

from guerdon import get_reward_function
from guerdon.trainers import SetupRequest, find_trainer


@pytest.mark.parametrize("name", ["verifiers", "prime-rl", "tinker", "art", "openpipe-art"])
def test_template_files_are_python(name: str) -> None:
    options = {"on_failure": 0.5, "timeout": 3.0}
    guide = find_trainer(name).setup_guide(
        SetupRequest(spec="exact_match", reward=get_reward_function("exact_match"), options=options)
    )
    ((file, text),) = guide.files.items()
    assert file.startswith("exact_match_")
    compile(text, file, "exec")
    assert "on_failure=0.5, timeout=3.0" in text
