"""Chunks and vectors of a collection that is indexed already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinsplit.chunk import DOCUMENT, Chunk, Document
from kinsplit.display import inline
from kinsplit.embedding.protocol import replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.experiment.retrieval import Collection
from kinsplit.evaluation.labels import Dataset
from kinsplit.index import Index
from kinsplit.tokenizers import Tokenizer

#: Ids per read.
_BATCH = 500


def read_chunks(index: Index, dataset: Dataset) -> list[Chunk]:
    """Return the chunks of a collection that holds the documents of a dataset, in their order.

    Args:
        index: The collection.
        dataset: The dataset.

    Raises:
        InvalidParameterError: The collection lacks a document, has others, or has a document with another text.
    """
    own, stored = {document.id for document in dataset.documents}, set(index.store.sources())
    if own - stored:
        rule = f"must hold the documents of the questions, and lacks {len(own - stored)} of {len(own)}"
        raise _refused(rule, own - stored, "Index them into it, under the same ids.")
    if stored - own:
        rule = f"must hold no other documents, and has {len(stored - own)} more"
        raise _refused(rule, stored - own, "Give their files, too, with --docs, or in the dataset.")
    found: list[Chunk] = []
    for document in dataset.documents:
        chunks = [chunk for chunk in index.store.find({"source_id": document.id}, None) if chunk.level != DOCUMENT]
        if not all(_is_of(document, chunk) for chunk in chunks):
            rule = "must hold the documents as they are, and has another text"
            raise _refused(rule, [document.id], "Index the file again.")
        found += chunks
    return found


def stored_collection(index: Index, leaves: Sequence[Chunk], tokenizer: Tokenizer) -> Collection:
    """Return the leaves of a collection with their stored vectors; the caller closes the index.

    Args:
        index: The collection.
        leaves: Its leaves.
        tokenizer: Counts the tokens.
    """
    ids = [leaf.id for leaf in leaves]
    found = {
        id_: own.dense
        for start in range(0, len(ids), _BATCH)
        for id_, own in index.store.vectors(ids[start : start + _BATCH]).items()
        if own.dense is not None
    }
    counts = tokenizer.count([leaf.text for leaf in leaves]).tolist() if leaves else []
    return Collection(index.store, leaves, counts, found, index, tokenizer, closes=False)


def _is_of(document: Document, chunk: Chunk) -> bool:
    """Return whether the parts of a document that a chunk has are its text."""
    text = "".join(document.text[start:end] for start, end in chunk.spans)
    # The parts may be joined by a separator.
    return replace_surrogates(text) == chunk.text or len(chunk.spans) > 1


def _refused(rule: str, names: Iterable[str], remedy: str) -> InvalidParameterError:
    return InvalidParameterError("collection", rule, inline(min(names)), remedy)
