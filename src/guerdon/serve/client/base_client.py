"""BaseRewardClient: the arguments that RewardClient and AsyncRewardClient have in common."""

from __future__ import annotations

import os

from guerdon.errors import BindingError, InputError
from guerdon.serve.client.address import Address
from guerdon.serve.client.options import CallOptions, TransportName
from guerdon.serve.client.session import ServerSession
from guerdon.settings import setting


class BaseRewardClient:
    """A reward server's address and how it is called; the twins add calls, awaited or not."""

    def __init__(
        self,
        url: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float | None = 60.0,
        max_connections: int = 32,
        retries: int = 5,
        transport: TransportName = "http",
        ca_file: str | os.PathLike[str] | None = None,
    ) -> None:
        options = CallOptions(
            api_key=api_key,
            timeout=timeout,
            max_connections=max_connections,
            retries=retries,
            transport=transport,
            ca_file=ca_file,
        )
        self._session = ServerSession(Address.of(_server_url(url, base_url)), options)

    @property
    def address(self) -> Address:
        """The server's address, or that of one reward on it."""
        return self._session.address

    @property
    def options(self) -> CallOptions:
        """How the server is called."""
        return self._session.options

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.address}>"


def _server_url(url: str | None, base_url: str | None) -> str:
    if url is not None and base_url is not None:
        raise BindingError("url and base_url are two names for the same thing; give one of them")
    given = url if url is not None else base_url if base_url is not None else setting("base_url")
    if given is None:
        raise InputError("give the server's address as url=, or set GUERDON_BASE_URL")
    return str(given)
