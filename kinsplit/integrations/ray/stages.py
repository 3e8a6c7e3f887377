"""Stages of indexing as transforms of Ray Data: batches in, batches out, as PyArrow tables."""

from __future__ import annotations

import functools
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from kinsplit import embedding
from kinsplit.chunk import ABSOLUTE_PATH, Chunk, Document
from kinsplit.embedding.cached import use_vector_cache
from kinsplit.embedding.protocol import Embedder
from kinsplit.embedding.remote_models.base import usage_of
from kinsplit.errors import InvalidParameterError, KinsplitError, LoadError, require
from kinsplit.identity import chunk_id
from kinsplit.index import Index
from kinsplit.indexing.contexts import ContextWriter
from kinsplit.indexing.indexer import Indexer, Job, chunk_documents, leaves_of, stored_leaves
from kinsplit.indexing.origins import check_rows
from kinsplit.indexing.vectors import Embedded, check_embedding_context, embed_documents, embed_leaves
from kinsplit.integrations.ray import columns
from kinsplit.integrations.ray.file_systems import fetched
from kinsplit.integrations.ray.nodes import node_note, noting_node
from kinsplit.loaders import Limits, Loaded, SourceFile, load_files
from kinsplit.parsers import Strategy, create, default_strategy
from kinsplit.stores import ChunkStore, open_store
from kinsplit.stores.payload import check_metadata
from kinsplit.stores.plan import missing_of
from kinsplit.support.batches import by_size
from kinsplit.support.extras import needs

with needs("ray"):
    import pyarrow as pa

#: Tokens that are embedded in one call of the model, which sorts them into batches of its own.
TOKENS = 32_768
# Characters of the rows that are made into a table together.
_CHARACTERS = 500_000
# Characters of a document whose strategy doesn't count tokens, for each of its tokens.
_CHARACTERS_PER_TOKEN = 4


class Load:
    """Files to documents.

    Takes the columns `kinsplit.integrations.ray.FILES`, of which only `path` (string) and `id` (string) are required,
    and returns `kinsplit.integrations.ray.DOCUMENTS`. Files are read in worker processes of their own, within limits. A
    file that can't be read becomes a row with an `error` and without a text.

    Args:
        limits: Limits of each file; None for the defaults of `kinsplit.loaders.Limits`.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()

    def __call__(self, files: pa.Table) -> Iterator[pa.Table]:
        """Load the files of a batch."""
        yield from self.load(columns.from_files(files))

    def load(self, files: Sequence[SourceFile]) -> Iterator[pa.Table]:
        """Load files that are not in a table."""
        with noting_node(), fetched(files, self.limits) as (sources, located):
            rows = (row for loaded in load_files(sources, self.limits) for row in _rows(_placed(located(loaded))))
            for batch in by_size(rows, _CHARACTERS, lambda row: len(row.get("text") or "")):
                yield from columns.cut(pa.Table.from_pylist(batch, schema=columns.DOCUMENTS))


def _placed(loaded: Loaded) -> Loaded:
    """Return what was loaded, with the node in the error of a file that it doesn't reach."""
    source, error = loaded.source, loaded.error
    is_missing = source.error is not None if source.address else not os.access(source.path, os.R_OK)
    if error is None or not is_missing or (error is source.error and not source.address) or not (note := node_note()):
        return loaded
    return replace(loaded, error=LoadError(error.path, f"{error.reason} {note}"))


def _rows(loaded: Loaded) -> Iterator[dict[str, Any]]:
    file = {"file": loaded.source_id, "file_documents": len(loaded.documents)}
    first = {"warnings": list(loaded.warnings), "error": columns.to_error(loaded.error)}
    if not loaded.documents:
        yield {"id": loaded.source_id, **file, **first}
    for number, document in enumerate(loaded.documents):
        yield {**columns.to_row(document), **file, **(first if number == 0 else {})}


class Split:
    """Documents to documents with their chunks.

    Takes the columns `kinsplit.integrations.ray.DOCUMENTS`, of which only `id` (string) and `text` (string) are
    required, and adds `chunks`: a list of structs with the columns of `kinsplit.frames.to_arrow`, of all levels, as
    `Index.add` stores them. It is null where there is no text, and where `error` says why the text can't be split.

    Given the stage that compares, it is also null for documents that the collection holds as they are, made from the
    same text, headings and metadata by the same version: they are looked up, in one call for each batch, and not split.
    `unchanged` (int64) then counts their leaves; it is null for others.

    Args:
        strategy: Strategy or its name; None for `kinsplit.default_strategy`.
        embedding_context: Context that the chunks will be embedded with; see `kinsplit.Index`.
        compare: The next stage; None to split every document.
        context_model: Language model that writes placements of the chunks; see `kinsplit.Index`.
    """

    def __init__(
        self,
        strategy: str | Strategy | None = None,
        embedding_context: str = "headings",
        compare: Compare | None = None,
        context_model: object = "none",
    ) -> None:
        self.strategy = create(strategy) if isinstance(strategy, str) else strategy or default_strategy()
        self.embedding_context = check_embedding_context(embedding_context)
        self.compare, self.context_model = compare, context_model

    # Not at once, since a client of a server can't be sent to other processes.
    @functools.cached_property
    def _contexts(self) -> ContextWriter | None:
        return None if self.context_model == "none" else ContextWriter(self.context_model)

    def __call__(self, documents: pa.Table) -> Iterator[pa.Table]:
        """Split the documents of a batch."""
        with noting_node():
            for table in columns.cut(documents):
                yield self._split(table)

    def _split(self, table: pa.Table) -> pa.Table:
        documents = columns.from_documents(table)
        for document in documents:
            if document is not None:
                check_metadata(document.metadata)
        unchanged = self.compare.unchanged(documents, self.strategy) if self.compare else [None] * len(documents)
        rest = [document if count is None else None for document, count in zip(documents, unchanged, strict=True)]
        given = [document for document in rest if document is not None]
        results = iter(chunk_documents(given, self.strategy, self.embedding_context, self._contexts))
        split = [None if document is None else next(results)[1] for document in rest]
        pairs = zip(split, _values(table, "error"), strict=True)
        errors = [columns.to_error(one) if isinstance(one, KinsplitError) else own for one, own in pairs]
        chunks = [None if isinstance(one, KinsplitError) else one for one in split]
        more = {"unchanged": unchanged} if self.compare else {}
        return _with(table, error=errors, chunks=columns.to_lists(chunks), **more)


class Compare:
    """Documents with their chunks, compared with a collection in one look-up for each batch.

    Adds `missing` (list of int32): the positions in `chunks` of those whose contents the collection lacks. A document
    that is stored as it is loses `text` and `chunks`, and `unchanged` (int64) counts its leaves; it is null for others.

    Args:
        store: Address of the store; see `kinsplit.stores.open_store`.
        collection: Name of the collection, which must exist.
        folders: Resolved paths of the files and folders of this run: a row that one of their files no longer has may
            have moved to another file.
    """

    def __init__(self, store: str, collection: str = "default", folders: Sequence[str] = ()) -> None:
        self.store, self.collection, self.folders = store, collection, tuple(folders)
        # A process of the cluster outlives a run, after which the name may be that of another collection.
        self._run = uuid.uuid4()

    def __call__(self, documents: pa.Table) -> Iterator[pa.Table]:
        """Compare the documents of a batch."""
        with noting_node():
            store = _opened(self.store, self.collection, self._run)
            for table in columns.cut(documents):
                yield self._compare(store, table)

    def unchanged(self, documents: Sequence[Document | None], strategy: Strategy) -> list[int | None]:
        """Find the documents that the collection holds as they are, in one look-up.

        Args:
            documents: The documents; None for a row without one.
            strategy: Strategy that would split them.

        Returns:
            The number of leaves of each such document; None for others, and for all if the collection has another
            strategy, which `Write` refuses.
        """
        store = _opened(self.store, self.collection, self._run)
        if strategy.fingerprint != store.schema.fingerprint:
            return [None] * len(documents)
        given = [document for document in documents if document is not None]
        leaves = iter(stored_leaves(store, given, strategy))
        return [None if document is None else next(leaves) for document in documents]

    def _compare(self, store: ChunkStore, table: pa.Table) -> pa.Table:
        chunks = columns.from_lists(table["chunks"])
        ids = table["id"].to_pylist()
        found = store.compare({id_: own for id_, own in zip(ids, chunks, strict=True) if own is not None})
        errors = table["error"].to_pylist()
        refused = self._refused(store, table, chunks)
        missing: list[list[int] | None] = []
        unchanged = _values(table, "unchanged")
        for number, (id_, own) in enumerate(zip(ids, chunks, strict=True)):
            if id_ in refused:
                errors[number] = refused[id_]
            same = own is not None and id_ not in refused and found[id_].is_stored
            if same:
                unchanged[number] = leaves_of(own or ())
            if own is None or same or id_ in refused:
                missing.append(None)
                chunks[number] = None
            else:
                stored = found[id_]
                new = {chunk.id for chunk in (missing_of(own, ()) if stored.is_renamed else stored.missing)}
                missing.append([at for at, chunk in enumerate(own) if chunk.id in new])
        texts = [None if own is None else text for own, text in zip(chunks, table["text"].to_pylist(), strict=True)]
        lists = columns.to_lists(chunks)
        return _with(table, text=texts, error=errors, chunks=lists, missing=missing, unchanged=unchanged)

    def _refused(self, store: ChunkStore, table: pa.Table, chunks: Sequence[object]) -> dict[str, dict[str, str]]:
        """Return the errors of rows of files that would replace those of another file, by id."""
        if "file" not in table.column_names:
            return {}
        rows: dict[str, list[Document]] = {}
        for document, file, own in zip(columns.from_documents(table), table["file"].to_pylist(), chunks, strict=True):
            if document is not None and own is not None and file not in (None, document.id):
                rows.setdefault(file, []).append(document)
        refused = {}
        for file, documents in rows.items():
            source = SourceFile(Path(str(documents[0].metadata.get(ABSOLUTE_PATH, ""))), file, {})
            loaded = Loaded(source, tuple(documents))
            checked = check_rows(store, store.schema.fingerprint, loaded, _Below(self.folders))
            if checked.error is not None:
                refused.update({document.id: columns.to_error(checked.error) or {} for document in documents})
        return refused


class Embed:
    """Documents with chunks to the same with the vectors of their leaves.

    Adds `vectors` (list of fixed-size lists of float32, shape (leaves, dimension), each of length 1) and `windows`
    (list of int32, the windows of which a vector is the mean): of the leaves at the positions `missing` of `chunks`, in
    that order; without that column, of the first leaf of each content. A document that the model refuses gets an
    `error` instead, and loses `chunks`. `requests` and `tokens` (int64) are those sent
    to a model on a server, in the first row. The model is loaded at the first batch that has something to embed.

    Args:
        embedder: Spec of the embedding model (see `kinsplit.embedding.create`), or an embedder.
        embedding_context: Context that the chunks are embedded with; see `kinsplit.Index`.
        tokens: Number of tokens, estimated, to embed in one call of the model.
        vector_cache: Whether vectors are cached on disk; see `kinsplit.embedding.use_vector_cache`.
    """

    def __init__(
        self,
        embedder: object = "bundled",
        embedding_context: str = "headings",
        tokens: int = TOKENS,
        vector_cache: bool = False,
    ) -> None:
        require(tokens >= 1, "tokens", "must be at least 1", tokens, f"The default is {TOKENS}.")
        self.tokens, self.vector_cache = tokens, vector_cache
        self._given = embedder
        self.embedding_context = check_embedding_context(embedding_context)

    # Not at once, since Ray tells of an actor's start only that it failed.
    @functools.cached_property
    def embedder(self) -> Embedder:
        """The model, which is loaded at the first text that needs it."""
        return embedding.resolve(self._given)

    def __call__(self, documents: pa.Table) -> Iterator[pa.Table]:
        """Embed the leaves of a batch."""
        with noting_node(), use_vector_cache(self.vector_cache and self.embedding_context != "late"):
            embedder = embedding.resolve(self.embedder)
            for table in columns.cut(documents):
                yield self._embed(table, embedder)

    def _embed(self, table: pa.Table, embedder: Embedder) -> pa.Table:
        usage = usage_of(embedder)
        before = usage.since() if usage else None
        chunks = columns.from_lists(table["chunks"])
        positions = _missing(table, chunks)
        new: list[tuple[int, Document, list[Chunk]]] = []
        for number, (document, own, at) in enumerate(
            zip(columns.from_documents(table), chunks, positions, strict=True)
        ):
            leaves = [own[index] for index in at or () if own[index].level == 0] if own else []
            if document is not None and leaves:
                new.append((number, document, leaves))

        def embed(leaves: Sequence[tuple[Document, Chunk]]) -> list[Embedded]:
            parts = self._parts(leaves)
            return [pair for part in parts for pair in embed_leaves(embedder, self.embedding_context, part)]

        found = embed_documents(
            embedder, self.embedding_context, [(document, leaves) for _, document, leaves in new], embed
        )
        errors = _values(table, "error")
        is_refused = any(isinstance(embedded, KinsplitError) for embedded in found)
        rows: list[list[Embedded] | None] = [None if own is None else [] for own in chunks]
        for (number, _, _), embedded in zip(new, found, strict=True):
            if isinstance(embedded, KinsplitError):
                errors[number], chunks[number], rows[number] = columns.to_error(embedded), None, None
            else:
                rows[number] = embedded
        if is_refused:
            table = _with(table, error=errors, chunks=columns.to_lists(chunks))
        used = usage.since(before) if usage else None
        sent = {"requests": used and used.requests, "tokens": used and used.tokens}
        rest = [None] * (table.num_rows - 1)
        vectors = [None if row is None else np.stack([v for v, _ in row]) if row else np.empty(0) for row in rows]
        return _with(
            table,
            vectors=columns.to_vectors(vectors, embedder.dimension),
            windows=[None if row is None else [n for _, n in row] for row in rows],
            **{name: [number, *rest] for name, number in sent.items()},
        )

    def _parts(self, leaves: Sequence[tuple[Document, Chunk]]) -> Iterator[list[tuple[Document, Chunk]]]:
        """Yield leaves in parts of at most `tokens`, or one leaf; for late chunking, whole documents."""
        part: list[tuple[Document, Chunk]] = []
        size = 0
        for document, leaf in leaves:
            length = leaf.token_count or -(-len(leaf.text) // _CHARACTERS_PER_TOKEN)
            apart = self.embedding_context != "late" or (part and part[-1][0].id != document.id)
            if part and apart and size + length > self.tokens:
                yield part
                part, size = [], 0
            part.append((document, leaf))
            size += length
        if part:
            yield part


class Write:
    """Documents with chunks and vectors to reports of what was stored.

    Each document is made equal to its chunks in one `ChunkStore.sync`, which writes what differs and deletes what is
    stale, so a batch that is written again changes nothing. Returns the columns `kinsplit.integrations.ray.REPORTS`.

    Args:
        store: Address of the store; see `kinsplit.stores.open_store`.
        collection: Name of the collection, which must exist: `Index(store, collection=...).make()` makes it.
        embedder: Model of the collection, for contents that another writer deletes in the meantime.
    """

    def __init__(self, store: str, collection: str = "default", embedder: object = "bundled") -> None:
        self._arguments = store, collection, embedder

    # Not at once, since Ray tells of an actor's start only that it failed.
    @functools.cached_property
    def _index(self) -> Index:
        store, collection, embedder = self._arguments
        return Index(store, collection=collection, embedder=embedder, must_exist=True)

    @functools.cached_property
    def _indexer(self) -> Indexer:
        index = self._index
        return Indexer(index.store, index.strategy, index.embedder, index.bm25, index.embedding_context)

    def __call__(self, documents: pa.Table) -> Iterator[pa.Table]:
        """Store the documents of a batch."""
        with noting_node():
            for table in columns.cut(documents):
                yield self._write(table)

    def close(self) -> None:
        """Close the collection, if it was opened. An actor that ends closes it anyway."""
        if "_index" in vars(self):
            self._index.close()

    def _write(self, table: pa.Table) -> pa.Table:
        chunks = columns.from_lists(table["chunks"])
        positions = _missing(table, chunks)
        vectors = table["vectors"].to_numpy(zero_copy_only=False)
        windows = table["windows"].to_pylist()
        kept = {name: table[name].to_pylist() for name in table.column_names if name in columns.REPORTS.names}
        unchanged = _values(table, "unchanged")
        rows = []
        for number, (document, own) in enumerate(zip(columns.from_documents(table), chunks, strict=True)):
            row = {name: values[number] for name, values in kept.items()}
            row |= {"chunks": unchanged[number], "unchanged": unchanged[number]}
            if document is not None and own is not None:
                self._check(own)
                job = Job(document, own, [own[at] for at in positions[number] or ()])
                report = self._indexer.write(job, list(zip(vectors[number], windows[number], strict=True)))
                if report.error is not None:
                    row |= {"error": columns.to_error(report.error)}
                else:
                    counted = ("chunks", "embedded", "windowed", "contexts", "fallbacks")
                    row |= {**{name: getattr(report, name) for name in counted}, **asdict(report.changes)}
            rows.append(row)
        return pa.Table.from_pylist(rows, schema=columns.REPORTS)

    def _check(self, chunks: Sequence[Chunk]) -> None:
        """Raise InvalidParameterError if another strategy than the collection's made the chunks."""
        fingerprint = self._indexer.store.schema.fingerprint
        for chunk in chunks[:1]:
            if chunk.id != chunk_id(chunk.source_id, fingerprint, chunk.level, chunk.index):
                rule = f"must be made by the strategy of the collection, {self._indexer.strategy.name!r}"
                raise InvalidParameterError("chunks", rule, chunk.source_id, "Give Split the same strategy.")


def _missing(table: pa.Table, chunks: Sequence[list[Chunk] | None]) -> list[list[int] | None]:
    """Return the positions of the chunks to embed: the column `missing`, or the first chunk of each content."""
    if "missing" in table.column_names:
        return _values(table, "missing")
    positions: list[list[int] | None] = []
    for own in chunks:
        new = {chunk.id for chunk in missing_of(own or (), ())}
        positions.append([at for at, chunk in enumerate(own or ()) if chunk.id in new])
    return positions


def _values(table: pa.Table, name: str) -> list[Any]:
    """Return the values of a column that a table may lack."""
    found: list[Any] = table[name].to_pylist() if name in table.column_names else [None] * table.num_rows
    return found


_TYPES = {
    "text": pa.large_string(),
    "error": columns.DOCUMENTS.field("error").type,
    **dict.fromkeys(("missing", "windows"), pa.list_(pa.int32())),
    **dict.fromkeys(("unchanged", "requests", "tokens"), pa.int64()),
}


def _with(table: pa.Table, **added: Any) -> pa.Table:
    """Return a table with columns added or replaced."""
    for name, values in added.items():
        column = pa.array(values, _TYPES[name]) if isinstance(values, list) else values
        at = table.column_names.index(name) if name in table.column_names else None
        table = table.append_column(name, column) if at is None else table.set_column(at, name, column)
    return table


class _Below:
    """The paths in or below some others, as a set that only tells whether it contains a path."""

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(folders)

    def __contains__(self, path: Any) -> bool:
        return any(path.is_relative_to(folder) for folder in self._folders)


@functools.lru_cache(maxsize=4)
def _opened(store: str, collection: str, _run: uuid.UUID) -> ChunkStore:
    """Return a collection, which tasks of a run in the same process share."""
    return open_store(store, collection)
