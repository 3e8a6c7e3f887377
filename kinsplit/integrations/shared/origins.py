"""Where a text comes from that is to be split: a whole document, or a part of one whose place in it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kinsplit.identity import embedding_hash
from kinsplit.spans import Span, Stretch, stretches

#: Only in the metadata of a chunk with several spans: where each lies, as pairs of offsets.
SPANS = "spans"
#: Only in the metadata of a chunk that has one: heading path or table header, to be embedded with the text.
CONTEXT = "context"

#: The one metadata key under which a result says how it was found; not for the eyes of an embedding or language model.
#: `score` is the last stage's and `scores` every stage's; `hits` holds id and score of each chunk that was found.
FINDING = "kinsplit"

_MARKS = frozenset({"source_id", "char_start", "char_end", "content_hash"})
# Written for a character that no store can keep, so that the text is not the one that was hashed.
_REPLACED = "\ufffd"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from that is to be split.

    Attributes:
        name: Names the text in the ids of its chunks.
        source_id: Id of the document that it is, or is a part of.
        stretches: Where it lies in that document; None where that isn't known.
        parent_id: Id of the chunk that it is; None for a whole document.
        level: Level of that chunk.
        context: Context of that chunk.
    """

    name: str
    source_id: str
    stretches: tuple[Stretch, ...] | None
    parent_id: str | None = None
    level: int | None = None
    context: str = ""

    @classmethod
    def document(cls, name: str, text: str) -> Origin:
        """Return the origin of a whole document."""
        return cls(name, name, stretches([Span(0, len(text))], text))

    @classmethod
    def chunk(cls, name: str, text: str, metadata: Mapping[str, Any], source_id: str | None = None) -> Origin:
        """Return the origin of a chunk or passage of kinsplit's, or of a text cut out of one, from its metadata.

        Only the metadata of a chunk or passage itself say where it lies; what was cut out of it is a part of the same
        document at an unknown place.

        Args:
            name: The text's id.
            text: Its text.
            metadata: Its metadata.
            source_id: Its document's id, where the framework knows better than the metadata.
        """
        spans = spans_of(metadata) if is_placed(metadata, text) else None
        return cls(
            name,
            source_id or metadata["source_id"],
            None if spans is None else stretches(spans, text),
            name,
            metadata.get("level"),
            _context(metadata),
        )

    def locate(self, spans: Iterable[Span]) -> tuple[Span, ...] | None:
        """Return where spans of this text lie in the document, or None where that isn't known."""
        if self.stretches is None:
            return None
        found = []
        for wanted in spans:
            for at, span in self.stretches:
                start = max(wanted.start - at + span.start, span.start)
                end = min(wanted.end - at + span.start, span.end)
                if start < end:
                    found.append(Span(start, end))
        return tuple(found)


def spans_of(metadata: Mapping[str, Any]) -> list[Span] | None:
    """Return where a chunk that kinsplit made lies, or None where its metadata don't know."""
    spans = metadata.get(SPANS) or [(metadata["char_start"], metadata["char_end"])]
    known = all(isinstance(edge, int) for span in spans for edge in span)
    return [Span(*span) for span in spans] if known else None


def is_marked(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata are those of a chunk or passage of kinsplit's, though perhaps copied to a text cut out of it."""
    return metadata.keys() >= _MARKS


def is_placed(metadata: Mapping[str, Any], text: str) -> bool:
    """Whether a text is a chunk or passage of kinsplit's: the one of which its metadata were written."""
    if not is_marked(metadata):
        return False
    context = _context(metadata)
    if metadata["content_hash"] == embedding_hash(text, context, metadata):
        return True
    spans = spans_of(metadata) if _REPLACED in text + context else None
    return spans is not None and stretches(spans, text) is not None


def is_chunk(metadata: Mapping[str, Any], text: str) -> bool:
    """Whether a text is a chunk that kinsplit made, and not a passage or a text cut out of one."""
    return "chunk_index" in metadata and is_placed(metadata, text)


def is_located(metadata: Mapping[str, Any], text: str) -> bool:
    """Whether a text is a chunk that kinsplit made, at a known place of its document."""
    return is_chunk(metadata, text) and metadata["char_start"] is not None


def _context(metadata: Mapping[str, Any]) -> str:
    context = metadata.get(CONTEXT, "")
    return context if isinstance(context, str) else ""
