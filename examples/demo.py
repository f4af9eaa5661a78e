"""What ``make demo`` shows: the bundled conversations, scored with a composed reward.

``python examples/demo.py --picture FILE.svg`` draws the same as a picture of a terminal.
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
REWARD = f"{HERE / 'composed.py'}::combined"

FURTHER = """\
Next, where the network allows it: the reference solutions of GSM8K, all right
  .venv/bin/pip install -e ".[math,data]"
  .venv/bin/guerdon score math openai/gsm8k:main --split test \\
      --prompt-column question --response-column answer --answer-column answer"""


def demo(console: Console) -> None:
    samples = list(guerdon.open_dataset(CONVERSATIONS))
    reward = guerdon.get_reward_function(REWARD)
    scores = guerdon.score(reward, samples)
    for index in (0, 2):
        print_sample(index, samples[index], {reward.name: scores[index]}, console)
    print_statistics(scores.statistics(), console, f"{reward.name} {reward.version} on {CONVERSATIONS.name}")


def picture(file: Path) -> None:
    console = Console(record=True, width=80, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115
    demo(console)
    drawn = console.export_svg(title="guerdon", unique_id="guerdon")
    # The fonts that rich names would be fetched from elsewhere; every reader has a monospaced one.
    file.write_text(re.sub(r"\s*@font-face \{.*?\}", "", drawn, flags=re.DOTALL), encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--picture"]:
        picture(Path(sys.argv[2]))
        return
    console = Console()
    demo(console)
    console.print()
    console.print(FURTHER, highlight=False, markup=False)


if __name__ == "__main__":
    main()
