"""Documents -> sections to ask about, in an order of which every beginning is spread evenly over all of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from kinsplit.chunk import Document, Span
from kinsplit.parsers import create

#: Tokens of a section: about the 4,000 characters that Chroma's report shows to the model.
TOKENS = 800
# The golden ratio's share: multiples of it, without their whole part, fill any range most evenly.
_GOLDEN = (5**0.5 - 1) / 2


class Section(NamedTuple):
    """A part of a document that a model is asked about.

    Attributes:
        source_id: The document.
        span: Where it lies there.
        text: The text there.
    """

    source_id: str
    span: Span
    text: str


def sections_of(documents: Sequence[Document], tokens: int = TOKENS) -> list[Section]:
    """Divide documents into sections of whole sentences, in document order.

    Args:
        documents: The documents.
        tokens: Most tokens of a section.
    """
    strategy = create("sentence", chunk_size=tokens, chunk_overlap=0)
    return [
        Section(chunk.source_id, Span(chunk.start, chunk.end), chunk.text)
        for chunks in strategy.chunk_many(documents)
        for chunk in chunks
    ]


def spread(sections: Sequence[Section], seed: int) -> list[Section]:
    """Return sections in an order in which the first few, however many, lie evenly among all.

    Args:
        sections: In document order.
        seed: Chooses one such order; the same seed gives the same.
    """
    shift = random.Random(seed).random()  # noqa: S311
    order = sorted(range(len(sections)), key=lambda i: (shift + i * _GOLDEN) % 1)
    return [sections[i] for i in order]
