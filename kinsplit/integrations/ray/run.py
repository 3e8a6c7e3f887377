"""Indexing of files and datasets on a Ray cluster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from kinsplit import embedding
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.foreign import ForeignEmbedder
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.remote_models.base import Used, usage_of
from kinsplit.errors import InvalidParameterError, require
from kinsplit.index import DEFAULT_COLLECTION, Index
from kinsplit.indexing.origins import find_duplicates, find_gone, new_files
from kinsplit.indexing.reports import AddEvent, AddReport, FilesFound, OnEvent, TextsEmbedded
from kinsplit.indexing.run import warn_of_duplicates
from kinsplit.indexing.vectors import warn_of_long
from kinsplit.integrations.ray.cluster import Pool, Resources
from kinsplit.integrations.ray.columns import check_documents, pack, to_events, unpack
from kinsplit.integrations.ray.file_systems import FoundFiles, TemporaryDict, check_addresses, find
from kinsplit.integrations.ray.nodes import cause_of, check_nodes, noting_node
from kinsplit.integrations.ray.stages import Compare, Embed, Load, Split, Write
from kinsplit.keywords import AddKeywords, IndexKeywords
from kinsplit.loaders import Limits
from kinsplit.loaders.discovery import count_courses
from kinsplit.options import AddOptions, IndexOptions
from kinsplit.stores.address import has_server
from kinsplit.support.extras import needs

if TYPE_CHECKING:
    import pyarrow as pa
    from ray.data import Dataset

# Files read by one task, so that a lost task costs little, unless that made too many tasks.
_FILES = 32
# Blocks of files, unless the cluster has more processors: this process keeps statistics of each one until the end.
_BLOCKS = 500
# Calls of a client's functions that wait for it.
_CALLS = 1000
# Bytes of a block, in which batches travel between the stages.
_BLOCK = 2**24


class RayKeywords(IndexKeywords, AddKeywords, total=False):
    """Options of an index and of adding to it as keyword arguments."""


def index(
    source: str | Path | Sequence[str | Path] | Dataset,
    address: str,
    *,
    collection: str = DEFAULT_COLLECTION,
    resources: Resources | None = None,
    on_event: OnEvent | None = None,
    **options: Unpack[RayKeywords],
) -> AddReport:
    """Index files or a dataset on a Ray cluster, with the result of `Index.add` up to the rounding of vectors.

    Whatever Ray runs again, and whatever is started again after a crash, leaves the collection that one quiet run
    leaves. No stage holds the corpus, and this process keeps the names of files in a temporary file.

    Args:
        source: Files, folders, patterns such as "docs/**/*.md", and addresses of PyArrow's file systems such as
            "s3://bucket/docs", all as every node reaches them; or a dataset with the columns `id` and `text`, whose
            other columns are metadata.
        address: Address of a store that every node reaches: "pgvector:DSN" or "qdrant:URL".
        collection: Name of the collection there; a new one is created.
        resources: Share of the cluster; None for `Resources()`.
        on_event: Function called with what happens, as it arrives: the events of `kinsplit.indexing.reports`. A file
            may be read after some of its documents are stored.
        **options: See `kinsplit.options.IndexOptions`, whose cache is that of each node, and
            `kinsplit.options.AddOptions`.

    Returns:
        The report.

    Raises:
        MissingExtraError: Ray is not installed.
        KinsplitError: See `kinsplit.Index` and `kinsplit.Index.add`; raised before anything is read or written.
        InvalidParameterError: The store belongs to one process, the dataset lacks a column, or the cluster lacks GPUs.
        LoadError: See `find`; or a node lacks the files, or sees others under the same paths.
        WorkerError: A node can't run kinsplit, or Ray gave up.
    """
    ray = _start()
    adding, rest = AddOptions.part(options)
    settings = _Settings(collection, adding, IndexOptions(**rest), resources or Resources())
    if ray.util.client.ray.is_connected():
        return _relayed(ray, (source, address, settings), on_event)
    return _index(source, address, settings, on_event or _ignore)


def _ignore(event: AddEvent) -> None:
    pass


class _Settings(NamedTuple):
    """Arguments of `index`, which lists them."""

    collection: str
    adding: AddOptions
    options: IndexOptions
    resources: Resources


def _index(source: Any, address: str, settings: _Settings, on_event: OnEvent) -> AddReport:
    """Index files or a dataset from a process of the cluster; see `index`."""
    begun, resources = time.perf_counter(), settings.resources
    adding, options = settings.adding, settings.options.given()
    cache, model = options.pop("vector_cache", False), options.get("embedder", "bundled")
    pool = resources.on(_start().cluster_resources(), embedding.resolve(model))
    given = _given(source, address, adding)
    if isinstance(given, FoundFiles):
        check_nodes(given)
        on_event(FilesFound(len(given.files), given.skipped))
    with Index(address, collection=settings.collection, **options) as opened:
        model = _portable(model, opened.embedder)
        embed = (model, opened.embedding_context, resources.tokens, cache)
        courses = count_courses(given.files) if isinstance(given, FoundFiles) else {}
        report, seen = AddReport(courses=courses), TemporaryDict[None]()
        opened.make()
        with opened.store.first_load():
            reports = _reports(opened, given, pool, embed, (address, settings.collection, model), adding.limits, report)
            requests, tokens = _consume(reports, report, seen, on_event, partial(warn_of_long, opened.embedder))
        if adding.prune and isinstance(given, FoundFiles):
            fingerprint = opened.strategy.fingerprint
            report.prune(opened.store, find_gone(opened.store, fingerprint, given.folders, given.by_id, seen))
        if usage := usage_of(opened.embedder):
            report.used = Used(requests, tokens, None if usage.price is None else tokens * usage.price / 1e6)
    report.seconds = time.perf_counter() - begun
    return report


def _reports(
    opened: Index,
    given: FoundFiles | Dataset,
    pool: Pool,
    embed: tuple[Any, ...],
    write: tuple[str, str, object],
    limits: Limits | None,
    report: AddReport,
) -> Dataset:
    """Return the reports of what the stages, with these arguments, will make of files or documents."""
    folders: tuple[str, ...] = ()
    if isinstance(given, FoundFiles):
        report.warnings += _check(opened, given)
        folders, documents = given.roots, _documents(given, limits, pool)
    else:
        documents = given
    compare = Compare(write[0], write[1], folders)
    return (
        documents.map_batches(
            Split(opened.strategy, opened.embedding_context, compare, opened.context_model), **pool.task
        )
        .map_batches(compare, **pool.task)
        .map_batches(Embed, fn_constructor_args=embed, **pool.embedding)
        .map_batches(Write, fn_constructor_args=write, **pool.writing)
    )


def _start() -> Any:
    """Return Ray, connected to a cluster; if it isn't yet, to the one that `ray.init` connects or starts."""
    with needs("ray"):
        import ray
        import ray.data  # needs pandas and PyArrow

    if not ray.is_initialized():
        ray.init()
    return ray


def _relayed(ray: Any, arguments: tuple[Any, ...], on_event: OnEvent | None) -> AddReport:
    """Run `index` in a task of the cluster, since Ray Data doesn't run through Ray's client, and call back here."""
    from ray.util.queue import Empty, Queue

    events = Queue(_CALLS, actor_options={"num_cpus": 0})
    task = ray.remote(num_cpus=0)(_relay).remote(events, on_event is not None, *arguments)
    is_done = False
    while not is_done:
        is_done = bool(ray.wait([task], timeout=0)[0])  # Events that are still waiting are taken in this last turn.
        with suppress(Empty):
            while True:
                event = events.get(timeout=0.5)
                if on_event is not None:
                    on_event(event)
    try:
        report: AddReport = ray.get(task)
    except ray.exceptions.RayError as error:
        cause = cause_of(error)
        raise cause from cause.__cause__
    finally:
        events.shutdown()
    return report


def _relay(events: Any, is_heard: bool, source: Any, address: str, settings: _Settings) -> AddReport:
    with noting_node():
        return _index(source, address, settings, events.put if is_heard else _ignore)


def _given(source: Any, address: str, adding: AddOptions) -> FoundFiles | Dataset:
    """Return the files to index, or the dataset of documents.

    See `find` for its errors. A store of one process, a dataset that lacks a column, and pruning of documents that lie
    in no folder raise InvalidParameterError.
    """
    from ray.data import Dataset

    rule = "must be one that several processes can open: 'pgvector:DSN' or 'qdrant:URL'"
    require(has_server(address), "address", rule, address.partition(":")[0], "Use a server, or index without Ray.")
    if not isinstance(source, Dataset):
        return find(source, adding.subjects, adding.readers)
    rule = "must be False for a dataset, which lies in no folder"
    require(not adding.prune, "prune", rule, adding.prune, "Delete documents by id: kinsplit delete ID.")
    check_documents(source.columns() or ())
    return source


def _check(opened: Index, found: FoundFiles) -> tuple[str, ...]:
    """Check that no file would replace another one, and return warnings of files that are indexed under two ids."""
    store, fingerprint = opened.store, opened.strategy.fingerprint
    new = new_files(store, fingerprint, (source for source in found.files if not source.address))
    duplicates = find_duplicates(store, fingerprint, new, found.by_id)
    check_addresses(store, fingerprint, (source for source in found.files if source.address))
    return warn_of_duplicates(duplicates)


def _documents(found: FoundFiles, limits: Limits | None, pool: Pool) -> Dataset:
    """Return the documents of files, which tasks read."""
    import ray

    blocks = blocks_of(len(found.files), pool.tasks)
    # Compressed, since small blocks stay in this process.
    rows = [{"files": packed} for packed in pack(found.files, blocks)]
    # Not `from_arrow`, which starts a task for each table, only to learn its size.
    items = ray.data.from_items(rows, override_num_blocks=blocks)
    return items.map_batches(_load, fn_args=[Load(limits)], **pool.task)


def _load(rows: pa.Table, load: Load) -> Iterator[pa.Table]:
    for packed in rows["files"].to_pylist():
        yield from load.load(unpack(packed))


def blocks_of(files: int, tasks: int) -> int:
    """Return the number of blocks into which files are divided, given the number of tasks that can be kept busy."""
    return min(files, max(tasks, min(-(-files // _FILES), _BLOCKS)))


def _portable(given: object, resolved: Embedder) -> object:
    """Return an embedder that can be pickled, kinsplit's own by its name, or raise InvalidParameterError."""
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


def _consume(
    reports: Dataset, report: AddReport, seen: TemporaryDict[None], on_event: OnEvent, warn: Callable[[int, int], None]
) -> tuple[int, int]:
    """Run a pipeline, and count its reports as they arrive; `seen` are the ids of `to_events`.

    `warn` is called once with the numbers of windowed and of embedded texts, if any are windowed. Returns the numbers
    of requests and of tokens sent to a model on a server. The error that ends it becomes one of kinsplit's.
    """
    from ray.exceptions import RayError

    context = reports.context
    context.enable_progress_bars = False
    context.target_max_block_size = _BLOCK
    requests = tokens = 0
    try:
        for table in reports.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=1):
            rows, is_first = table.to_pylist(), not report.windowed
            requests += sum(row["requests"] or 0 for row in rows)
            tokens += sum(row["tokens"] or 0 for row in rows)
            if embedded := sum(row["embedded"] or 0 for row in rows):
                on_event(TextsEmbedded(embedded, embedded))
            for event in to_events(rows, seen):
                report.count(event)
                on_event(event)
            if is_first and report.windowed:
                warn(report.windowed, report.embedded)
    except RayError as error:
        cause = cause_of(error)
        raise cause from cause.__cause__
    return requests, tokens
