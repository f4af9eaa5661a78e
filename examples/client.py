"""Requests scores from a running reward server: start examples/servers/scary_letter.py first."""

from __future__ import annotations

import sys

from guerdon import Request, RewardClient, Turn

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:50056"


def request(answer: str, letter: str) -> Request:
    """A question, its answer, and the letter that the answer must not contain."""
    return Request(
        turns=[
            Turn(role="user", content="What is the name of the sea that touches Stockholm?"),
            Turn(role="assistant", content=answer),
        ],
        metadata={"scary_letter": letter},
    )


def main() -> None:
    with RewardClient(url=URL) as client:
        info = client.info()
        print(f"{info.name} {info.version}: {info.description}")
        response = client.score(request("Baltic Sea.", "d"))
        print(response.reward, response.metadata["feedback"])
        for response in client.batch_score([request("Baltic Sea.", letter) for letter in "abc"]):
            print(response.reward, response.metadata["feedback"])


if __name__ == "__main__":
    main()
