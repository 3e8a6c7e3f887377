"""Datasets: documents, questions and labels, which name spans of documents and don't depend on chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kinsplit.chunk import Document
from kinsplit.evaluation.document_names import DocumentNames
from kinsplit.spans import Span


class Place(NamedTuple):
    """The place of a label.

    Attributes:
        source_id: Id of the document.
        span: Span of the document; None where the whole document was judged.
    """

    source_id: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A text that belongs to the answer of a question.

    Attributes:
        places: Places of the text, each of which suffices: copies of one text, or alternatives.
        group: Name of a group of labels that answer only together; "" for a label that answers alone.
        grade: Degree of relevance, from 1.
    """

    places: tuple[Place, ...]
    group: str = ""
    grade: int = 1


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its labels.

    Attributes:
        id: Id in qrels and runs.
        text: The question.
        labels: Texts that answer the question, all of which should be found; empty for none.
        answer: Reference answer; "" for none.
    """

    id: str
    text: str
    labels: tuple[Label, ...] = ()
    answer: str = ""


@dataclass(frozen=True)
class Dataset:
    """Documents that are searched together, and questions about them.

    Attributes:
        name: Name in reports.
        documents: Documents with unique ids.
        questions: Questions with unique ids.
        files: Ids of the files of documents that are rows, by id of the document; labels may name these with it.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    files: Mapping[str, str] = field(default_factory=dict, compare=False)

    @cached_property
    def sources(self) -> Mapping[str, Document]:
        """The documents by id."""
        return {document.id: document for document in self.documents}

    @cached_property
    def names(self) -> DocumentNames:
        """The ids of the documents by all of their names."""
        return DocumentNames(self.sources, self.files)

    @property
    def labelled(self) -> bool:
        """Whether any question has labels."""
        return any(question.labels for question in self.questions)
