"""Store calls behind the methods of the LangChain vector store."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from kinsplit.chunk import Chunk
from kinsplit.errors import InvalidParameterError
from kinsplit.integrations.langchain.documents import document_of
from kinsplit.integrations.shared.collection import clear, find, get, remove
from kinsplit.integrations.shared.metadata import slimmed
from kinsplit.stores import Hit, Query, calls
from kinsplit.stores.protocol import Where

Scored = list[tuple[Document, float]]


async def similar(
    vector: list[float], limit: int, where: Where | None, score_threshold: float | None, *, slim: bool
) -> Scored:
    """Return the documents most similar to a vector with their cosines, best first."""
    lowest = _check_threshold(score_threshold)
    hits = await _search(vector, limit, where)
    return [(_document(hit.chunk, slim=slim), hit.score) for hit in hits if hit.score >= lowest]


async def diverse(
    vector: list[float], limit: int, fetch: int, lambda_mult: float, where: Where | None, *, slim: bool
) -> list[Document]:
    """Return documents that are similar to a vector and differ from each other, by LangChain's own rule."""
    hits = await _search(vector, fetch, where)
    vectors = await calls.vectors([hit.chunk.id for hit in hits])
    hits = [hit for hit in hits if hit.chunk.id in vectors]  # Without those deleted in the meantime.
    embeddings: list[Any] = [vectors[hit.chunk.id].dense for hit in hits]
    chosen = maximal_marginal_relevance(np.asarray(vector, dtype=np.float32), embeddings, lambda_mult, limit)
    return [_document(hits[index].chunk, slim=slim) for index in chosen]


async def delete(ids: Sequence[str] | None, where: Where | None) -> None:
    """Delete documents by id, by filter, or by both; all documents if neither is given."""
    if where is None:
        await (clear() if ids is None else remove(ids))
        return
    if not where:
        raise InvalidParameterError("filter", "must not be empty", where, "To delete all documents, call delete().")
    await remove([chunk.id for chunk in await find(where, None, ids)])


async def find_documents(where: Where) -> list[Document]:
    """Return all documents that match a filter."""
    return [document_of(chunk) for chunk in await find(where)]


async def documents_by_ids(ids: Sequence[str]) -> list[Document]:
    """Return documents by id."""
    return [document_of(chunk) for chunk in await get(ids)]


def _document(chunk: Chunk, *, slim: bool) -> Document:
    document = document_of(chunk)
    if slim:
        document.metadata = slimmed(document.metadata)
    return document


def _check_threshold(score_threshold: float | None) -> float:
    if score_threshold is None:
        return -math.inf
    if not -1 <= score_threshold <= 1:
        raise InvalidParameterError(
            "score_threshold", "must be a cosine from -1 to 1", score_threshold, "Leave it out."
        )
    return score_threshold


async def _search(vector: list[float], limit: int, where: Where | None) -> list[Hit]:
    query = Query("dense", np.asarray(vector, dtype=np.float32), limit, where=where)
    (hits,) = await calls.search([query])
    return hits
