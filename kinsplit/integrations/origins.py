"""Where a text comes from that is to be split: a whole document, or a part of one whose place in it is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kinsplit.chunk import Span

#: Only in the metadata of a chunk with several spans: where each lies, as pairs of offsets.
SPANS = "spans"
#: Only in the metadata of a chunk that has one: heading path or table header, to be embedded with the text.
CONTEXT = "context"

_MARKS = frozenset({"source_id", "char_start", "char_end", "content_hash"})


class Stretch(NamedTuple):
    """A stretch of a text that is a slice of a document.

    Attributes:
        at: Where the stretch begins in the text.
        span: Where it lies in the document.
    """

    at: int
    span: Span


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
        """Return the origin of a chunk that kinsplit made, from its metadata.

        Args:
            name: The chunk's id.
            text: Its text.
            metadata: Its metadata.
            source_id: Its document's id, where the framework knows better than the metadata.
        """
        spans = metadata.get(SPANS) or [(metadata["char_start"], metadata["char_end"])]
        known = all(isinstance(edge, int) for span in spans for edge in span)
        return cls(
            name,
            source_id or metadata["source_id"],
            stretches([Span(*span) for span in spans], text) if known else None,
            name,
            metadata.get("level"),
            metadata.get(CONTEXT, ""),
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


def stretches(spans: Sequence[Span], text: str) -> tuple[Stretch, ...] | None:
    """Return where slices of a document that were joined lie in the joined text.

    Args:
        spans: The slices.
        text: They, joined by any separator.

    Returns:
        One stretch for each span; None if the text is too short or too long to be made of them.
    """
    joints, rest = len(spans) - 1, len(text) - sum(end - start for start, end in spans)
    gap, rest = divmod(rest, joints) if joints else (0, rest)
    if gap < 0 or rest:
        return None
    found, at = [], 0
    for span in spans:
        found.append(Stretch(at, span))
        at += span.end - span.start + gap
    return tuple(found)


def is_chunk(metadata: Mapping[str, Any]) -> bool:
    """Whether metadata are those of a chunk that kinsplit made."""
    return metadata.keys() >= _MARKS
