"""Results as documents."""

from __future__ import annotations

from langchain_core.documents import Document

from kinsplit.integrations.origins import FINDING
from kinsplit.integrations.results import Result
from kinsplit.integrations.siblings import Found


def to_document(result: Result) -> Document:
    """Return a result as a document."""
    return Document(id=result.id, page_content=result.text, metadata=result.metadata)


def found(document: Document) -> Found:
    """Return what LangChain found; its score is there if a stage of kinsplit's has left one."""
    metadata = document.metadata
    # LangChain's own Qdrant store says the id in the metadata alone.
    id_ = document.id or metadata.get("_id") or ""
    return Found(str(id_), document.page_content, metadata, (metadata.get(FINDING) or {}).get("score"))
