"""Datasets: documents, questions and labels, which name spans of documents and know nothing of chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kinsplit.chunk import Document
from kinsplit.spans import Span


class Place(NamedTuple):
    """Where a label stands.

    Attributes:
        source_id: Id of the document.
        span: The text there; None for the document as such, where it alone was judged and no text of it.
    """

    source_id: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A text that belongs to the answer of a question.

    Attributes:
        places: Where it stands; one of them suffices. Several are copies of one text, or alternatives ("any of").
        group: Name of those labels of the question that are worth something only together; "" for a label that is
            worth something alone.
        grade: How relevant it is, from 1.
    """

    places: tuple[Place, ...]
    group: str = ""
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question, with what answers it where that is known.

    Attributes:
        id: Names it in qrels and runs.
        text: The question.
        labels: What answers it, all of which should be found; none where nothing was labelled.
        answer: The answer itself, where one was written; "" otherwise.
    """

    id: str
    text: str
    labels: tuple[Label, ...] = ()
    answer: str = ""


@dataclass(frozen=True)
class Dataset:
    """Documents that are searched together, and questions about them.

    Attributes:
        name: In reports.
        documents: Each with an id of its own.
        questions: Each with an id of its own.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @cached_property
    def sources(self) -> Mapping[str, Document]:
        """The documents by id."""
        return {document.id: document for document in self.documents}

    @property
    def labelled(self) -> bool:
        """Whether any question says what answers it."""
        return any(question.labels for question in self.questions)
