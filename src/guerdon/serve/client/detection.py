"""Detection: which wire format a server uses at an address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from guerdon.errors import InputError, RemoteError, RewardError
from guerdon.serve.client.address import Address
from guerdon.serve.client.formats import (
    AdaptiveClientFormat,
    ClientFormat,
    RewardKitClientFormat,
    V1ClientFormat,
)
from guerdon.serve.client.retries import Deadline
from guerdon.serve.client.transport import Transport

FORMATS = ("v1", "adaptive", "reward-kit")
_ENDS = {"/v1/score": "v1", "/score": "adaptive", "/reward": "reward-kit", "/evaluate": "reward-kit"}
"""The paths at which the formats take samples, which an endpoint may be given as."""


@dataclass(frozen=True, slots=True)
class DetectedServer:
    """What was found out about a server."""

    wire_format: ClientFormat
    address: Address
    """The address that the format's path is relative to."""
    info: Mapping[str, Any] | None = None
    """What a Guerdon server says of the reward."""
    required: list[str] | None = None
    """The parameters that the reward cannot do without, where the server says so."""
    name: str | None = None
    """The reward's name, where the server says it."""


async def detect(
    transport: Transport, addresses: Sequence[Address], format_name: str | None, deadline: Deadline | None
) -> DetectedServer:
    """The format at the first of the addresses where the server answers in one.

    Raises RemoteError where it cannot be reached, or answers nothing that is known.
    """
    probe = _ServerProbe(transport, deadline or transport.options.deadline())
    for address in addresses:
        for candidate in _bases(address):
            if format_name in (None, "v1") and (found := await probe.v1(candidate)) is not None:
                return found
    if format_name == "v1":
        raise RemoteError(f"{addresses[0]} does not serve Guerdon's v1 format", url=str(addresses[0]))
    for address in addresses:
        for candidate in _bases(address):
            if format_name in (None, "adaptive") and (found := await probe.adaptive(candidate)) is not None:
                return found
    if format_name == "adaptive":
        raise RemoteError(f"{addresses[0]} does not serve Adaptive's format", url=str(addresses[0]))
    return await probe.reward_kit(addresses)


def _bases(address: Address) -> list[Address]:
    """The address, and what it is without the path of a format at its end."""
    found = [address]
    for end in _ENDS:
        if address.path.endswith(end):
            found.append(address.without(end))
            break
    return found


def _names_in(info: Mapping[str, Any]) -> list[str]:
    """The rewards of a server, of which it names all where its root is asked."""
    names = info.get("rewards")
    return [str(name) for name in names] if isinstance(names, list) else []


class _ServerProbe:
    """Questions to a server about itself, under one deadline."""

    def __init__(self, transport: Transport, deadline: Deadline) -> None:
        self._transport, self._deadline = transport, deadline

    async def _get(self, url: str) -> dict[str, Any]:
        response = await self._transport.request("GET", url, deadline=self._deadline)
        try:
            return response.object()
        except RewardError:
            return {}

    async def v1(self, address: Address) -> DetectedServer | None:
        info = await self._get(address / "v1/info")
        if not {"guerdon", "version", "name"} <= set(info):
            return None
        if len(several := _names_in(info)) > 1:
            raise InputError(
                f"{address} serves {len(several)} rewards: {', '.join(several[:12])}; give the address of one, such "
                f"as {address / f'rewards/{quote(several[0])}'}"
            )
        schema = await self._get(address / "v1/schema")
        required = [
            str(parameter.get("name"))
            for parameter in schema.get("parameters") or ()
            if isinstance(parameter, dict) and parameter.get("required")
        ]
        required_here = None if info.get("is_batch") else required
        return DetectedServer(V1ClientFormat(), address, info, required_here, str(info["name"]))

    async def adaptive(self, address: Address) -> DetectedServer | None:
        info = await self._get(address / "info")
        if not {"version", "name", "description"} <= set(info):
            return None
        schema = await self._get(address / "metadata_schema")
        name = str(info["name"])
        return DetectedServer(AdaptiveClientFormat(schema, name), address, name=name)

    async def reward_kit(self, addresses: Sequence[Address]) -> DetectedServer:
        address = addresses[-1]
        if address.path.endswith("/evaluate"):
            return DetectedServer(RewardKitClientFormat("", nested=True), address)
        if address.path.endswith("/reward") or "/reward/" in address.path:
            return DetectedServer(RewardKitClientFormat("", nested=False), address)
        health = await self._get(address / "health")
        if "reward_function" in health:
            return DetectedServer(RewardKitClientFormat("evaluate", nested=True), address)
        if health.get("status") == "ok":
            return DetectedServer(RewardKitClientFormat("reward", nested=False), address)
        return DetectedServer(RewardKitClientFormat("", nested=False), address)
