"""The context of a chunk of code: its file, and the classes and functions that it is from."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.chunk import Document, Part, Span

# Names of parts that a chunk holds several of; more would blur what is embedded with it.
_MOST_NAMES = 6


def outlined(document: Document, spans: Sequence[Span]) -> str:
    """Return the context of a chunk of a document that has an outline.

    The first line names the file, so that its chunks stay one section. The second one is the path of the parts that the
    chunk lies in, and the names of those that it touches beside each other:
    `class Stack > def push, def pop`.

    Args:
        document: The document.
        spans: The chunk's.
    """
    name = document.id.rpartition("/")[2]
    start, end = spans[0].start, spans[-1].end
    around = [part for part in document.outline if part.start <= start and end <= part.end]
    touched: list[Part] = []
    for part in document.outline:
        outside = part not in around and part.start < end and start < part.end
        if outside and not (touched and part.end <= touched[-1].end):
            touched.append(part)
    names = [part.title for part in touched]
    beside = ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
    path = " > ".join([*(part.title for part in around), *([beside] if beside else [])])
    return f"{name}\n{path}" if path else name
