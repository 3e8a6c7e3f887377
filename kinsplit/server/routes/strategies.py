"""`GET /strategies`: strategies, collections, rankings and rerankers."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from kinsplit.loaders import suffixes
from kinsplit.parsers import names, strategy_class
from kinsplit.parsers.registry import describe
from kinsplit.retrieval import rankings
from kinsplit.server import limits
from kinsplit.server.collections import Collections, OpenCollection, UploadFolders
from kinsplit.server.dependencies import CollectionsDep, SettingsDep, UploadsDep, WorkersDep, respond
from kinsplit.server.models import IndexedRow, ParameterRow, RankingRow, Strategies, StrategyRow, UploadRules, WatchRow
from kinsplit.server.routes.chunk import settable
from kinsplit.server.settings import ServiceSettings
from kinsplit.watch import WatchStatus

router = APIRouter(tags=["strategies"])


@router.get("/strategies", response_model=Strategies, summary="List strategies, collections, rankings and rerankers")
async def strategies(
    collections: CollectionsDep, settings: SettingsDep, folders: UploadsDep, workers: WorkersDep
) -> Response:
    """List all strategies with their parameters, the indexed collections, the rankings and the rerankers."""
    return await respond(workers, _list, collections, settings, folders)


def _list(collections: Collections, settings: ServiceSettings, folders: UploadFolders | None) -> Strategies:
    uploads = None
    if folders is not None:
        uploads = UploadRules(folder=folders.name, max_bytes=settings.max_upload, suffixes=list(suffixes()))
    return Strategies(
        strategies=[_strategy(name) for name in names()],
        indexed=[_indexed(collection, collection is collections.default) for collection in collections],
        rankings=[RankingRow(name=each.name, description=each.description) for each in rankings()],
        rerankers=list(collections.rerankers),
        uploads=uploads,
    )


def _strategy(name: str) -> StrategyRow:
    described, kind = describe(name), strategy_class(name)
    rows = [ParameterRow(**row, settable=settable(kind, row["name"])) for row in described["parameters"]]
    return StrategyRow(**{**described, "parameters": rows})


def _indexed(collection: OpenCollection, default: bool) -> IndexedRow:
    strategy, sources = collection.index.strategy, collection.index.store.sources(0)
    return IndexedRow(
        name=collection.name,
        collection=collection.stored_name,
        strategy=strategy.name,
        # The name of a tokenizer or a model may be a local path.
        parameters={key: value for key, value in strategy.described.items() if settable(type(strategy), key)},
        documents=len(sources),
        chunks=sum(sources.values()),
        watches=[_watch(watch.status) for watch in collection.watches],
        default=default,
    )


def _watch(status: WatchStatus) -> WatchRow:
    # Its message may hold paths.
    error = None if status.error is None else type(status.error).__name__
    failed, seen = sorted(status.failed)[: limits.VALUES], status.updated
    return WatchRow(state=status.state, updates=status.updates, updated=seen, failed=failed, error=error)
