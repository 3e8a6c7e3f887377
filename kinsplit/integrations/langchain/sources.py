"""Where a LangChain document comes from."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from langchain_core.documents import Document

from kinsplit.integrations.origins import Origin, is_chunk, is_marked


def origins_of(documents: Sequence[Document]) -> list[Origin]:
    """Return where the documents' texts come from.

    A document's source is its id. Without one it is made of `metadata["source"]`, if there is any, and of the text,
    never of the source alone: the pages of a file share it, and documents may come one at a time. The second document
    that would get the same source has "-2" added, the third "-3".
    """
    seen: Counter[str] = Counter()
    return [_origin(document, seen) for document in documents]


def _origin(document: Document, seen: Counter[str]) -> Origin:
    text, metadata = document.page_content, document.metadata
    if is_chunk(metadata, text):
        place = (metadata.get(key) for key in ("source_id", "strategy", "level", "chunk_index"))
        return Origin.chunk(document.id or "|".join(map(str, place)), text, metadata)
    if is_marked(metadata):
        return Origin.chunk(document.id or _name(metadata["source_id"], text, seen), text, metadata)
    if document.id is not None:
        return Origin.document(document.id, text)
    return Origin.document(_name(metadata.get("source", "text"), text, seen), text)


def _name(source: object, text: str, seen: Counter[str]) -> str:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    name = f"{source}#{digest}"
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"
