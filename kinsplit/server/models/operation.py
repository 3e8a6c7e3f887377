"""Health and errors."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import Model


class Health(Model):
    """State of the service."""

    status: str


class Problem(Model):
    """An error and its remedy."""

    field: str | None = Field(description="The part of the request that is at fault.")
    rule: str = Field(description="The rule that it breaks, or what happened.")
    value: Any = Field(description="The value given, shortened.")
    remedy: str = Field(description="What to do about it.")


class ErrorAnswer(Model):
    """The body of every error."""

    error: Problem
