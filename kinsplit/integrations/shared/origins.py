"""Origins of the texts to split: whole documents, or parts of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kinsplit.chunk import Beside
from kinsplit.details import whole
from kinsplit.identity import embedding_hash
from kinsplit.parsers import Strategy
from kinsplit.parsers.registry import STRATEGIES
from kinsplit.spans import Span, Stretch, stretches

#: Metadata key of what stands beside a chunk's text, as text, which is embedded with it.
CONTEXT = "context"

# Replaces characters that stores can't keep, so that the hash of the text changes.
_REPLACED = "\ufffd"


@dataclass(frozen=True, slots=True)
class TextOrigin:
    """Origin of a text to split."""

    name: str  # Name of the text in the ids of its chunks.
    source_id: str  # Id of the document that it is, or is a part of.
    stretches: tuple[Stretch, ...] | None  # Its position there; None if unknown.
    parent_id: str | None = None  # Id of the chunk that it is; None for a whole document.
    level: int | None = None  # Level of that chunk.
    beside: Beside = field(default_factory=Beside)  # What stands beside the text of that chunk.

    @classmethod
    def document(cls, name: str, text: str) -> TextOrigin:
        """Return the origin of a whole document."""
        return cls(name, name, stretches([Span(0, len(text))], text))

    @classmethod
    def chunk(cls, name: str, text: str, metadata: Mapping[str, Any], source_id: str | None = None) -> TextOrigin:
        """Return the origin of a chunk or passage of kinsplit, or of a text cut out of one, from its metadata.

        Metadata give the position of the chunk or passage that they were written for; a text that was cut out of it is
        a part of the same document at an unknown position. The framework may know the id of that document.
        """
        metadata = whole(metadata)
        spans = spans_of(metadata) if describes(metadata, text) else None
        own, place = source_id or metadata["source_id"], None if spans is None else stretches(spans, text)
        return cls(name, own, place, name, metadata.get("level"), Beside.of(metadata))

    def locate(self, spans: Iterable[Span]) -> tuple[Span, ...] | None:
        """Return the position of spans of this text in the document, or None if that isn't known."""
        if self.stretches is None:
            return None
        found = []
        for wanted_start, wanted_end in spans:
            for at, (first, last) in self.stretches:
                start, end = max(wanted_start - at + first, first), min(wanted_end - at + first, last)
                if start < end:
                    found.append(Span(start, end))
        return tuple(found)


def spans_of(metadata: Mapping[str, Any]) -> list[Span] | None:
    """Return the spans of a chunk from its whole metadata, or None if they aren't known."""
    spans = metadata.get("spans") or [(metadata.get("char_start"), metadata.get("char_end"))]
    known = all(isinstance(edge, int) for span in spans for edge in span)
    return [Span(*span) for span in spans] if known else None


def has_chunk_metadata(metadata: Mapping[str, Any]) -> bool:
    """Return whether metadata are those of a chunk or passage of kinsplit, or were copied to a text cut out of one."""
    has_place = metadata.get("char_start") is not None or metadata.get("chunk_index") is not None
    return has_place and metadata.get("source_id") is not None and metadata.get("content_hash") is not None


def describes(metadata: Mapping[str, Any], text: str) -> bool:
    """Return whether a text is the chunk or passage of kinsplit that its metadata were written for."""
    if not has_chunk_metadata(metadata):
        return False
    metadata = whole(metadata)
    context = Beside.of(metadata).context
    if metadata["content_hash"] == embedding_hash(text, context, metadata):
        return True
    spans = spans_of(metadata) if _REPLACED in text + context else None
    return spans is not None and stretches(spans, text) is not None


def is_chunk(metadata: Mapping[str, Any], text: str) -> bool:
    """Return whether a text is a chunk of kinsplit, and not a passage or a text cut out of one."""
    return metadata.get("chunk_index") is not None and describes(metadata, text)


def is_located(metadata: Mapping[str, Any], text: str) -> bool:
    """Return whether a text is a chunk of kinsplit with a known position in its document."""
    return metadata.get("char_start") is not None and is_chunk(metadata, text)


def generated_names(suffix: str) -> dict[str, str]:
    """Return the names of a framework's generated classes, such as NodeParser, each with the name of its strategy."""
    return {generated_name(attribute, suffix): name for name, attribute in STRATEGIES.attributes().items()}


def generated_name(class_name: str, suffix: str) -> str:
    """Return the name of a strategy's class in a framework."""
    return f"Kinsplit{class_name.removesuffix('Strategy')}{suffix}"


def documentation(strategy: type[Strategy]) -> str:
    """Return the docstring of a strategy's class in a framework."""
    rows = [f"    {name}: {info.description or ''}" for name, info in strategy.model_fields.items()]
    return "\n".join([f"{strategy.summary}.", "", f"Defaults from: {strategy.origin}.", "", "Args:", *rows])
