"""What a server says of a reward that it serves: its name, its version and what it asks of a request."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from guerdon.reward.function import RewardFunction
from guerdon.serve.models import ServerInfo
from guerdon.serve.worker.handler import RequestHandler
from guerdon.serve.worker.reward_columns import reward_columns


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """Plain values only: it crosses to a process that knows nothing of the reward's own classes."""

    name: str
    version: str
    parameters: Mapping[str, Any]
    """As JSON: what has no form there is text."""
    info: Mapping[str, str]
    """Adaptive's ServerInfo: version, name, description."""
    metadata_schema: Mapping[str, Any] | None
    """The JSON Schema of the metadata, where the reward declares a class for it."""
    columns: tuple[Mapping[str, Any], ...] = field(default=())
    """The function's parameters that a request's metadata supplies: name, required, annotation."""
    is_async: bool = False
    is_batch: bool = False
    direct: bool = True
    """Whether calls are answered one after the other, so that more than a few at once are of no use."""

    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of a request's metadata; from the function's parameters where no class says it."""
        if self.metadata_schema is not None:
            return self.metadata_schema
        return {
            "title": "Metadata",
            "type": "object",
            "properties": {column["name"]: {} for column in self.columns},
            "required": [column["name"] for column in self.columns if column["required"]],
        }


def describe(handler: RequestHandler, info: Any = None) -> Description:
    """The description of a handler's reward; ``info`` is what its RewardServer says of itself."""
    reward = handler.reward
    schema = handler.reward_info.metadata_cls
    return Description(
        name=reward.name,
        version=reward.version,
        parameters=from_json(to_json(dict(reward.parameters), fallback=str, inf_nan_mode="strings")),
        info=_info(reward, info),
        metadata_schema=None if schema is None else schema.model_json_schema(),
        columns=tuple(reward_columns(reward)),
        is_async=reward.is_async,
        is_batch=reward.is_batch,
        direct=handler.direct,
    )


def _info(reward: RewardFunction, given: Any) -> dict[str, str]:
    if given is None:
        text = inspect.getdoc(reward.func) if reward.func is not None else None
        first = (text or reward.name).strip().partition("\n")[0]
        return {"version": reward.version, "name": reward.name, "description": first}
    values = given.model_dump() if isinstance(given, BaseModel) else dict(given)
    return ServerInfo.model_validate(
        {n: v for n, v in values.items() if n in ServerInfo.model_fields}
    ).model_dump()
