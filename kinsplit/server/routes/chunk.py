"""`POST /chunk`: how a strategy cuts a text."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import Response
from pydantic import Field

from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import Strategy, create, strategy_class
from kinsplit.parsers.strategies.llm import NO_MODEL
from kinsplit.server import limits
from kinsplit.server.dependencies import AskersOf, PreviewerOf, PreviewersOf, SettingsOf
from kinsplit.server.models.base import Model
from kinsplit.server.models.strategies import Preview
from kinsplit.server.previews import preview
from kinsplit.server.settings import ServiceSettings

router = APIRouter(tags=["strategies"])

#: Names of what comes with kinsplit, so that nothing is looked up anywhere.
_AT_HAND = frozenset({"bundled", NO_MODEL})


class PreviewRequest(Model):
    """A text to cut, and how."""

    text: str = Field(max_length=limits.TEXT, description="The text.")
    strategy: str = Field(default="sentence", max_length=limits.NAME, description="Name of the strategy.")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Its parameters; those left out have their defaults. See GET /strategies."
    )


@router.post("/chunk", response_model=Preview, summary="Cut a text and look at it")
async def chunk(
    settings: SettingsOf,
    previewer: PreviewerOf,
    previewers: PreviewersOf,
    askers: AskersOf,
    request: Annotated[PreviewRequest, Body()],
) -> Response:
    """Cut a text by a strategy. Nothing is kept, and no model is loaded but those that the service has."""
    strategy = _strategy(request, settings)
    asks = strategy.parameters.get("model", NO_MODEL) != NO_MODEL
    # One that asks a model mostly waits for it: there is nothing to take away.
    workers, make = (askers, preview) if asks else (previewers, previewer.preview)
    return Response(await workers.run(make, strategy, request.text), media_type="application/json")


def settable(kind: type[Strategy], parameter: str) -> bool:
    """Return whether a request may choose a parameter: what has to be loaded from somewhere it may not."""
    return parameter not in kind.resources and parameter not in kind.incidental


def _strategy(request: PreviewRequest, settings: ServiceSettings) -> Strategy:
    """Make the strategy that a request names; nothing is loaded yet."""
    kind = strategy_class(request.strategy.casefold())
    for name, value in request.parameters.items():
        if name in kind.model_fields and not settable(kind, name) and not _at_hand(value):
            remedy = "Leave it out, or run kinsplit chunk on your own machine."
            raise InvalidParameterError(name, "can't be chosen in a preview", value, remedy)
    parameters = dict(request.parameters)
    if "model" in kind.resources:
        parameters = {"model": settings.model or NO_MODEL, "timeout": settings.answer_timeout, **parameters}
    return create(kind.name, **parameters)


def _at_hand(value: object) -> bool:
    return isinstance(value, str) and value in _AT_HAND
