"""The tally of a generation: questions that were kept, and counts of the others by reason."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kinsplit.chunk import Document
from kinsplit.errors import LanguageModelError
from kinsplit.evaluation.datasets.normalised import Normalised, normalise
from kinsplit.evaluation.labels import Label, Place, Question
from kinsplit.evaluation.questions.filters import Filters, reason_of_form
from kinsplit.evaluation.questions.sections import Answer, Section, Written, quoted


class Corpus:
    """Documents that excerpts are located in.

    Quotation marks, dashes and white space may differ, since models change them when copying; the places are exact.

    Args:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        self._texts: dict[str, Normalised] = {document.id: normalise(document.text) for document in documents}

    def places(self, excerpt: str, section: Section) -> tuple[Place, ...]:
        """Return the places of an excerpt.

        Args:
            excerpt: Excerpt as the model quotes it.
            section: Section that it is quoted from.

        Returns:
            Places in the section, followed by copies elsewhere; empty if the excerpt doesn't occur in the section.
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


@dataclass
class Tally:
    """The state of a generation.

    Attributes:
        number: Number of questions to write.
        corpus: Documents that excerpts are located in.
        filters: Filters of the questions.
        told: Callback for each question that is kept.
        questions: Questions kept so far.
        dropped: Number of dropped questions, or of sections without a question, by reason.
        sections: Number of sections in prompts.
        asked: Number of questions examined.
    """

    number: int
    corpus: Corpus
    filters: Filters
    told: Callable[[], None]
    questions: list[Question] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    sections: int = 0
    asked: int = 0

    @property
    def missing(self) -> int:
        """The number of questions still to write."""
        return self.number - len(self.questions)

    def take(self, section: Section, answer: Answer | LanguageModelError) -> None:
        """Add the questions of an answer, up to the wanted number, or count the reason why there are none."""
        self.sections += 1
        if isinstance(answer, LanguageModelError):
            self.dropped["no usable answer"] += 1
            return
        if not answer.questions:
            self.dropped["no question about the section"] += 1
        for one in answer.questions:
            if not self.missing:
                break
            self.asked += 1
            found = _checked(one, section, self.corpus, self.filters)
            if isinstance(found, str):
                self.dropped[found] += 1
            else:
                self.questions.append(found)
                self.told()


def _checked(one: Written, section: Section, corpus: Corpus, filters: Filters) -> Question | str:
    """Return a question with its labels, or the reason for dropping it."""
    question = " ".join(one.question.split())
    if reason := reason_of_form(question, one.excerpts):
        return reason
    # A document may itself hold text that looks like an escape of the prompt.
    excerpts = [each if corpus.places(each, section) else quoted(each) for each in one.excerpts]
    places = [corpus.places(excerpt, section) for excerpt in excerpts]
    if not all(places):
        return "excerpt not in the section"
    labels = tuple(dict.fromkeys(Label(found) for found in places))
    if reason := filters.reason(question, excerpts):
        return reason
    digest = hashlib.blake2b(
        f"{section.source_id}\0{section.span}\0{question}".encode("utf-8", "replace"), digest_size=4
    )
    return Question(f"q_{digest.hexdigest()}", question, labels)
