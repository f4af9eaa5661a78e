"""Programs on somebody else's machine: SandboxFusion, Piston and E2B behind one interface."""

from guerdon.sandbox.providers.base import Provider
from guerdon.sandbox.providers.e2b import E2B
from guerdon.sandbox.providers.http import Retries
from guerdon.sandbox.providers.naming import provider_of
from guerdon.sandbox.providers.piston import Piston
from guerdon.sandbox.providers.remote import RemoteExecutor
from guerdon.sandbox.providers.sandbox_fusion import SandboxFusion

__all__ = ["E2B", "Piston", "Provider", "RemoteExecutor", "Retries", "SandboxFusion", "provider_of"]
