"""Indexing of files and datasets on a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kinsplit import embedding
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.foreign import ForeignEmbedder
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.remote_models.usage import usage_of
from kinsplit.errors import InvalidParameterError, KinsplitError
from kinsplit.index import DEFAULT_COLLECTION, Index
from kinsplit.indexing.origins import check_same, find_duplicates, find_gone
from kinsplit.indexing.run import warn_of_duplicates
from kinsplit.integrations.ray.columns import check_documents, to_files
from kinsplit.integrations.ray.file_systems import Found, find
from kinsplit.integrations.ray.report import RayReport, Stored, Totals
from kinsplit.integrations.ray.stages import TOKENS, Compare, Embed, Load, Split, Write
from kinsplit.loaders import Discovery, Limits
from kinsplit.parsers import Strategy
from kinsplit.retrieval import KinWeights
from kinsplit.stores.address import has_server
from kinsplit.stores.logic import batches
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    from ray.data import Dataset

# Files read by one task at most, so that a lost task costs little.
_FILES = 32
# Documents that an actor with a GPU takes at a time, for which Ray wants a number.
_DOCUMENTS = 16
# Bytes of a block, in which batches travel between the stages.
_BLOCK = 2**24


def index(
    source: str | Path | Sequence[str | Path] | Dataset,
    address: str,
    *,
    collection: str = DEFAULT_COLLECTION,
    strategy: str | Strategy | None = None,
    embedder: object = "bundled",
    embedding_context: str | None = None,
    language: str | None = None,
    weights: KinWeights | None = None,
    subjects: Sequence[str] = (),
    readers: Sequence[str] = (),
    prune: bool = False,
    limits: Limits | None = None,
    vector_cache: bool = False,
    concurrency: int | None = None,
    num_cpus: float | None = None,
    num_gpus: float = 0,
    tokens: int = TOKENS,
    writers: int = 4,
    on_found: Callable[[Discovery], None] | None = None,
    on_stored: Callable[[Stored], None] | None = None,
) -> RayReport:
    """Index files or a dataset on a Ray cluster, with the result of `Index.add`.

    Files are read and split where a processor is free, compared with the collection in one look-up per batch, embedded
    by a pool of actors and written by another. Whatever Ray runs again, and whatever is started again after a crash,
    leaves the collection that one quiet run leaves. No stage holds the corpus; this process holds the files' names.

    Args:
        source: Files, folders, patterns such as "docs/**/*.md", and addresses of PyArrow's file systems such as
            "s3://bucket/docs", all as every node of the cluster reaches them; or a dataset with the columns `id` and
            `text`, whose other columns are metadata.
        address: Address of a store that all nodes reach: "pgvector:DSN" or "qdrant:URL".
        collection: Name of the collection there; a new one is created.
        strategy: See `kinsplit.Index`.
        embedder: See `kinsplit.Index`; an object must be one that can be pickled.
        embedding_context: See `kinsplit.Index`.
        language: See `kinsplit.Index`.
        weights: See `kinsplit.Index`.
        subjects: Names of the sub-folders of the given folders to read; empty for all.
        readers: Names of the readers of files that go before the others.
        prune: Whether to delete documents of the given folders and files that no longer exist there, once everything is
            written; see `kinsplit.Index.add`.
        limits: Limits of each file; None for the defaults.
        vector_cache: Whether each node caches vectors; see `kinsplit.Index`.
        concurrency: Number of actors that embed. None takes as many as the GPUs allow, or without `num_gpus` half the
            number of processors.
        num_cpus: Processors of each of them. None takes 1, and 0 for a model on a GPU or a server.
        num_gpus: GPUs of each of them, such as 1 or 0.5.
        tokens: Number of tokens, estimated, that an actor embeds in one call of the model.
        writers: Number of actors that write, and so the most connections that write at the same time.
        on_found: Function called with the files once they are found.
        on_stored: Function called with the report of each document, and of each file without documents.

    Returns:
        The sums of the reports.

    Raises:
        MissingExtraError: Ray is not installed.
        KinsplitError: See `kinsplit.Index` and `kinsplit.Index.add`; before anything is read or written.
        InvalidParameterError: The store belongs to one process, the dataset lacks a column, or the cluster lacks GPUs.
    """
    ray = _started()
    begun = time.perf_counter()
    if not has_server(address):
        rule = "must be one that several processes can open: 'pgvector:DSN' or 'qdrant:URL'"
        raise InvalidParameterError("address", rule, address, "Use a server, or index without Ray.")
    pool = Pool.of(ray.cluster_resources(), embedder, concurrency, num_cpus, num_gpus, writers)
    is_dataset = isinstance(source, ray.data.Dataset)
    given = _checked(source, prune=prune) if is_dataset else find(source, subjects, readers)
    if isinstance(given, Found) and on_found is not None:
        on_found(given.discovery)
    with Index(
        address,
        collection=collection,
        strategy=strategy,
        embedder=embedder,
        embedding_context=embedding_context,
        language=language,
        weights=weights,
    ) as opened:
        model = _portable(embedder, opened.embedder)
        embed = (model, opened.embedding_context, tokens, vector_cache)
        totals = Totals()
        _run(opened, given, pool, embed, (address, collection, model), limits, totals, on_stored)
        gone = _gone(opened, given, totals) if prune and isinstance(given, Found) else []
        pruned = sum(opened.store.delete(source_id) for source_id in gone)
        return totals.report(pruned, len(gone), time.perf_counter() - begun, usage_of(opened.embedder))


def _run(
    opened: Index,
    given: Found | Dataset,
    pool: Pool,
    embed: tuple[Any, ...],
    write: tuple[str, str, object],
    limits: Limits | None,
    totals: Totals,
    on_stored: Callable[[Stored], None] | None,
) -> None:
    """Send files or documents through the stages, and add up the reports.

    Args:
        opened: The collection.
        given: The files, or a dataset of documents.
        pool: Resources of the stages.
        embed: Arguments of `Embed`.
        write: Arguments of `Write`.
        limits: Limits of each file.
        totals: The sums.
        on_stored: Function called with each report.
    """
    folders: tuple[str, ...] = ()
    if isinstance(given, Found):
        totals.warnings += _check(opened, given)
        folders, documents = given.folders, _documents(given, limits, pool)
    else:
        documents = given
    reports = (
        documents.map_batches(Split(opened.strategy, opened.embedding_context), **pool.task)
        .map_batches(Compare(write[0], write[1], folders), **pool.task)
        .map_batches(Embed, fn_constructor_args=embed, **pool.embedding)
        .map_batches(Write, fn_constructor_args=write, **pool.writing)
    )
    _consume(reports, totals, on_stored)


def _started() -> ModuleType:
    """Return Ray, connected to the cluster that RAY_ADDRESS names, or to one started on this machine.

    Raises:
        MissingExtraError: It is not installed.
    """
    with needs("ray"):
        import ray
        import ray.data  # needs pandas and PyArrow

    if not ray.is_initialized():
        ray.init()
    return ray


@dataclass(frozen=True, slots=True)
class Pool:
    """Resources of the stages.

    Attributes:
        task: Keyword arguments of `map_batches` for tasks.
        embedding: Those for the actors that embed.
        writing: Those for the actors that write.
        files: Number of tasks to divide the files among, at least.
    """

    task: dict[str, Any]
    embedding: dict[str, Any]
    writing: dict[str, Any]
    files: int

    @classmethod
    def of(
        cls,
        cluster: Mapping[str, float],
        embedder: object,
        concurrency: int | None,
        num_cpus: float | None,
        num_gpus: float,
        writers: int,
    ) -> Pool:
        """Return the resources for a cluster.

        Raises:
            InvalidParameterError: The cluster has too few GPUs or processors.
        """
        from ray.data import ActorPoolStrategy

        cpus, gpus = cluster.get("CPU", 0.0), cluster.get("GPU", 0.0)
        share = min(1.0, cpus / 2)  # A task's processors; on one processor, half of it, since an actor has the rest.
        if num_cpus is None:
            num_cpus = 0.0 if num_gpus or usage_of(embedding.resolve(embedder)) else share
        if num_gpus < 0 or num_gpus > gpus:
            remedy = "Leave it out, or connect to a cluster that has them."
            raise InvalidParameterError("num_gpus", f"must be at most {gpus:g}, the cluster's GPUs", num_gpus, remedy)
        if concurrency is None:
            concurrency = max(1, int(gpus / num_gpus if num_gpus else cpus / 2))
        if concurrency < 1 or concurrency * num_gpus > gpus or concurrency * num_cpus > cpus - share:
            rule = f"must be at least 1, and leave a processor of {cpus:g} for other stages"
            rule += f" and fit into {gpus:g} GPUs" if num_gpus else ""
            raise InvalidParameterError("concurrency", rule, concurrency, "Lower it, or num_cpus or num_gpus.")
        if writers < 1:
            raise InvalidParameterError("writers", "must be at least 1", writers, "The default is 4.")
        # A task waits half of its time for a reader's process or the store.
        task = {"batch_format": "pyarrow", "num_cpus": share / 2}
        actors = {
            "batch_format": "pyarrow",
            "compute": ActorPoolStrategy(size=concurrency),
            "num_cpus": num_cpus,
            **({"num_gpus": num_gpus, "batch_size": _DOCUMENTS} if num_gpus else {}),
        }
        # Writers wait for a server most of the time.
        writing = {"batch_format": "pyarrow", "compute": ActorPoolStrategy(min_size=1, max_size=writers), "num_cpus": 0}
        return cls(task, actors, writing, max(1, int(4 * cpus)))


def _checked(dataset: Dataset, *, prune: bool) -> Dataset:
    """Return a dataset of documents.

    Raises:
        InvalidParameterError: It lacks a column, or documents are to be pruned that lie in no folder.
    """
    if prune:
        rule = "must be False for a dataset, which lies in no folder"
        raise InvalidParameterError("prune", rule, prune, "Delete documents by id: kinsplit delete ID.")
    check_documents(dataset.columns() or ())
    return dataset


def _check(opened: Index, found: Found) -> list[str]:
    """Check that no file would replace another one, and return warnings of files that are indexed under two ids."""
    store, fingerprint = opened.store, opened.strategy.fingerprint
    here = [source for source in found.discovery.files if source.source_id not in found.addresses]
    check_same(store, fingerprint, here)
    return warn_of_duplicates(find_duplicates(store, fingerprint, here))


def _documents(found: Found, limits: Limits | None, pool: Pool) -> Dataset:
    """Return the documents of files, which tasks read."""
    import ray

    files = found.discovery.files
    size = max(1, min(_FILES, -(-len(files) // pool.files)))
    tables = [to_files(part, found.addresses) for part in batches(files, size)]
    return ray.data.from_arrow(tables).map_batches(Load(limits), **pool.task)


def _portable(given: object, resolved: Embedder) -> object:
    """Return an embedder as it can be sent to other processes: kinsplit's own by its name.

    Raises:
        InvalidParameterError: It can't be pickled.
    """
    if isinstance(given, str):
        return given
    own = without_cache(resolved)
    if type(own).__module__.startswith("kinsplit.embedding.") and not isinstance(own, ForeignEmbedder):
        return own.name
    from ray import cloudpickle

    try:
        cloudpickle.dumps(given)
    except Exception as error:
        remedy = "Give the model by its name, such as 'st:BAAI/bge-m3'."
        raise InvalidParameterError("embedder", f"must be one that can be pickled ({error})", given, remedy) from error
    return given


def _consume(reports: Dataset, totals: Totals, on_stored: Callable[[Stored], None] | None) -> None:
    """Run a pipeline, and add up its reports as they arrive.

    Raises:
        KinsplitError: The error that ended it.
    """
    from ray.exceptions import RayError

    context = reports.context
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK
    try:
        for table in reports.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
            for one in totals.add(table.to_pylist()):
                if on_stored is not None:
                    on_stored(one)
    except RayError as error:
        raise _cause(error) from None


def _cause(error: BaseException) -> BaseException:
    """Return the error of kinsplit that made a task fail, or the error itself."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, KinsplitError):
            return seen
        seen = getattr(seen, "cause", None) or seen.__cause__
    return error


def _gone(opened: Index, found: Found, totals: Totals) -> list[str]:
    files = found.discovery.files
    read = [source for source in files if source.source_id not in totals.unread]
    return find_gone(opened.store, opened.strategy.fingerprint, found.discovery, read, totals)
