"""``make demo``: the bundled conversations scored by two rewards, one of which fails on some of them.

``python examples/demo.py --picture FILE.svg`` draws that output as a picture of a terminal.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from rich.console import Console

import guerdon
from guerdon.console import print_sample, print_statistics

HERE = Path(__file__).parent
CONVERSATIONS = HERE / "conversations.jsonl"
REWARDS = [f"{HERE / 'composed.py'}::combined", f"{HERE / 'trainers' / 'my_rewards.py'}::last_number"]
SHOWN = (2, 20)
"""A wrong answer, and a right one that ``last_number`` cannot read."""

FURTHER = """\
Next, where the network allows it: the reference solutions of GSM8K, all right
  .venv/bin/pip install -e ".[math,data]"
  .venv/bin/guerdon score math openai/gsm8k:main --split test \\
      --prompt-column question --response-column answer --answer-column answer"""


def demo(console: Console) -> None:
    samples = list(guerdon.open_dataset(CONVERSATIONS))
    rewards = [guerdon.get_reward_function(path) for path in REWARDS]
    scores = {reward.name: guerdon.score(reward, samples) for reward in rewards}
    for index in SHOWN:
        print_sample(index, samples[index], {name: each[index] for name, each in scores.items()}, console)
    last = rewards[-1]
    statistics = scores[last.name].statistics()
    print_statistics(statistics, console, f"{last.name} {last.version} on {CONVERSATIONS.name}")


def draw(file: Path) -> None:
    console = Console(record=True, width=80, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115
    demo(console)
    drawn = console.export_svg(title="make demo", unique_id="guerdon")
    # The fonts that rich names would be fetched from elsewhere; every reader has a monospaced one.
    file.write_text(re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL), encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--picture"]:
        draw(Path(sys.argv[2]))
        return
    console = Console()
    demo(console)
    console.print()
    console.print(FURTHER, highlight=False, markup=False)


if __name__ == "__main__":
    main()
