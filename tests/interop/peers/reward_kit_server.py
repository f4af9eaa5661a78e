"""reward-kit's own servers: reward_kit_server.py PORT server|app|generic.

``RewardServer`` hands its own Message objects to the reward, which only an undecorated one takes; ``create_app``
and ``generic_server`` serve the documented, decorated form.
"""

import sys

import uvicorn
from reward_kit import EvaluateResult, Message, MetricResult, generic_server, reward_function
from reward_kit.server import RewardServer, create_app


def judged(completion: str, letter: str) -> EvaluateResult:
    if completion == "raise":
        raise ValueError("asked to raise")
    count = completion.count(letter)
    metric = MetricResult(score=1 / (1 + count), is_score_valid=count == 0, reason=f"{count} of {letter}")
    return EvaluateResult(score=float(count == 0), reason=f"{count} scary letters", metrics={"count": metric})


@reward_function
def scary(messages: list[Message], ground_truth=None, scary_letter="e", **kwargs) -> EvaluateResult:
    return judged(messages[-1].content, scary_letter)


def plain(messages, ground_truth=None, scary_letter="e", **kwargs) -> EvaluateResult:
    return judged(messages[-1].content, scary_letter)


def main(port: str, kind: str) -> None:
    sys.modules["reward_kit_server"] = sys.modules["__main__"]
    if kind == "server":
        RewardServer("reward_kit_server:plain", host="127.0.0.1", port=int(port)).run()
    elif kind == "app":
        uvicorn.run(create_app(scary), host="127.0.0.1", port=int(port))
    else:
        generic_server.load_reward_function("reward_kit_server.scary")
        uvicorn.run(generic_server.app, host="127.0.0.1", port=int(port))


if __name__ == "__main__":
    main(*sys.argv[1:])
