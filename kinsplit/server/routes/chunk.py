"""`POST /chunk`: how a strategy cuts a text."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body
from fastapi.responses import Response
from pydantic import Field

from kinsplit.chunk import Document, Span
from kinsplit.errors import InvalidParameterError
from kinsplit.parsers import Strategy, create, strategy_class
from kinsplit.parsers.base import Cut
from kinsplit.parsers.contextual import NO_MODEL
from kinsplit.server import bounds
from kinsplit.server.models.base import Model
from kinsplit.server.models.strategies import Preview
from kinsplit.server.places import Places
from kinsplit.server.services import AskersOf, PreviewersOf, SettingsOf, answer
from kinsplit.server.settings import ServiceSettings
from kinsplit.server.shown import chunk_of

router = APIRouter(tags=["strategies"])

#: Names of what comes with kinsplit, so that nothing is looked up anywhere.
_AT_HAND = frozenset({"bundled", NO_MODEL})
_TEXT = "text"


class PreviewRequest(Model):
    """A text to cut, and how."""

    text: str = Field(max_length=bounds.TEXT, description="The text.")
    strategy: str = Field(default="sentence", max_length=bounds.NAME, description="Name of the strategy.")
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Its parameters; those left out have their defaults. See GET /strategies."
    )


@router.post("/chunk", response_model=Preview, summary="Cut a text and look at it")
async def chunk(
    settings: SettingsOf, previewers: PreviewersOf, askers: AskersOf, request: Annotated[PreviewRequest, Body()]
) -> Response:
    """Cut a text by a strategy. Nothing is kept, and no model is loaded but those that the service has."""
    strategy = _strategy(request, settings)
    asks = strategy.parameters.get("model", NO_MODEL) != NO_MODEL
    return await answer(askers if asks else previewers, _preview, strategy, request.text)


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


def _preview(strategy: Strategy, text: str) -> Preview:
    calls = strategy.cost([text]).calls
    if calls > bounds.CALLS:
        rule = f"can't take more than {bounds.CALLS} calls of the language model"
        raise InvalidParameterError("text", rule, f"{calls} calls", "Take a part of it.")
    document = Document(_TEXT, text)
    levels = strategy.cut(document)
    _check_size([cut for level in levels for cut in level])
    places = Places([Span(0, len(text))], text)
    return Preview(
        strategy=strategy.name,
        parameters=strategy.described,
        chunks=[chunk_of(chunk, places) for chunk in strategy.assemble(document, levels)],
    )


def _at_hand(value: object) -> bool:
    return isinstance(value, str) and value in _AT_HAND


def _check_size(cuts: list[Cut]) -> None:
    """Make sure that the answer stays small: with a stride of 1 a page of text makes a book of chunks."""
    characters = sum(end - start for cut in cuts for start, end in cut.spans)
    if len(cuts) > bounds.CHUNKS or characters > bounds.CHARACTERS:
        rule = f"must make at most {bounds.CHUNKS} chunks with {bounds.CHARACTERS} characters together"
        made = f"{len(cuts)} chunks, {characters} characters"
        raise InvalidParameterError(
            "parameters", rule, made, "Make chunks larger, overlaps smaller or the text shorter."
        )
