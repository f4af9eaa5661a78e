"""adaptive-sdk's own server with the scary letter reward of its documentation: adaptive_server.py PORT."""

import sys

from adaptive_sdk.external import Response, RewardServer, ServerInfo, ValidatedRequest
from pydantic import BaseModel, Field


class ScaryLetter(BaseModel):
    scary_letter: str = Field(min_length=1, max_length=1)


class ScaryLetterServer(RewardServer[ScaryLetter]):
    def __init__(self, port, blocking=True, **options):
        super().__init__(port, ScaryLetter, blocking, **options)

    async def score(self, request: ValidatedRequest[ScaryLetter]) -> Response:
        completion = request.turns[-1].content
        if completion == "raise":
            raise ValueError("asked to raise")
        count = completion.count(request.metadata.scary_letter)
        feedback = f"There were {count} scary letters!" if count else "There were no scary letters!"
        return Response(reward=float(count == 0), metadata={"feedback": feedback})

    async def info(self) -> ServerInfo:
        return ServerInfo(version="1.0", name="Scary letter", description="Punishes a letter.")


if __name__ == "__main__":
    ScaryLetterServer(port=int(sys.argv[1]))
