"""What the rewards for style say where a library that they need is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("library", "call", "says"),
    [
        (
            "py3langid",
            'get_reward_function("guerdon.rewards.language.reward:language", target="de")',
            'telling the language of a text needs an extra: pip install "guerdon[language]"',
        ),
        (
            "tokenizers",
            'get_reward_function("guerdon.rewards.length:length", unit="tokens", tokenizer="a.json")',
            'counting tokens needs an extra: pip install "guerdon[tokens]"',
        ),
        (
            "tokenizers",
            'get_reward_function("guerdon.rewards.conciseness:conciseness", unit="tokens", tokenizer="a.json")',
            'counting tokens needs an extra: pip install "guerdon[tokens]"',
        ),
    ],
)
def test_a_missing_library_is_said(library: str, call: str, says: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from guerdon import get_reward_function\n"
        f"result = {call}(response='Der Zug kommt an.')\n"
        "print(result.error_kind, result.error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"missing_extra {says}")


def test_the_libraries_are_loaded_where_they_are_used() -> None:
    code = (
        "import sys; import guerdon.rewards.language.reward, guerdon.rewards.length, guerdon.rewards.compositions\n"
        "print({'numpy', 'py3langid', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
