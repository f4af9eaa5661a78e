"""Metadata checked against a server's JSON Schema before it is sent, in the form of Adaptive's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from guerdon.errors import MissingExtraError


class MetadataValidationResponse(BaseModel):
    """Whether metadata fits a server's schema, and why it does not."""

    is_valid: bool
    error_message: str | None = None


class BatchedMetadataValidationResponse(BaseModel):
    """The same for several, in order."""

    responses: list[MetadataValidationResponse]


def check_metadata(
    schema: Mapping[str, Any], metadata: Mapping[str, Any] | None
) -> MetadataValidationResponse:
    """Whether metadata fits a JSON Schema; absent metadata counts as empty.

    Raises MissingExtraError where jsonschema is not installed.
    """
    try:
        import jsonschema
        import referencing
    except ImportError:
        raise MissingExtraError.of("client", "checking metadata") from None
    # An empty registry, so that a schema cannot have other addresses fetched.
    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    try:
        problems = sorted(
            validator.iter_errors(dict(metadata or {})), key=lambda problem: list(map(str, problem.path))
        )
    except referencing.exceptions.Unresolvable as error:
        return MetadataValidationResponse(
            is_valid=False, error_message=f"the server's schema is broken: {error}"
        )
    if not problems:
        return MetadataValidationResponse(is_valid=True)
    lines = [f"{'.'.join(['metadata', *map(str, problem.path)])}: {problem.message}" for problem in problems]
    return MetadataValidationResponse(is_valid=False, error_message="; ".join(lines))
