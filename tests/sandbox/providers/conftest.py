"""A service on loopback for each provider, and the provider that asks it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from guerdon.sandbox.providers import E2B, Piston, Provider, SandboxFusion
from support.provider_services import (
    QUICK,
    E2BService,
    FusionService,
    PistonService,
    Service,
    provider_for,
    served,
)


@pytest.fixture(params=[FusionService, PistonService, E2BService], ids=["fusion", "piston", "e2b"])
def service(request: pytest.FixtureRequest) -> Iterator[Service]:
    with served(request.param()) as service:
        yield service


@pytest.fixture
def provider(service: Service) -> Iterator[Provider]:
    with provider_for(service) as provider:
        yield provider


@pytest.fixture
def fusion() -> Iterator[tuple[FusionService, SandboxFusion]]:
    with served(FusionService()) as service, SandboxFusion(service.address, retries=QUICK) as provider:
        yield service, provider


@pytest.fixture
def piston() -> Iterator[tuple[PistonService, Piston]]:
    with served(PistonService()) as service, Piston(service.address, retries=QUICK) as provider:
        yield service, provider


@pytest.fixture
def e2b() -> Iterator[tuple[E2BService, E2B]]:
    with served(E2BService()) as service, provider_for(service) as provider:
        yield service, provider
