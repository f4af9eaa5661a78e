"""What the policy of a run answers before and after training, as one object: tunix_policy.py RUN."""

import json
import sys
from pathlib import Path

from guerdon.train.backends.tunix.backend import TunixBackend
from guerdon.train.config.compose import read
from guerdon.train.data.arithmetic import arithmetic, right
from guerdon.train.records.folder import RunFolder

SETTINGS = {"top_p": 1.0, "top_k": None, "max_new_tokens": 4}


def main(run: str) -> None:
    folder = RunFolder(Path(run))
    config, (_, checkpoint) = read(folder.config), folder.saved()[-1]
    problems = arithmetic()
    prompts = [problem.prompt for problem in problems]
    backend, told = TunixBackend(), {}
    for name, place in (("before", None), ("after", checkpoint)):
        policy = backend.policy(config, place)
        answers = policy.generate(prompts, temperature=0.0, seed=1, **SETTINGS)
        truths = [problem.columns["ground_truth"] for problem in problems]
        told[name] = sum(right(a, t) for a, t in zip(answers, truths, strict=True)) / len(prompts)
    told["again"] = policy.generate(prompts[:7], temperature=0.0, seed=9, **SETTINGS) == answers[:7]
    drawn = [policy.generate(prompts, temperature=2.0, seed=seed, **SETTINGS) for seed in (3, 3, 4)]
    told["same_seed"], told["other_seed"] = drawn[0] == drawn[1], drawn[0] == drawn[2]
    chat = [{"role": "user", "content": prompts[0]}]
    told["chat"] = policy.generate([chat], temperature=0.0, seed=1, **SETTINGS) == answers[:1]
    policy.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
