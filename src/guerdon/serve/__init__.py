"""Rewards over HTTP: servers, clients and the wire formats between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from guerdon.serve.run import serve

__all__ = ["serve"]


def __getattr__(name: str) -> Any:
    if (
        name == "serve"
    ):  # imported when it is used: `import guerdon.serve.client.sync_client` is for those who only call
        from guerdon.serve.run import serve

        return serve
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
