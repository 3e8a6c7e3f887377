"""Chunks and vectors of a collection that is indexed already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kinsplit.chunk import DOCUMENT, Chunk, Document
from kinsplit.display import inline
from kinsplit.embedding.protocol import replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.evaluation.document_names import DocumentNames
from kinsplit.evaluation.experiment.retrieval import Collection
from kinsplit.evaluation.labels import Dataset
from kinsplit.identity import chunk_id
from kinsplit.index import Index
from kinsplit.stores.logic import batches
from kinsplit.tokenizers import Tokenizer

#: Ids per read.
_BATCH = 500


def read_chunks(index: Index, dataset: Dataset) -> list[Chunk]:
    """Return the chunks of a collection that holds the documents of a dataset, in their order and with their ids.

    Args:
        index: The collection.
        dataset: The dataset.

    Raises:
        InvalidParameterError: The collection lacks a document, has others, or has a document with another text.
    """
    found: list[Chunk] = []
    for stored, id_ in _ids(index, dataset).items():
        document = dataset.sources[id_]
        chunks = [chunk for chunk in index.store.find({"source_id": stored}, None) if chunk.level != DOCUMENT]
        if not all(_is_of(document, chunk) for chunk in chunks):
            rule = "must hold the documents as they are, and has another text"
            raise _refused(rule, [document.id], "Index the file again.")
        found += (replace(chunk, source_id=id_) for chunk in chunks)
    return found


def _ids(index: Index, dataset: Dataset) -> dict[str, str]:
    """Return the ids of the documents of a dataset by those in the collection, in the dataset's order.

    They differ for rows, which the collection may hold as `FILE#docid`.

    Raises:
        InvalidParameterError: The collection lacks a document, or has others.
    """
    stored = set(index.store.sources())
    names = DocumentNames(stored, _files(index, stored - dataset.sources.keys()))
    found = {id_: names.find(id_) for id_ in dataset.sources}
    if several := {id_: ids for id_, ids in found.items() if len(ids) > 1}:
        id_ = min(several)
        rule = f"must hold each document once, and has {' and '.join(several[id_])}"
        raise _refused(rule, [id_], "Give the files of both, with --docs, or in the dataset.")
    if lost := {id_ for id_, ids in found.items() if not ids}:
        rule = f"must hold the documents of the questions, and lacks {len(lost)} of {len(found)}"
        raise _refused(rule, lost, "Index them into it, under the same ids.")
    if more := stored - {ids[0] for ids in found.values()}:
        rule = f"must hold no other documents, and has {len(more)} more"
        raise _refused(rule, more, "Give their files, too, with --docs, or in the dataset.")
    return {ids[0]: id_ for id_, ids in found.items()}


def _files(index: Index, source_ids: Iterable[str]) -> dict[str, str]:
    """Return the ids of the files of those documents that are rows of one, by id of the document."""
    found: dict[str, str] = {}
    for ids in batches(source_ids, _BATCH):
        for chunk in index.store.get([chunk_id(id_, index.strategy.fingerprint, 0, 0) for id_ in ids]):
            file = chunk.metadata.get("file_path")
            if isinstance(file, str) and file != chunk.source_id:
                found[chunk.source_id] = file
    return found


def stored_collection(index: Index, dataset: Dataset, leaves: Sequence[Chunk], tokenizer: Tokenizer) -> Collection:
    """Return the leaves of a collection with their stored vectors; the caller closes the index.

    Args:
        index: The collection.
        dataset: The dataset with its documents.
        leaves: Its leaves, with the ids of the dataset's documents.
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
    return Collection(
        index.store, leaves, counts, found, index, tokenizer, closes=False, documents=_ids(index, dataset)
    )


def _is_of(document: Document, chunk: Chunk) -> bool:
    """Return whether the parts of a document that a chunk has are its text."""
    text = "".join(document.text[start:end] for start, end in chunk.spans)
    # The parts may be joined by a separator.
    return replace_surrogates(text) == chunk.text or len(chunk.spans) > 1


def _refused(rule: str, names: Iterable[str], remedy: str) -> InvalidParameterError:
    return InvalidParameterError("collection", rule, inline(min(names)), remedy)
