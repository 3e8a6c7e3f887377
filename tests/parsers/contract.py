"""A checker of the invariants of all strategies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

import numpy as np
import regex

from kinsplit.chunk import Chunk, Document
from kinsplit.identity import chunk_id, content_hash
from kinsplit.parsers import Strategy
from kinsplit.parsers.packing.refine import CHARACTERS_PER_TOKEN, Ruler
from kinsplit.parsers.units.sentences import as_units
from kinsplit.tokenizers import resolve

# Between two printable characters of ASCII there always is a boundary.
_CLUSTER = regex.compile(r"[\n -~]+(?=[\n -~])|(\X)")


def limit_of(strategy: Strategy, level: int) -> tuple[int, str]:
    """Return the limit of a level's chunks and its unit."""
    p = strategy.parameters
    if strategy.name == "hierarchical":
        # Children of whole sentences only have their parent's limit.
        leaf = p["child_size"] if p["children"] == "limit" else p["parent_size"][-1]
        return (leaf, *reversed(p["parent_size"]))[level], p["unit"]
    if strategy.name == "multigranular":
        return p["chunk_sizes"][level], "word"
    if strategy.name == "cluster":
        return p["chunk_size"], "token"
    return p["chunk_size"], p.get("unit", strategy.name)


def check_chunks(strategy: Strategy, document: Document, chunks: list[Chunk]) -> None:
    """Check all invariants of the chunks of a document."""
    text = document.text
    assert bool(chunks) == bool(text.strip()) or strategy.parameters.get("tail") == "drop"
    by_id = {chunk.id: chunk for chunk in chunks}
    assert len(by_id) == len(chunks)
    levels = sorted({chunk.level for chunk in chunks})
    assert [c.level for c in chunks] == sorted((c.level for c in chunks), reverse=True)
    for level in levels:
        check_level(strategy, document, [c for c in chunks if c.level == level], by_id)
    if strategy.name != "multigranular":
        assert levels == list(range(len(levels)))


def check_level(strategy: Strategy, document: Document, chunks: list[Chunk], by_id: dict[str, Chunk]) -> None:
    """Check the chunks of one level."""
    text = document.text
    limit, unit = limit_of(strategy, chunks[0].level)
    ruler = Ruler(unit, resolve(strategy.tokenizer))
    texts = [chunk.text for chunk in chunks]
    assert max(lengths(ruler, texts)) <= limit
    if any(chunk.token_count is not None for chunk in chunks):
        counts = resolve(strategy.tokenizer).count(texts).tolist()
        assert all(chunk.token_count in (None, count) for chunk, count in zip(chunks, counts, strict=True))
    start = -1
    covered = bytearray(len(text))
    for i, chunk in enumerate(chunks):
        assert (chunk.source_id, chunk.index, chunk.total) == (document.id, i, len(chunks))
        assert chunk.id == chunk_id(document.id, strategy.fingerprint, chunk.level, i)
        assert chunk.content_hash == content_hash(chunk.text, chunk.context)
        check_spans(strategy, text, chunk, chunks[i - 1] if i else None)
        assert chunk.text.strip()
        assert chunk.start >= start, "starts never go back"
        assert chunk.prev_id == (chunks[i - 1].id if i else None)
        assert chunk.next_id == (chunks[i + 1].id if i + 1 < len(chunks) else None)
        assert unit != "token" or sum(end - begin for begin, end in chunk.spans) <= CHARACTERS_PER_TOKEN * limit
        if chunk.parent_id is not None:
            parent = by_id[chunk.parent_id]
            assert parent.level == chunk.level + 1
            assert parent.start <= chunk.start
            assert chunk.end <= parent.end
        for span in chunk.spans:
            held = covered[span.start : span.end]
            assert 1 not in held or strategy.name != "cluster" or strategy.parameters["passage_overlap"]
            covered[span.start : span.end] = b"\1" * len(held)
        start = chunk.start
    if strategy.name != "multigranular" and strategy.parameters.get("tail") != "drop":
        gaps = [gap.span() for gap in re.finditer(rb"\0+", covered)]
        missing = [(begin, text[begin:end]) for begin, end in gaps if not text[begin:end].isspace()]
        assert not missing, f"lost: {missing[:5]}"
    # Passages are cut before they are gathered, so a grapheme cluster has to fit into a passage.
    check_clusters(text, chunks, ruler, strategy.parameters.get("passage_size") or limit)


def lengths(ruler: Ruler, texts: Sequence[str]) -> list[int]:
    """Return the length of each text."""
    found = ruler.lengths(texts, [as_units([(0, len(text))]) for text in texts])
    return np.concatenate(found).tolist()  # type: ignore[no-any-return]


def check_spans(strategy: Strategy, text: str, chunk: Chunk, before: Chunk | None) -> None:
    """Check the spans of a chunk and its overlap with the previous sibling."""
    assert chunk.text == strategy.separator.join(text[start:end] for start, end in chunk.spans)
    assert all(start < end for start, end in chunk.spans)
    assert all(text[a.end : b.start].strip() for a, b in pairwise(chunk.spans)), "spans that touch are one"
    if strategy.name != "cluster":
        assert len(chunk.spans) == 1
        reached = before.end if before else 0
        assert chunk.end > reached, "no chunk lies inside the one before"
        assert chunk.overlap == max(0, reached - chunk.start)
        return
    offsets = {at for start, end in (before.spans if before else ()) for at in range(start, end)}
    assert not offsets.issuperset(at for start, end in chunk.spans for at in range(start, end))
    assert chunk.overlap == len(list(takewhile(offsets.__contains__, range(*chunk.spans[0]))))


def check_clusters(text: str, chunks: list[Chunk], ruler: Ruler, limit: int) -> None:
    """Check that no chunk cuts a grapheme cluster that fits."""
    if text.isascii() and "\r" not in text:
        return
    inside = {}
    for match in _CLUSTER.finditer(text):
        if match[1] and len(match[1]) > 1:
            inside.update(dict.fromkeys(range(match.start() + 1, match.end()), match[1]))
    for chunk in chunks:
        for edge in (edge for span in chunk.spans for edge in span):
            cluster = inside.get(edge)
            # White space at the edge of a chunk is trimmed, also where it forms a cluster with what follows.
            if cluster is not None and not any(c.isspace() for c in cluster):
                most = CHARACTERS_PER_TOKEN * limit if ruler.unit == "token" else len(cluster)
                assert ruler.length(cluster) > limit or len(cluster) > most, f"cut inside {cluster!r}"
