"""What ``make demo`` shows: the sample conversations that come with the package."""

from __future__ import annotations

import json
from pathlib import Path

from guerdon.types import Sample

CONVERSATIONS = Path(__file__).with_name("conversations.jsonl")


def main() -> None:
    lines = CONVERSATIONS.read_text(encoding="utf-8").split("\n")
    samples = [Sample.from_row(json.loads(line)) for line in lines if line]
    questions = {sample.metadata["group_id"] for sample in samples}
    print(f"{len(samples)} responses to {len(questions)} questions in {CONVERSATIONS.name}")


if __name__ == "__main__":
    main()
