"""A reward server that needs no metadata.

python examples/servers/length.py            # listens on 127.0.0.1:50056
guerdon serve examples/servers/length.py::LengthServer --port 50056
"""

from __future__ import annotations

import argparse
from typing import Any

from guerdon import EmptyMetadata, Response, RewardServer, ServerInfo, ValidatedRequest

FULL = 100
"""A completion of this many characters has the full score."""


class LengthServer(RewardServer[EmptyMetadata]):
    """Longer completions score more, up to 100 characters."""

    def __init__(self, port: int = 50056, blocking: bool = True, **options: Any) -> None:
        super().__init__(port, EmptyMetadata, blocking, **options)

    async def score(self, request: ValidatedRequest[EmptyMetadata]) -> Response:
        return Response(reward=min(len(request.turns[-1].content) / FULL, 1.0))

    async def info(self) -> ServerInfo:
        return ServerInfo(
            version="1.0", name="Length", description=f"Rewards longer responses, up to {FULL} characters."
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=50056)
    LengthServer(parser.parse_args().port)
