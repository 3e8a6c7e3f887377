"""`GET /strategies`: what there is to choose from."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from kinsplit.parsers import names, strategy_class
from kinsplit.parsers.reference import describe
from kinsplit.server.collections import Library, Shelf
from kinsplit.server.dependencies import LibraryOf, WorkersOf, answer
from kinsplit.server.models.strategies import IndexedRow, ParameterRow, Strategies, StrategyRow
from kinsplit.server.routes.chunk import settable

router = APIRouter(tags=["strategies"])


@router.get("/strategies", response_model=Strategies, summary="List strategies, collections and rerankers")
async def strategies(library: LibraryOf, workers: WorkersOf) -> Response:
    """List all strategies with their parameters, the collections that can be asked, and the rerankers."""
    return await answer(workers, _list, library)


def _list(library: Library) -> Strategies:
    return Strategies(
        strategies=[_strategy(name) for name in names()],
        indexed=[_indexed(shelf, shelf is library.default) for shelf in library],
        rerankers=list(library.rerankers),
    )


def _strategy(name: str) -> StrategyRow:
    described, kind = describe(name), strategy_class(name)
    rows = [ParameterRow(**row, settable=settable(kind, row["name"])) for row in described["parameters"]]
    return StrategyRow(**{**described, "parameters": rows})


def _indexed(shelf: Shelf, default: bool) -> IndexedRow:
    strategy, sources = shelf.index.strategy, shelf.index.store.sources(0)
    return IndexedRow(
        name=shelf.name,
        collection=shelf.collection,
        strategy=strategy.name,
        # A tokenizer or a model may be named by its folder.
        parameters={key: value for key, value in strategy.described.items() if settable(type(strategy), key)},
        documents=len(sources),
        chunks=sum(sources.values()),
        default=default,
    )
