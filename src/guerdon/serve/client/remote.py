"""RemoteScorer: the scorer of a reward that runs on a server."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.checks import refuse_unreachable
from guerdon.errors import BindingError, InputError, RemoteError, RewardError
from guerdon.reward.binding.conventions import MISSING, POINTWISE, STANDARD_NAMES, columns_of
from guerdon.reward.binding.signature import missing_parameter
from guerdon.reward.hooks import RemoteRewardSpec
from guerdon.reward.scorers.base import Scorer
from guerdon.reward.scorers.component import CallArguments
from guerdon.reward.versioning.fingerprint import fingerprint
from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.reward.versioning.version import digest
from guerdon.scoring.worker.entry import inside_worker
from guerdon.serve.client.address import Address
from guerdon.serve.client.codecs import V1Codec
from guerdon.serve.client.detection import FORMATS, DetectedServer, detect
from guerdon.serve.client.event_loop import run_sync
from guerdon.serve.client.formats import V1ClientFormat
from guerdon.serve.client.options import CallOptions
from guerdon.serve.client.response import HttpResponse
from guerdon.serve.client.results import read_result
from guerdon.serve.client.retries import Deadline
from guerdon.serve.client.transport import Transport
from guerdon.serve.client.websocket import WebSocketClient, WebSocketUnsupportedError
from guerdon.settings import setting
from guerdon.types import EvaluateResult, Provenance, Sample

_FIREWORKS = "https://api.fireworks.ai"
_ASK_SECONDS = 5.0
"""How long the server's name and version are waited for, before a run."""
_ASK_AGAIN_SECONDS = 30.0
_IN_FLIGHT = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteTarget:
    """Where a remote reward may be, and how it is called there."""

    addresses: tuple[Address, ...]
    """In order of preference."""
    format: str | None
    options: CallOptions


class RemoteScorer(Scorer):
    """A reward on a server. Creating it opens no connection; the first use detects the server's format.

    Over Guerdon's own format the samples go as frames over one WebSocket, over the others as one request each.
    """

    is_async = True
    is_remote = True

    def __init__(
        self, name: str, place: RemoteTarget, parameters: Mapping[str, Any], timeout: float | None
    ) -> None:
        self.name = name
        self.timeout = timeout
        self._place = place
        self._parameters = dict(parameters)
        self._provenance: Provenance | None = None
        self._name_there: str | None = None
        self._wrong_address: InputError | None = None
        self._required: list[str] | None = None
        self._requested_at = -_ASK_AGAIN_SECONDS
        self._connections: dict[asyncio.AbstractEventLoop, _Connection] = {}

    @classmethod
    def of(cls, spec: RemoteRewardSpec) -> RemoteScorer:
        """Raises BindingError and InputError for arguments that make no remote reward."""
        arguments = dict(spec.arguments)
        base = arguments.pop("base_url", None)
        form = arguments.pop("format", None)
        if form is not None and form not in FORMATS:
            raise BindingError(f"format must be one of {', '.join(FORMATS)}, not {form!r}")
        timeout = arguments.pop("timeout", None)
        key = arguments.pop("api_key", None)
        if spec.mode == "remote":
            if spec.model_id is not None:
                raise BindingError('model_id belongs to mode="hosted"')
            addresses, name = _remote_addresses(spec, base)
        else:
            addresses, name, key = _hosted_address(spec, base, key)
            form = form or "reward-kit"
        options = CallOptions(
            api_key=key,
            timeout=60.0 if timeout is None else timeout,
            max_connections=_IN_FLIGHT,
            retries=arguments.pop("retries", 5),
            ca_file=arguments.pop("ca_file", None),
        )
        place = RemoteTarget(addresses=addresses, format=form, options=options)
        return cls(name, place, arguments, timeout)

    def with_parameters(self, more: Mapping[str, Any]) -> RemoteScorer:
        scorer = RemoteScorer(self.name, self._place, {**self._parameters, **more}, self.timeout)
        scorer._provenance, scorer._required, scorer._name_there = None, self._required, self._name_there
        return scorer

    def __getstate__(self) -> dict[str, Any]:
        return {n: v for n, v in self.__dict__.items() if n != "_connections"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _connections={})

    def check_ready(self) -> None:
        """Raise RemoteError where no server listens at any of its addresses."""
        failures = []
        for address in self._place.addresses:
            try:
                refuse_unreachable(address.url, f"the server of {self.name}")
                return
            except RemoteError as error:
                failures.append(error)
        raise failures[0]

    # What it is.

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._parameters

    def fingerprint_data(self, snapshot: DependencySnapshot) -> Any:
        """Of where it is, for want of what the server says."""
        place = [str(address) for address in self._place.addresses]
        return ["remote", place, self._place.format, fingerprint(self._parameters, None, snapshot)]

    def remote_provenance(self) -> Provenance | None:
        """The reward's name, version and parameters as the server reports them; requested once.

        None if it does not answer soon, or if its format has no versions; requested again later. Raises InputError
        where the address is that of several rewards.
        """
        if self._provenance is None and time.monotonic() - self._requested_at > _ASK_AGAIN_SECONDS:
            self._requested_at = time.monotonic()
            # Not on the loop that scores: it may be the caller's own, and wait for this.
            try:
                run_sync(self._ask())
            except InputError as error:
                self._wrong_address = error
            except (RewardError, TimeoutError):
                return None
        if self._wrong_address is not None:
            raise self._wrong_address
        return self._provenance

    def remote_name(self) -> str | None:
        if self._name_there is None:
            self.remote_provenance()
        return self._name_there

    async def _ask(self) -> None:
        async with asyncio.timeout(_ASK_SECONDS):
            connection = _Connection(self._place)
            try:
                self._note(await connection.detected(Deadline(_ASK_SECONDS)))
            finally:
                await connection.close()

    def _note(self, detected: DetectedServer) -> None:
        info = detected.info
        self._name_there = detected.name
        if info is None:
            self._requested_at = math.inf  # its format has no versions
        if info is None or self._provenance is not None:
            return
        version, parameters = str(info.get("version")), dict(info.get("parameters") or {})
        if self._parameters:
            version = digest([version, fingerprint(self._parameters)])
        self._provenance = Provenance(str(info.get("name")), version, {**parameters, **self._parameters})
        self._required = detected.required

    def missing(self, samples: Sequence[Sample]) -> tuple[str, list[str]] | None:
        self.remote_provenance()
        columns = {column for sample in samples for column in columns_of(sample)}
        for name in self._required or ():
            if name not in self._parameters and all(_offered(name, sample) is MISSING for sample in samples):
                return name, sorted(columns)
        return None

    def check(self, sample: Sample, explicit: CallArguments) -> None:
        lack = self.missing([sample])
        if lack is not None and lack[0] not in explicit:
            name = self._provenance.reward if self._provenance is not None else self.name
            raise BindingError(missing_parameter(name, *lack), parameter=lack[0])

    # Scoring.

    def score(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        raise TypeError("a remote reward is scored on an event loop")

    async def ascore(self, sample: Sample, explicit: CallArguments) -> EvaluateResult:
        connection = self._connection()
        self._requested_at = max(self._requested_at, time.monotonic())
        detected = await connection.detected(None)
        self._note(detected)
        wire_format = detected.wire_format
        given = {n: v for n, v in explicit.items() if n not in STANDARD_NAMES}
        # What the call gave under these names is in the sample.
        fixed = {n: v for n, v in self._parameters.items() if n not in explicit}
        body = wire_format.encode(sample, {**fixed, **given})
        if isinstance(wire_format, V1ClientFormat) and connection.has_socket:
            try:
                value = await connection.socket(detected.address).request(
                    lambda n: f'{{"n":{n},"sample":{body.decode()}}}'
                )
                return self._checked(read_result(value, connection.where))
            except WebSocketUnsupportedError:
                connection.has_socket = False
        answer = await connection.post(detected.address / wire_format.path, body, wire_format.is_final)
        return self._checked(wire_format.decode(answer))

    def _checked(self, result: EvaluateResult) -> EvaluateResult:
        """The result, signed as this reward; refused where a run meets another version than it began with."""
        if self._provenance is None or result.provenance is None:
            return result
        if self._parameters:
            version = digest([result.provenance.version, fingerprint(self._parameters)])
            parameters = {**result.provenance.parameters, **self._parameters}
            result.with_provenance(Provenance(result.provenance.reward, version, parameters))
        there = result.provenance.version if result.provenance else self._provenance.version
        if there != self._provenance.version:
            if inside_worker():
                raise RemoteError(
                    f"the server now has version {there} of {self.name}, and this run began with "
                    f"{self._provenance.version}; score again"
                )
            self._provenance = result.provenance
        return result

    def _connection(self) -> _Connection:
        loop = asyncio.get_running_loop()
        if (connection := self._connections.get(loop)) is None:
            for ended in [other for other in self._connections if other.is_closed()]:
                del self._connections[ended]
            connection = self._connections[loop] = _Connection(self._place)
            connection.transport.close_with(self)
        return connection


class _Connection:
    """The connections of one event loop to the server, and what was found out about it."""

    def __init__(self, place: RemoteTarget) -> None:
        self._place = place
        self.transport = Transport(place.addresses[0], place.options)
        self._detection: asyncio.Task[DetectedServer] | None = None
        self._socket: WebSocketClient | None = None
        self.has_socket = True

    @property
    def where(self) -> str:
        return str(self.transport.address)

    async def detected(self, deadline: Deadline | None) -> DetectedServer:
        """The server's format, detected once. Raises RemoteError if it cannot be reached."""
        if self._detection is None:
            self._detection = asyncio.create_task(
                detect(self.transport, self._place.addresses, self._place.format, deadline)
            )
        task = self._detection
        try:
            # Not cancelled with the sample that began it: others wait for it, too.
            return await asyncio.shield(task)
        except RewardError:
            if self._detection is task:
                self._detection = None
            raise

    def socket(self, address: Address) -> WebSocketClient:
        if self._socket is None:
            self.transport.address = address
            session = os.urandom(16).hex()
            self._socket = WebSocketClient(self.transport, V1Codec, V1Codec.path, session)
        return self._socket

    async def post(self, url: str, body: bytes, is_final: Callable[[HttpResponse], bool]) -> HttpResponse:
        return await self.transport.request("POST", url, body, is_final=is_final)

    async def close(self) -> None:
        if self._detection is not None:
            self._detection.cancel()
        if self._socket is not None:
            await self._socket.close()
        await self.transport.close()


def _offered(name: str, sample: Sample) -> Any:
    getter = POINTWISE.get(name)
    return getter(sample) if getter is not None else sample.metadata.get(name, MISSING)


def _remote_addresses(spec: RemoteRewardSpec, base: str | None) -> tuple[tuple[Address, ...], str]:
    if spec.endpoint is not None:
        address = Address.of(spec.endpoint)
        last = address.path.rpartition("/rewards/")[2] if "/rewards/" in address.path else ""
        return (address,), spec.name or (last.partition("/")[0] or "remote")
    if spec.name is None:
        raise BindingError('mode="remote" needs an endpoint, or a name and a base URL')
    root = base if base is not None else setting("base_url")
    if root is None:
        raise InputError(f"set GUERDON_BASE_URL to where {spec.name!r} is served, or give endpoint=")
    there = Address.of(root)
    return (
        Address.of(there / f"rewards/{spec.name}"),
        Address.of(there / f"v1/reward/{spec.name}"),
    ), spec.name


def _hosted_address(
    spec: RemoteRewardSpec, base: str | None, key: str | None
) -> tuple[tuple[Address, ...], str, str | None]:
    if spec.model_id is None:
        raise BindingError(f'mode="{spec.mode}" needs a model_id')
    if spec.endpoint is not None:
        raise BindingError(
            f'mode="{spec.mode}" has its address from the base URL; endpoint is for mode="remote"'
        )
    root = base if base is not None else setting("base_url")
    if root is None and spec.mode == "fireworks_hosted":
        # The key of other servers is not shown to this one.
        root = os.environ.get("FIREWORKS_API_BASE") or _FIREWORKS
        key = key if key is not None else os.environ.get("FIREWORKS_API_KEY", "")
    if root is None:
        raise InputError("set GUERDON_BASE_URL to where the model is hosted, or give base_url=")
    address = Address.of(Address.of(root) / f"v1/models/{spec.model_id}/reward")
    return (address,), spec.name or spec.model_id.rpartition("/")[2], key
