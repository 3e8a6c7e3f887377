"""`POST /chunk`: a preview of a strategy on a text."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import Response
from pydantic import Field

from kinsplit.errors import InvalidParameterError
from kinsplit.language_models.registry import NO_MODEL
from kinsplit.parsers import Strategy, class_and_parameters, create
from kinsplit.server import limits
from kinsplit.server.dependencies import ModelWorkersDep, PreviewerDep, PreviewWorkersDep, SettingsDep
from kinsplit.server.models import Model, Preview
from kinsplit.server.processes.previews import preview
from kinsplit.server.settings import ServiceSettings

router = APIRouter(tags=["strategies"])

#: Resources that come with kinsplit: nothing is loaded from elsewhere.
_BUILT_IN = frozenset({"bundled", NO_MODEL})


class PreviewRequest(Model):
    """A text to split, and the strategy to split it with."""

    text: str = Field(max_length=limits.TEXT, description="The text.")
    strategy: str | None = Field(
        default=None, max_length=limits.NAME, description="Name of the strategy. Default: sentences up to 160 tokens."
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Its parameters, if not the defaults; see GET /strategies."
    )


@router.post("/chunk", response_model=Preview, summary="Preview a strategy")
async def chunk(
    settings: SettingsDep,
    previewer: PreviewerDep,
    preview_workers: PreviewWorkersDep,
    model_workers: ModelWorkersDep,
    request: Annotated[PreviewRequest, Body()],
) -> Response:
    """Split a text by a strategy. Nothing is stored, and only the service's own models are loaded."""
    strategy = _strategy(request, settings)
    uses_model = strategy.parameters.get("model", NO_MODEL) != NO_MODEL
    # A call of a model mostly waits, so it needs no process whose resources are limited.
    workers, make = (model_workers, preview) if uses_model else (preview_workers, previewer.preview)
    return Response(await workers.run(make, strategy, request.text), media_type="application/json")


def settable(kind: type[Strategy], parameter: str) -> bool:
    """Return whether requests may set a parameter; they may not where it makes the service load something."""
    return parameter not in kind.resources and parameter not in kind.incidental


def _strategy(request: PreviewRequest, settings: ServiceSettings) -> Strategy:
    """Create the strategy of a request without loading anything."""
    name = None if request.strategy is None else request.strategy.casefold()
    kind, parameters = class_and_parameters(name, request.parameters)
    for name, value in request.parameters.items():
        if name in kind.model_fields and not settable(kind, name) and not _is_built_in(value):
            remedy = "Leave it out, or run kinsplit chunk on your own machine."
            raise InvalidParameterError(name, "can't be set in a preview", value, remedy)
    if "model" in kind.resources:
        parameters = {"model": settings.model or NO_MODEL, "timeout": settings.answer_timeout, **parameters}
    return create(kind.name, **parameters)


def _is_built_in(value: object) -> bool:
    return isinstance(value, str) and value in _BUILT_IN
