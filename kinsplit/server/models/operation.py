"""Health and errors."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kinsplit.server.models.base import Model


class Health(Model):
    """Whether the service is there."""

    status: str


class Problem(Model):
    """What was wrong and what to do about it."""

    field: str | None = Field(description="What of the request it is about.")
    rule: str = Field(description="What is allowed, or what happened.")
    value: Any = Field(description="What was given, shortened.")
    remedy: str = Field(description="What to do.")


class ErrorAnswer(Model):
    """The body of every error."""

    error: Problem
