"""Providers by name: what ``Sandbox(provider="piston:http://host:2000")`` means."""

from __future__ import annotations

from guerdon.errors import InputError
from guerdon.sandbox.providers.base import Provider
from guerdon.sandbox.providers.e2b import E2B
from guerdon.sandbox.providers.piston import Piston
from guerdon.sandbox.providers.sandbox_fusion import SandboxFusion

PROVIDERS: dict[str, type[SandboxFusion] | type[Piston] | type[E2B]] = {
    "sandboxfusion": SandboxFusion,
    "piston": Piston,
    "e2b": E2B,
}


def provider_of(text: str | Provider) -> Provider:
    """The provider that a text names: ``sandboxfusion``, ``piston`` or ``e2b``, then ``:`` and an address.

    Without an address, the environment or the provider's own default has it. Keys come from the environment
    only, since a text like this one ends up in logs. A Provider is given back as it is. Raises InputError.

    >>> provider_of("piston:http://pistons.internal:2000").name
    'Piston'
    """
    if isinstance(text, Provider):
        return text
    if not isinstance(text, str):
        raise InputError(f"provider must be text or a Provider, not {type(text).__name__}")
    word, colon, address = text.strip().partition(":")
    kind = PROVIDERS.get(word.lower().replace("-", "").replace("_", ""))
    if kind is None:
        known = ", ".join(PROVIDERS)
        shown = word if word.isidentifier() else text.strip()[:40]
        raise InputError(f"there is no provider {shown!r}: write NAME or NAME:ADDRESS with a name of {known}")
    if colon and not address:
        raise InputError(f"{text.strip()!r} has no address: write {word}:http://HOST:PORT, or {word} alone")
    return kind(address or None)
