"""Datasets and the results of their evaluation.

A dataset is documents, questions and labels, which name spans of documents and don't depend on chunks. A row of a file
has two names in labels, its own `docid` and `FILE#docid`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from kinsplit.chunk import Document
from kinsplit.loaders import row_id
from kinsplit.spans import Span


class DocumentNames:
    """Documents by every name that a label may give them.

    A collection holds the rows of its owner's files under their `docid`, and those of uploaded files as `FILE#docid`;
    labels made for one hold for the other. The file may be in any folder, as long as its name is the same.
    """

    def __init__(self, ids: Iterable[str], files: Mapping[str, str]) -> None:
        self._ids = set(ids)
        self._rows: dict[str, list[str]] = {}
        for id_ in sorted(self._ids & files.keys()):
            docid = id_.removeprefix(row_id(files[id_], ""))
            for name in (docid, row_id(files[id_], docid), row_id(_last(files[id_]), docid)):
                self._rows.setdefault(name, []).append(id_)

    def find(self, name: object) -> list[str]:
        """Return the ids of the documents of a name: one, none, or those between which it is ambiguous."""
        if not isinstance(name, str):
            return []
        if name in self._ids:
            return [name]
        return next((found for each in _forms(name) if (found := list(dict.fromkeys(self._rows.get(each, ()))))), [])


def _forms(name: str) -> Iterator[str]:
    """Yield a name as it is, and without the folder of a file before each "#"."""
    yield name
    for at, character in enumerate(name):
        if character == "#":
            yield row_id(_last(name[:at]), name[at + 1 :])


def _last(file_id: str) -> str:
    return PurePosixPath(file_id).name


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
        id: Id in qrels.
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


class Frozen(BaseModel):
    """Base class of the parts of results."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Estimate(Frozen):
    """A mean over questions with its 95 % bootstrap interval."""

    mean: float
    low: float  # Lower end of the interval.
    high: float  # Upper end of the interval.
    count: int  # Number of questions with a value.


class StrategyResult(Frozen):
    """The results of one strategy.

    Attributes:
        label: Name in the tables.
        spec: Specification that recreates the strategy.
        measures: Mean over the questions by name of the measure.
        statistics: Statistics of the chunks by name.
        lengths: Length of each chunk in characters, in document order.
        chunks_per_document: Number of chunks by source id.
    """

    label: str
    spec: str
    measures: Mapping[str, Estimate]
    statistics: Mapping[str, float]
    lengths: Sequence[int]
    chunks_per_document: Mapping[str, int]


class SourceText(Frozen):
    """Text of a document."""

    source_id: str
    spans: Sequence[tuple[int, int]]  # Spans in document order; none for a whole document as a label.
    text: str  # The text; that of several spans is joined by a separator.


class RetrievedChunk(SourceText):
    """A retrieved chunk with the ranker's score."""

    score: float


class QuestionResult(Frozen):
    """The retrieval of one strategy for one question."""

    question_id: str
    strategy: str  # Label of the strategy.
    measures: Mapping[str, float]  # Values by name, without measures that don't apply to the question.
    hits: Sequence[RetrievedChunk]


class AskedQuestion(Frozen):
    """A question with the texts that answer it."""

    id: str
    text: str
    labels: Sequence[Sequence[SourceText]]  # Alternative texts of each label; empty for a question without labels.


class Comparison(Frozen):
    """Comparison of a strategy with the baseline, on the questions for which both have a value.

    Attributes:
        measure: Name of the measure.
        strategy: Label of the strategy.
        baseline: Label of the baseline.
        difference: Mean of strategy minus baseline with its paired bootstrap interval.
        p_value: P-value of the paired randomisation test, two-sided, corrected for the number of comparisons (Holm).
        wins: Number of questions on which the strategy is better.
        ties: Number of questions on which both are equal.
        losses: Number of questions on which the baseline is better.
    """

    measure: str
    strategy: str
    baseline: str
    difference: Estimate
    p_value: float
    wins: int
    ties: int
    losses: int


class MeasureNote(Frozen):
    """Explanation of a measure."""

    name: str
    description: str
    higher_is_better: bool


#: Unit of the statistics of cuts.
CUTS = "cuts"
#: Addition to the name of such a statistic, for the cuts inside what would fit into a chunk by itself.
AVOIDABLE = "_avoidable"


class StatisticNote(Frozen):
    """Explanation of a statistic."""

    name: str
    unit: str  # Unit; "share" for a number from 0 to 1, `CUTS` for a number of cuts.
    description: str


class SharedSettings(Frozen):
    """Settings that all strategies share.

    Attributes:
        dataset: Name of the dataset.
        documents: Number of documents.
        questions: Number of questions.
        embedder: Name of the embedding model.
        ranker: Name of the ranker.
        language: Language of BM25.
        tokenizer: Name of the tokenizer that counts tokens.
        top_k: Number of chunks per question for measures without a number of their own.
        headline: Name of the measure by which strategies are compared.
        versions: Versions of the packages that affect the numbers.
    """

    dataset: str
    documents: int
    questions: int
    embedder: str
    ranker: str
    tokenizer: str
    top_k: int
    headline: str
    language: str = "english"
    versions: Mapping[str, str] = {}
