"""Tables of samples in an offline run of Weights & Biases: those of an adapter, and those of a training run."""

import json
import sys
from pathlib import Path

import wandb

from guerdon import RewardFunction, Sample
from guerdon.train.sinks.base import StepReport
from guerdon.train.sinks.tracker import TrackedRun
from guerdon.train.sinks.wandb import wandb_sink
from guerdon.trainers import SampleLog, ScoredBatch


def exact(response, answer):
    if response == "x":
        raise ValueError("half a pair: \ud83d")
    return float(response == answer)


def tables(folder):
    found = sorted(Path(folder).rglob("*.table.json"))
    return {path.name.partition("_")[0]: json.loads(path.read_text()) for path in found}


def main():
    run = wandb.init(project="tables", mode="offline", dir="adapter")
    adapter = RewardFunction(exact).to_trl(observe=SampleLog(run, rows=3), on_failure=0.0, workers=0)
    adapter(prompts=["2 + 2?"] * 5, completions=["4", "5", "x", "44", "four"], answer=["4"] * 5)
    run.log({"loss": 0.5})
    run.finish()

    sample = Sample(
        [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "4"}], answer="4"
    )
    results = [adapter.reward.evaluate(sample)]
    scored = ScoredBatch(
        samples=[sample], results=results, seconds=0.1, step=None, mode="train", adapter=adapter
    )
    sink = wandb_sink(TrackedRun(project="tables", folder=Path("train")))
    sink.step(StepReport(step=1, scalars={"reward/mean": 1.0}, scored=[scored]))
    sink.close()
    print(json.dumps({"adapter": tables("adapter"), "train": tables("train")}), file=sys.stdout)


if __name__ == "__main__":
    Path("adapter").mkdir()
    Path("train").mkdir()
    main()
