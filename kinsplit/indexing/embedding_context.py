"""Embedding of leaves within their context."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from kinsplit.chunk import Chunk, Document, embedded_text
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.late_chunking import embed_late
from kinsplit.embedding.protocol import Embedder, EmbeddingContext, Progress, check_texts, finite_vectors
from kinsplit.errors import InvalidParameterError, KinsplitError, KinsplitWarning
from kinsplit.indexing.refusals import PROBE, Division


def check_embedding_context(name: str) -> EmbeddingContext:
    """Return an embedding context by its name, or raise InvalidParameterError."""
    for known in get_args(EmbeddingContext):
        if name == known:
            return known  # type: ignore[no-any-return]  # get_args loses the type.
    rule = f"must be one of {', '.join(get_args(EmbeddingContext))}"
    raise InvalidParameterError("embedding_context", rule, name, "Leave it out for 'headings'.")


class WindowWarning(KinsplitWarning):
    """Chunks are longer than the window of the embedding model."""


def warn_of_windows(embedder: Embedder, embedding_context: EmbeddingContext, leaves: Sequence[Chunk]) -> None:
    """Warn, before anything is embedded, if leaves are longer than the model's window."""
    if not leaves or embedding_context == "late":
        return
    try:
        long = sum(windows > 1 for windows in embedder.windows(_texts(leaves, embedding_context)))
    except Exception:  # Embedding, which comes next, counts them again, and finds the document that can't be counted.
        return
    if long:
        warn_of_long(embedder, long, len(leaves))


def warn_of_long(embedder: Embedder, long: int, total: int) -> None:
    """Warn of chunks that are longer than the model's window."""
    warnings.warn(
        WindowWarning(
            f"{long:,} of the first {total:,} chunks to embed ({long / total:.0%}) are longer than the "
            f"{embedder.window:,} tokens that {embedder.name} reads at once, with headings and special tokens. "
            "Such a chunk gets the mean vector of several windows, which finds less. Choose smaller chunks (160 "
            "tokens without a strategy), or a model with a longer window."
        ),
        stacklevel=3,
    )


def _texts(leaves: Iterable[Chunk], embedding_context: EmbeddingContext) -> list[str]:
    return [leaf.text if embedding_context == "none" else embedded_text(leaf) for leaf in leaves]


#: Vector of a leaf, and the number of windows of which it is the mean.
Embedded = tuple[NDArray[np.float32], int]


def embed_documents(
    embedder: Embedder,
    embedding_context: EmbeddingContext,
    documents: Sequence[tuple[Document, Sequence[Chunk]]],
    embed: Callable[[Sequence[tuple[Document, Chunk]]], Sequence[Embedded]],
) -> list[list[Embedded] | KinsplitError]:
    """Embed leaves of documents, and find the documents that the model refuses, so that they keep no others out.

    Each gets what `embed` (see `embed_leaves`) gives, or why it is refused. A model that fails with any text raises
    EmbedderUnavailableError.
    """

    def work(part: Sequence[tuple[Document, Sequence[Chunk]]]) -> list[list[Embedded]]:
        embedded = iter(embed([(document, leaf) for document, leaves in part for leaf in leaves]))
        return [list(islice(embedded, len(leaves))) for _, leaves in part]

    division: Division[tuple[Document, Sequence[Chunk]], list[Embedded]] = Division(
        embedder.name,
        work,
        partial(probe, embedder),
        name_of=lambda item: item[0].id,
        texts_of=lambda item: check_texts(_texts(item[1], embedding_context)),
    )
    found = iter(division.settle([each for each in documents if each[1]]))
    return [next(found) if leaves else [] for _, leaves in documents]


def probe(embedder: Embedder) -> None:
    """Embed a short text, past a cache, or raise EmbeddingError if the vector is not usable."""
    model = without_cache(embedder)
    finite_vectors(model.embed([PROBE]), 1, model.name, model.dimension)


def embed_leaves(
    embedder: Embedder,
    embedding_context: EmbeddingContext,
    leaves: Sequence[tuple[Document, Chunk]],
    progress: Progress | None = None,
) -> list[Embedded]:
    """Embed leaves with their documents; those of one document are adjacent.

    Anything but one finite vector of the model's dimension per leaf raises EmbeddingError.
    """
    if not leaves:
        return []
    texts = _texts((leaf for _, leaf in leaves), embedding_context)
    if embedding_context != "late":
        return _checked(embedder.embed(texts, progress), embedder.windows(texts), embedder)
    documents = {document.id: document for document, _ in leaves}
    spans = [[leaf.spans for document, leaf in leaves if document.id == id_] for id_ in documents]
    vectors = embed_late(embedder, [document.text for document in documents.values()], spans, progress)
    windows = embedder.windows([leaf.text for _, leaf in leaves])
    return _checked([vector for own in vectors for vector in own], windows, embedder)


def _checked(vectors: object, windows: Sequence[int], embedder: Embedder) -> list[Embedded]:
    checked = finite_vectors(vectors, len(windows), embedder.name, embedder.dimension)
    return list(zip(checked.astype(np.float32), windows, strict=True))
