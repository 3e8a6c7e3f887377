"""Excerpts that a model quotes -> the places in the documents where they stand."""

from __future__ import annotations

from collections.abc import Sequence

from kinsplit.chunk import Document
from kinsplit.evaluation.labels import Place
from kinsplit.evaluation.normalised import Normalised, normalise
from kinsplit.evaluation.questions.sections import Section


class Corpus:
    """Documents in which excerpts are looked for.

    Quotation marks, dashes and white space need not agree, since models change them as they copy; the places are exact.

    Args:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._texts: dict[str, Normalised] = {document.id: normalise(document.text) for document in documents}

    def places(self, excerpt: str, section: Section) -> tuple[Place, ...]:
        """Return where an excerpt of a section stands.

        Args:
            excerpt: As it was quoted.
            section: Where it was quoted from.

        Returns:
            The places in the section, and after them all copies elsewhere; none if it isn't in the section.
        """
        wanted = normalise(excerpt).text
        found = [Place(source_id, span) for source_id, text in self._texts.items() for span in text.find(wanted)]
        inside = [place for place in found if _is_in(place, section)]
        return tuple(inside + [place for place in found if place not in inside]) if inside else ()


def _is_in(place: Place, section: Section) -> bool:
    span = place.span
    return (
        span is not None
        and place.source_id == section.source_id
        and section.span.start <= span.start
        and span.end <= section.span.end
    )
