"""Groups of the tinker cookbook's rollouts, scored with rewards of ours; prints the trajectories."""

import asyncio
import json
import pickle
import threading
from types import SimpleNamespace

import exact_tinker
import rewards_of_ours as ours
from exact_tinker import exact
from tinker_cookbook import renderers, tokenizer_utils
from tinker_cookbook.completers import TokenCompleter, TokensWithLogprobs
from tinker_cookbook.rl.problem_env import ProblemEnv
from tinker_cookbook.rl.rollout_strategy import FailFast, RetryOnFailure
from tinker_cookbook.rl.rollouts import do_group_rollout
from tinker_cookbook.rl.types import RLDatasetBuilder

REPLIES = ["4", "5", "fail", "slow"]


class Bytes:
    """A tokenizer whose tokens are bytes."""

    bos_token = eos_token = None
    bos_token_id = eos_token_id = None
    name_or_path = "bytes"

    def encode(self, text, add_special_tokens=False):
        return list(text.encode())

    def decode(self, tokens, **options):
        return bytes(tokens).decode()


class Policy(TokenCompleter):
    """Gives the replies one after the other."""

    def __init__(self, replies=REPLIES):
        self.left = list(replies)

    async def __call__(self, model_input, stop, *, max_tokens=None):
        tokens = list(f" {self.left.pop(0)}\n\nUser:".encode())
        return TokensWithLogprobs(tokens=tokens, maybe_logprobs=[0.0] * len(tokens))


class Question(ProblemEnv):
    def get_question(self):
        return "2 + 2?"

    def check_answer(self, sample_str):
        raise AssertionError("ours scores")

    check_format = check_answer

    def get_reference_answer(self):
        return "5"


def told(group) -> dict:
    steps = [trajectory.transitions[-1] for trajectory in group.trajectories_G]
    return {
        "rewards": group.get_total_rewards(),
        "metrics": [step.metrics for step in steps],
        "logs": [step.logs for step in steps],
        "errors": [error.error_message for error in group.rollout_errors],
    }


async def stepped(env, reply: str) -> float:
    await env.initial_observation()
    return (await env.step(list(f" {reply}\n\nUser:".encode()))).reward


def main() -> None:
    tokenizer_utils.register_tokenizer("tests/bytes", Bytes)
    tokenizer = tokenizer_utils.get_tokenizer("tests/bytes")
    renderer = renderers.get_renderer("role_colon", tokenizer, model_name="tests/bytes")
    with open("prompts.jsonl", "w") as file:
        for number in range(5):
            row = {"prompt": "2 + 2?", "ground_truth": "4", "reward": number, "metrics": "named like theirs"}
            file.write(json.dumps(row) + "\n")
    made = exact_tinker.DatasetBuilder(
        data="prompts.jsonl", model_name="tests/bytes", renderer_name="role_colon", batch_size=2, group_size=4
    )
    dataset, _ = asyncio.run(made())
    builder = dataset.get_batch(0)[0]
    copied = pickle.loads(pickle.dumps(builder))
    first = asyncio.run(do_group_rollout(builder, Policy(), strategy=FailFast()))
    threaded: list = []
    rollout = do_group_rollout(copied, Policy(["4"] * 4), strategy=FailFast())
    thread = threading.Thread(target=lambda: threaded.append(asyncio.run(rollout)))
    thread.start()
    thread.join()
    strict = ours.both.to_tinker(timeout=2.0, on_failure="raise")
    one = strict.builder(renderer, "2 + 2?", group_size=2, ground_truth="4")
    retried = asyncio.run(
        do_group_rollout(one, Policy(["fail", "4", "5"]), strategy=RetryOnFailure(max_retries=1))
    )
    print(
        json.dumps(
            {
                "lengths": [len(dataset), len(dataset.get_batch(1)), isinstance(made, RLDatasetBuilder)],
                "first": told(first),
                "threaded": told(threaded[0]),
                "shared": copied.reward is builder.reward,
                "retried": told(retried),
                "around": asyncio.run(stepped(exact.around(Question(renderer)), "5")),
                "names": [exact.__name__, ours.answer.to_tinker().__name__],
                "failures": exact.failures.by_kind,
                "tags": builder.logging_tags(),
                "thinking": asyncio.run(thought()),
            }
        )
    )


async def thought() -> float:
    message = {"content": [{"type": "thinking", "thinking": "5?"}, {"type": "text", "text": "4"}]}
    env = exact.env(SimpleNamespace(parse_response=lambda _: (message, None), get_stop_sequences=list), "?")
    env._columns["ground_truth"] = "4"
    return (await env.step([])).reward


if __name__ == "__main__":
    main()
