"""A reward server that punishes a letter, which each sample names in its metadata.

python examples/servers/scary_letter.py            # listens on 127.0.0.1:50056
guerdon serve examples/servers/scary_letter.py::ScaryLetterServer --port 50056
"""

from __future__ import annotations

import argparse
from typing import Any

from pydantic import BaseModel, Field

from guerdon import Response, RewardServer, ServerInfo, ValidatedRequest


class ScaryLetter(BaseModel):
    """The metadata that every request must have."""

    scary_letter: str = Field(min_length=1, max_length=1)


class ScaryLetterServer(RewardServer[ScaryLetter]):
    """One point for a completion without the scary letter."""

    def __init__(self, port: int = 50056, blocking: bool = True, **options: Any) -> None:
        super().__init__(port, ScaryLetter, blocking, **options)

    async def score(self, request: ValidatedRequest[ScaryLetter]) -> Response:
        count = request.turns[-1].content.count(request.metadata.scary_letter)
        feedback = f"There were {count} scary letters!" if count else "There were no scary letters!"
        return Response(reward=float(count == 0), metadata={"feedback": feedback})

    async def info(self) -> ServerInfo:
        return ServerInfo(
            version="1.0", name="Scary letter", description="Rewards completions without a given letter."
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=50056)
    ScaryLetterServer(parser.parse_args().port)
