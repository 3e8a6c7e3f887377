"""Chunk manifests: JSONL files with the text behind each chunk id of qrels and runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kinsplit.chunk import Chunk
from kinsplit.errors import LoadError
from kinsplit.evaluation.datasets.files import lines
from kinsplit.evaluation.labels import Dataset
from kinsplit.identity import content_hash
from kinsplit.spans import Span, shared, stretches


def write_manifest(path: Path, chunks: Iterable[Chunk]) -> None:
    """Write a manifest: the rows of SC-Qrels, plus `spans` for chunks with several and `context` for chunks with one.

    Args:
        path: Path of the file.
        chunks: Leaves, in the order to write them.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for chunk in chunks:
            row: dict[str, Any] = {
                "original_doc_id": chunk.source_id,
                "chunk_id": chunk.id,
                "start": chunk.start,
                "end": chunk.end,
                "text": chunk.text,
            }
            if len(chunk.spans) > 1:
                row["spans"] = [list(span) for span in chunk.spans]
            if chunk.context:
                row["context"] = chunk.context
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_manifest(path: Path, dataset: Dataset) -> tuple[Chunk, ...]:
    """Read a manifest of SC-Qrels or of `write_manifest`, or the rows that `kinsplit chunk` writes.

    Args:
        path: Path of the file.
        dataset: Documents of the chunks. A chunk's text must equal the document's text at its spans; a row without text
            gets that text.

    Returns:
        The chunks in the order of the file, linked to their siblings.

    Raises:
        LoadError: A row is not a chunk, repeats an id, or differs from its document.
    """
    chunks: list[Chunk] = []
    ids: set[str] = set()
    for row in lines(path):
        try:
            chunk = _chunk(row.value, dataset)
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise LoadError(path, f"{row.place}: {reason}.") from error
        if chunk.id in ids:
            raise LoadError(path, f"{row.place}: the id {chunk.id} is there a second time.")
        ids.add(chunk.id)
        chunks.append(chunk)
    return tuple(_linked(chunks))


def _chunk(row: Mapping[str, Any], dataset: Dataset) -> Chunk:
    stated = row["docid"] if "docid" in row else row["original_doc_id"]
    found = dataset.names.find(stated)
    if len(found) != 1:
        several = f"{stated!r} is the docid of several rows. Write {' or '.join(map(repr, found))}"
        raise ValueError(several if found else f"there is no document {stated!r}")
    (source_id,) = found
    source = dataset.sources[source_id].text
    spans = tuple(Span(*span) for span in row.get("spans") or [(row["start"], row["end"])])
    bounds = [bound for span in spans for bound in span]
    if bounds != sorted(bounds) or bounds[0] < 0 or bounds[-1] > len(source) or any(a == b for a, b in spans):
        raise ValueError(f"no such place in {source_id!r}, which has {len(source)} characters: {bounds}")
    slices = [source[start:end] for start, end in spans]
    text = row["text"] if "text" in row or len(spans) > 1 else slices[0]
    placed = stretches(spans, text)
    if placed is None or [text[at : at + end - start] for at, (start, end) in placed] != slices:
        raise ValueError(
            f"the text isn't what {source_id!r} has at {spans[0].start} to {spans[-1].end}. If the chunks are of "
            "normalised texts, as those of SC-Qrels are, normalise the documents too: --normalise sc-qrels"
        )
    # Rows of `kinsplit chunk` have a readable name besides the id.
    name = str(row["id"] if "id" in row else row["chunk_id"])
    context, level = row.get("context", ""), row.get("level", 0)
    if not isinstance(level, int):
        raise TypeError(f"the level must be a whole number, but is {level!r}")
    return Chunk(name, source_id, 0, 1, level, spans, text, content_hash(text, context), context=context)


def _linked(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks with their position among those of their document and level, and with their siblings."""
    kin: dict[tuple[str, int], list[Chunk]] = {}
    positions = []
    for chunk in chunks:
        own = kin.setdefault((chunk.source_id, chunk.level), [])
        positions.append(len(own))
        own.append(chunk)
    for chunk, index in zip(chunks, positions, strict=True):
        own = kin[chunk.source_id, chunk.level]
        before, after = own[index - 1] if index else None, own[index + 1] if index + 1 < len(own) else None
        yield replace(
            chunk,
            index=index,
            total=len(own),
            overlap=shared(before.spans if before else (), chunk.spans),
            prev_id=before.id if before else None,
            next_id=after.id if after else None,
        )
