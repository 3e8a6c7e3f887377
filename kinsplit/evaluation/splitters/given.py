"""Chunks that were made elsewhere, in the place of a splitter."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.evaluation.splitters.locate import squeezed


class GivenChunks:
    """A list of chunks, each returned for the document that it is of.

    A chunk belongs to the document of the chunk before it if it follows there, and otherwise to the next document that
    has it, without regard to white space and case. One that no document has is returned with the one before it, so that
    it is reported as lost.

    Args:
        chunks: Their texts, in the order of the documents.
        texts: The documents'.
    """

    def __init__(self, chunks: Sequence[str], texts: Sequence[str]) -> None:
        self._own: dict[str, list[str]] = {}
        solid = [squeezed(text) for text in texts]
        at, behind = 0, 0
        for chunk in chunks:
            if wanted := squeezed(chunk):
                for step in range(len(texts)):
                    number = (at + step) % len(texts)
                    place = solid[number].find(wanted, 0 if step else behind)
                    if place >= 0:
                        at, behind = number, place + 1
                        break
                self._own.setdefault(texts[at], []).append(chunk)

    def __call__(self, text: str) -> list[str]:
        """Return the chunks of a document."""
        return self._own.get(text, [])
