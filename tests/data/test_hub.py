"""Datasets of the Hugging Face hub, as far as they can be had without it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.data.hub import is_hub_id


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("openai/gsm8k", True),
        ("openai/gsm8k:main", True),
        ("a-b/c.d_e:x-1", True),
        ("gsm8k", False),
        ("./a/b", False),
        ("/a/b", False),
        ("../a/b", False),
        ("a/b/c", False),
        ("a/b:", False),
        ("a b/c", False),
        ("a/b\n", False),
    ],
)
def test_what_an_id_looks_like(text: str, is_one: bool) -> None:
    assert is_hub_id(text) is is_one


def run(script: str, folder: Path) -> list[str]:
    """The lines that a script prints in a folder, in a process of its own that stays off the network."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": str(folder / "home"),
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env=environment,
    )
    return done.stdout.splitlines()


OPEN = """
import sys
{before}
from guerdon.data import open_dataset
from guerdon.errors import RewardError
try:
    open_dataset("openai/gsm8k")
except RewardError as error:
    print(type(error).__name__, error)
"""


def test_without_the_package_the_error_is_the_line_that_installs_it(tmp_path: Path) -> None:
    (line,) = run(OPEN.format(before="sys.modules['datasets'] = None"), tmp_path)
    assert line == (
        'MissingExtraError the Hugging Face dataset "openai/gsm8k" (there is no such file or folder) '
        'needs an extra: pip install "guerdon[data]"'
    )


def test_a_hub_that_cannot_be_reached_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="the hub needs the extra data")
    (line,) = run(OPEN.format(before=""), tmp_path)
    assert line.startswith(
        "InputError openai/gsm8k is neither a local file or folder nor available from the Hugging Face hub: "
    )


SAVED = """
from datasets import Dataset, DatasetDict
from guerdon.data import open_dataset
rows = [
    {"id": n, "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": str(n)}]}
    for n in range(30)
]
made = Dataset.from_list(rows)
made.save_to_disk("one", num_shards=3)
made.select([7, 3]).save_to_disk("chosen")
DatasetDict(train=made, test=made.select([5])).save_to_disk("splits")
print(*(s.response for s in open_dataset("one")))
print(*(s.id for s in open_dataset("chosen")))
print(*(s.id for s in open_dataset("splits", split="test")))
"""


def test_what_the_package_saves(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="saving a dataset needs the extra data")
    assert run(SAVED, tmp_path) == [" ".join(map(str, range(30))), "7 3", "5"]


# The package takes a folder of the form owner/name for a dataset, as it would one of the hub.
SPLITS = """
import os
from datasets import Dataset
from guerdon.data.files import ReadContext
from guerdon.data.hub import HubSource
from guerdon.errors import InputError
os.makedirs("owner/name")
made = Dataset.from_list([{"q": "q", "r": str(n)} for n in range(30)])
made.to_parquet("owner/name/train.parquet")
made.select(range(2)).to_parquet("owner/name/test.parquet")
for split in ("test", None, "dev"):
    try:
        part = HubSource("owner/name", split)
        print(part.size, [row["r"] for _, row in part.rows(ReadContext("x", lambda names: None))])
    except InputError as error:
        print(error)
"""


def test_splits_of_a_dataset(tmp_path: Path) -> None:
    pytest.importorskip("datasets", reason="loading a dataset needs the extra data")
    test, none, dev = run(SPLITS, tmp_path)
    assert test == "2 ['0', '1']"
    assert none == "owner/name has several splits; choose one: --split train, --split test"
    assert 'Unknown split "dev"' in dev
