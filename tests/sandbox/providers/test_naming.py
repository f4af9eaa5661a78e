"""Providers by their names."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.errors import InputError
from guerdon.sandbox.providers import Piston, Provider, SandboxFusion, provider_of
from support.provider_services import (
    E2BService,
    FusionService,
    PistonService,
    served,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("piston", Piston),
        ("piston:http://host:2000", Piston),
        ("Sandbox-Fusion:https://host/path", SandboxFusion),
        ("sandbox_fusion:http://[::1]:8080", SandboxFusion),
        ("sandboxfusion", SandboxFusion),
    ],
)
def test_names_of_providers(text: str, kind: type[Provider]) -> None:
    provider = provider_of(text)
    assert type(provider) is kind
    assert provider_of(provider) is provider


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "docker",
            "no provider 'docker': write NAME or NAME:ADDRESS with a name of sandboxfusion, piston, e2b",
        ),
        ("http://host:2000", "no provider"),
        ("", "no provider ''"),
        ("piston:", "has no address: write piston:http://HOST:PORT"),
        ("piston:host:2000", "is not an address"),
        ("piston:http://secret@host", "give a key as api_key"),
        (7, "text or a Provider, not int"),
    ],
)
def test_names_that_are_none(text: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        provider_of(text)
    assert "secret" not in str(caught.value)


def test_keys_and_addresses_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    with pytest.raises(InputError, match="set E2B_API_KEY"):
        provider_of("e2b")
    monkeypatch.setenv("E2B_API_KEY", "e2b_secret")
    with served(E2BService()) as service:
        monkeypatch.setenv("E2B_SANDBOX_URL", service.address)
        with provider_of(f"e2b:{service.address}") as provider:
            assert provider.run("print(1)").stdout == "1\n"
    with served(PistonService()) as service:
        monkeypatch.setenv("PISTON_ENDPOINT", service.address)
        monkeypatch.setenv("PISTON_API_KEY", "k2")
        with provider_of("piston") as provider:
            assert provider.run("print(1)").stdout == "1\n"
        assert service.sent[0].headers["authorization"] == "k2"
    with served(FusionService()) as service:
        monkeypatch.setenv("SANDBOX_FUSION_ENDPOINT", service.address)
        monkeypatch.setenv("SANDBOX_FUSION_API_KEY", "k3")
        with provider_of("sandboxfusion") as provider:
            assert provider.run("print(1)").stdout == "1\n"
        assert service.sent[0].headers["authorization"] == "Bearer k3"
