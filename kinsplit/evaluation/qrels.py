"""Span qrels: the relevant chunks of any chunking, by the rule of SC-Qrels, and the files that other tools read.

The thresholds of the rule can be tuned. Qrels are written in the TREC format: plain text, one judgement per line.
"""

from __future__ import annotations

import bisect
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from kinsplit.chunk import Beside, Chunk, by_source, embedded_text, select
from kinsplit.embedding import Embedder
from kinsplit.errors import InvalidParameterError, LoadError, require
from kinsplit.evaluation.datasets.format import lines, read_text
from kinsplit.evaluation.labels import Dataset, Label, Place, Question
from kinsplit.identity import content_hash
from kinsplit.options import SpanRule
from kinsplit.spans import Span, length, shared, stretches, unite

#: The rule with the thresholds of SC-Qrels.
SC_QRELS = SpanRule()


class Holding(NamedTuple):
    """A chunk that holds some of a span."""

    chunk: Chunk
    of_span: float
    of_chunk: float


class Placed:
    """The chunks of one document, indexed by their spans; they may overlap, and be in any order."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self.chunks = chunks
        spans = [unite(chunk.spans) for chunk in chunks]
        self._lengths = [length(own) for own in spans]
        placed = sorted((span, number) for number, own in enumerate(spans) for span in own)
        self._spans = [span for span, _ in placed]
        self._numbers = [number for _, number in placed]
        self._starts = [span.start for span in self._spans]
        # Running maximum of the ends, which bisection needs.
        self._reach = list(accumulate((span.end for span in self._spans), max))

    def holding(self, span: Span) -> Iterator[Holding]:
        """Yield the chunks that hold at least one character of a span."""
        held: dict[int, int] = {}
        first = bisect.bisect_right(self._reach, span.start)
        for at in range(first, bisect.bisect_left(self._starts, span.end)):
            own = self._spans[at]
            common = min(own.end, span.end) - max(own.start, span.start)
            if common > 0:
                held[self._numbers[at]] = held.get(self._numbers[at], 0) + common
        for number, common in held.items():
            yield Holding(self.chunks[number], common / (span.end - span.start), common / self._lengths[number])


#: Degrees of relevance, from 1, of the relevant chunks, by question id and chunk id.
Qrels = Mapping[str, Mapping[str, int]]


class Alignment:
    """The chunks of a chunking, in any order, indexed by their spans to find those relevant to a label."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self._placed = {source_id: Placed(own) for source_id, own in by_source(chunks).items()}

    def holding(self, place: Place) -> Iterator[Holding]:
        """Yield the chunks that hold some of a place; for a whole document, all of its chunks with both shares 1."""
        placed = self._placed.get(place.source_id)
        if placed is None:
            return
        if place.span is None:
            yield from (Holding(chunk, 1.0, 1.0) for chunk in placed.chunks)
        else:
            yield from placed.holding(place.span)

    def held(self, question: Question) -> Iterator[tuple[Label, Holding]]:
        """Yield each label of a question with each chunk that holds some of any of its places."""
        for label in question.labels:
            for place in label.places:
                for holding in self.holding(place):
                    yield label, holding

    def relevant(self, question: Question, rule: SpanRule) -> dict[str, int]:
        """Return the degree of relevance of each chunk that is relevant to a question, by its id.

        A chunk is relevant if the rule holds for any place of any label; its degree is the highest of them, each
        multiplied by the label's grade.
        """
        degrees: dict[str, int] = {}
        for label, held in self.held(question):
            degree = label.grade * rule.degree(held.of_span, held.of_chunk)
            if degree > degrees.get(held.chunk.id, 0):
                degrees[held.chunk.id] = degree
        return degrees

    def qrels(self, questions: Iterable[Question], rule: SpanRule) -> dict[str, dict[str, int]]:
        """Return `relevant` by question id, for questions that have a relevant chunk."""
        found = {question.id: self.relevant(question, rule) for question in questions}
        return {question_id: relevant for question_id, relevant in found.items() if relevant}


def unjudged(questions: Iterable[Question], qrels: Qrels) -> list[Question]:
    """Return the questions with labels but without a relevant chunk, to which rank measures don't apply.

    Args:
        questions: Questions, with or without labels.
        qrels: Qrels of these questions.
    """
    return [question for question in questions if question.labels and not qrels.get(question.id)]


def starved(questions: Iterable[Question], qrels: Mapping[str, Qrels]) -> str:
    """Describe how many questions have no relevant chunk; "" if all have one."""
    labelled = [question for question in questions if question.labels]
    missing = {label: len(unjudged(labelled, own)) for label, own in qrels.items()}
    counts = ", ".join(f"{count:,} with {label}" for label, count in missing.items() if count)
    if not counts:
        return ""
    return (
        f"Of {len(labelled):,} labelled questions some have no relevant chunk, so rank measures don't apply to "
        f"them: {counts}. Lower the thresholds (`kinsplit qrels --tune` finds good ones), or use recall at a token "
        "budget."
    )


#: Default values to try, from loose to strict. A label may fill only a hundredth of a large chunk.
SPAN_COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.85, 0.95, 1.0)
CHUNK_COVERAGES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75)


class ThresholdTrial(NamedTuple):
    """The effect of a pair of thresholds."""

    rule: SpanRule
    judged: tuple[float, ...]
    relevant: tuple[float, ...]


class Tuning(NamedTuple):
    """The effects of all pairs of thresholds."""

    trials: tuple[ThresholdTrial, ...]
    # Strictest rule by which enough questions have a relevant chunk in every chunking: the highest span coverage, then
    # the highest chunk coverage, since holding the answer matters more than holding nothing else. None if there is no
    # such rule.
    best: SpanRule | None


def tune_thresholds(
    questions: Iterable[Question],
    alignments: Sequence[Alignment],
    least: float = 0.95,
    span_coverages: Sequence[float] = SPAN_COVERAGES,
    chunk_coverages: Sequence[float] = CHUNK_COVERAGES,
) -> Tuning:
    """Try thresholds on some chunkings, for questions with labels.

    The rule of a comparison must fit all its chunkings: if only small chunks can satisfy it, few questions are left to
    judge large ones. `least` is the minimum share of the labelled questions that have a relevant chunk in each
    chunking.

    Raises:
        InvalidParameterError: No question has labels, there is no chunking, or the share is out of range.
    """
    labelled = [question for question in questions if question.labels]
    needed = "must have labelled questions and at least one chunking"
    require(labelled and alignments, "questions", needed, len(labelled), "Give both.")
    require(0 < least <= 1, "least", "must be above 0 and at most 1", least, "The default is 0.95.")
    held = [_held(labelled, alignment) for alignment in alignments]
    trials = []
    for of_span, of_chunk in product(sorted(set(span_coverages)), sorted(set(chunk_coverages))):
        pair = SpanRule(span_coverage=of_span, chunk_coverage=of_chunk)
        numbers = zip(*(_passed(own, pair) for own in held), strict=True)
        trials.append(ThresholdTrial(pair, *(tuple(n / len(labelled) for n in own) for own in numbers)))
    enough = [trial.rule for trial in trials if min(trial.judged) >= least]
    return Tuning(tuple(trials), enough[-1] if enough else None)


def _held(questions: Sequence[Question], alignment: Alignment) -> npt.NDArray[np.float64]:
    """Return a row for each label and chunk that holds some of it: question, question with chunk, and both shares."""
    numbers: dict[tuple[int, str], int] = {}
    rows = [
        (number, numbers.setdefault((number, chunk.id), len(numbers)), of_span, of_chunk)
        for number, question in enumerate(questions)
        for _, (chunk, of_span, of_chunk) in alignment.held(question)
    ]
    return np.array(rows, float).reshape(-1, 4)


def _passed(held: npt.NDArray[np.float64], rule: SpanRule) -> tuple[int, int]:
    """Return the number of questions with a relevant chunk, and the number of their relevant chunks."""
    kept = held[(held[:, 2] >= rule.span_coverage) & (held[:, 3] >= rule.chunk_coverage)]
    return len(np.unique(kept[:, 0])), len(np.unique(kept[:, 1]))


Separator = Literal["\t", " "]


def write_qrels(path: Path, qrels: Qrels, separator: Separator = "\t") -> None:
    """Write qrels: `question 0 chunk degree`, sorted by question and chunk.

    Raises:
        InvalidParameterError: An id is empty or contains white space, which separates fields.
    """
    rows = (
        (_checked(question_id), "0", _checked(chunk_id), str(degree))
        for question_id, degrees in sorted(qrels.items())
        for chunk_id, degree in sorted(degrees.items())
    )
    _write(path, rows, separator)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read qrels whose fields are separated by any white space.

    Raises:
        LoadError: A line is not a judgement, or judges the same chunk as another line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, (question_id, _, chunk_id, degree) in _rows(path, 4):
        degrees = qrels.setdefault(question_id, {})
        if chunk_id in degrees:
            raise LoadError(path, f"line {number}: judges {chunk_id} a second time for {question_id}.")
        try:
            degrees[chunk_id] = int(degree)
        except ValueError:
            raise LoadError(path, f"line {number}: the degree of relevance is no integer: {degree!r}.") from None
    return qrels


def _checked(name: str) -> str:
    if not name or any(character.isspace() or character == "\ufeff" for character in name):
        rule = "must not be empty or have white space in it where it goes into a file of TREC"
        raise InvalidParameterError("id", rule, name, "Give the document or question another id.")
    return name


def _rows(path: Path, fields: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        row = line.split()
        if row and len(row) != fields:
            raise LoadError(path, f"line {number}: has {len(row)} fields instead of {fields}.")
        if row:
            yield number, row


def _write(path: Path, rows: Iterable[Iterable[str]], separator: Separator) -> None:
    text = "".join(separator.join(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_manifest(path: Path, chunks: Iterable[Chunk]) -> None:
    """Write a manifest: rows of SC-Qrels, plus `spans` for chunks with several, and `context` and `beside` if any."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for chunk in chunks:
            own = [*(["spans"] if len(chunk.spans) > 1 else []), *(["context", "beside"] if chunk.context else [])]
            shown = select(chunk, ["start", "end", "text", *own])
            row = {"original_doc_id": chunk.source_id, "chunk_id": chunk.id, **shown}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def read_manifest(path: Path, dataset: Dataset) -> tuple[Chunk, ...]:
    """Read a manifest of SC-Qrels or of `write_manifest`, or the rows that `kinsplit chunk` writes.

    The chunks are linked to their siblings. A chunk's text must equal the document's text at its spans; a row without
    text gets that text.

    Raises:
        LoadError: A row is not a chunk, repeats an id, or differs from its document.
    """
    chunks: list[Chunk] = []
    ids: set[str] = set()
    for row in lines(path):
        try:
            chunk = _chunk(row.value, dataset)
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise LoadError(path, f"{row.place}: {reason}.") from error
        if chunk.id in ids:
            raise LoadError(path, f"{row.place}: the id {chunk.id} is there a second time.")
        ids.add(chunk.id)
        chunks.append(chunk)
    return tuple(_linked(chunks))


def _chunk(row: Mapping[str, Any], dataset: Dataset) -> Chunk:
    stated = row["docid"] if "docid" in row else row["original_doc_id"]
    found = dataset.names.find(stated)
    if len(found) != 1:
        several = f"{stated!r} is the docid of several rows. Write {' or '.join(map(repr, found))}"
        raise ValueError(several if found else f"there is no document {stated!r}")
    (source_id,) = found
    source = dataset.sources[source_id].text
    spans = tuple(Span(*span) for span in row.get("spans") or [(row["start"], row["end"])])
    bounds = [bound for span in spans for bound in span]
    if bounds != sorted(bounds) or bounds[0] < 0 or bounds[-1] > len(source) or any(a == b for a, b in spans):
        raise ValueError(f"no such place in {source_id!r}, which has {len(source)} characters: {bounds}")
    slices = [source[start:end] for start, end in spans]
    text = row["text"] if "text" in row or len(spans) > 1 else slices[0]
    placed = stretches(spans, text)
    if placed is None or [text[at : at + end - start] for at, (start, end) in placed] != slices:
        raise ValueError(
            f"the text isn't what {source_id!r} has at {spans[0].start} to {spans[-1].end}. If the chunks are of "
            "normalised texts, as those of SC-Qrels are, normalise the documents too: --normalise sc-qrels"
        )
    beside, level = Beside.of(row), row.get("level", 0)
    if not isinstance(level, int):
        raise TypeError(f"the level must be a whole number, but is {level!r}")
    hash_ = content_hash(text, beside.context)
    return Chunk(str(row["chunk_id"]), source_id, 0, 1, level, spans, text, hash_, beside=beside)


def _linked(chunks: list[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks with their position among those of their document and level, and with their siblings."""
    kin: dict[tuple[str, int], list[Chunk]] = {}
    positions = []
    for chunk in chunks:
        own = kin.setdefault((chunk.source_id, chunk.level), [])
        positions.append(len(own))
        own.append(chunk)
    for chunk, index in zip(chunks, positions, strict=True):
        own = kin[chunk.source_id, chunk.level]
        before, after = own[index - 1] if index else None, own[index + 1] if index + 1 < len(own) else None
        yield replace(
            chunk,
            index=index,
            total=len(own),
            overlap=shared(before.spans if before else (), chunk.spans),
            prev_id=before.id if before else None,
            next_id=after.id if after else None,
        )


_KEYS = ("ids", "docids", "embeddings")


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of chunks."""

    ids: Sequence[str]
    source_ids: Sequence[str]
    vectors: npt.NDArray[np.float32]  # float32[chunks, dimension].


def write_embeddings(path: Path, embeddings: Embeddings) -> None:
    """Write embeddings."""
    values = (np.array(embeddings.ids, np.str_), np.array(embeddings.source_ids, np.str_), embeddings.vectors)
    with path.open("wb") as file:  # np.savez would add ".npz" to another name.
        np.savez(file, allow_pickle=False, **dict(zip(_KEYS, values, strict=True)))


def read_embeddings(path: Path) -> Embeddings:
    """Read embeddings; pickled arrays are refused, so that nothing in the file is executed.

    Raises:
        LoadError: The file is not an `.npz` file, an array is missing, pickled or of another type, or lengths differ.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            ids, source_ids, vectors = (file[key] for key in _KEYS)
    except (ValueError, KeyError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise LoadError(path, f"must be an .npz file with {', '.join(_KEYS)}, none of them pickled.") from error
    if ids.dtype.kind != "U" or source_ids.dtype.kind != "U" or vectors.dtype.kind != "f" or vectors.ndim != 2:
        raise LoadError(path, "ids and docids must be text, and embeddings a table of floating-point numbers.")
    if not ids.shape == source_ids.shape == vectors.shape[:1]:
        raise LoadError(path, "ids, docids and embeddings must have one entry for each chunk.")
    return Embeddings(ids.tolist(), source_ids.tolist(), vectors.astype(np.float32, copy=False))


class Exported(NamedTuple):
    """The export of one chunking."""

    label: str
    chunks: int
    qrels: Qrels
    files: tuple[Path, ...]


def stems(labels: Sequence[str]) -> dict[str, str]:
    """Return a file name stem for each label, of letters, digits and "-._".

    Raises:
        InvalidParameterError: Two labels have the same stem.
    """
    found: dict[str, str] = {}
    for label in labels:
        stem = re.sub(r"[^\w.-]+", "_", label).strip("_.") or "chunks"
        if stem.casefold() in map(str.casefold, found.values()):
            rule = "must differ from the others, also as a file name"
            raise InvalidParameterError("label", rule, label, "Give it another one: --strategy LABEL=NAME.")
        found[label] = stem
    return found


def export(
    folder: Path,
    chunkings: Mapping[str, Sequence[Chunk]],
    questions: Sequence[Question],
    rule: SpanRule,
    embedder: Embedder | None = None,
) -> list[Exported]:
    """Write `qrels_LABEL.txt`, `chunks_LABEL.jsonl` and, with an embedder, `embeddings_LABEL.npz` for each chunking.

    Args:
        folder: Folder of the files, which is created if it doesn't exist.
        chunkings: Leaves by label.
        questions: Questions with labels.
        rule: Rule that makes a chunk relevant.
        embedder: Embedder of the chunks with their contexts; None for no embeddings.

    Raises:
        InvalidParameterError: Two labels have the same file name, or an id can't be written.
    """
    names = stems(list(chunkings))
    folder.mkdir(parents=True, exist_ok=True)
    exported = []
    for label, chunks in chunkings.items():
        qrels = Alignment(chunks).qrels(questions, rule)
        files = [folder / f"qrels_{names[label]}.txt", folder / f"chunks_{names[label]}.jsonl"]
        write_qrels(files[0], qrels)
        write_manifest(files[1], chunks)
        if embedder is not None:
            files.append(folder / f"embeddings_{names[label]}.npz")
            vectors = embedder.embed([embedded_text(chunk) for chunk in chunks])
            ids, source_ids = [chunk.id for chunk in chunks], [chunk.source_id for chunk in chunks]
            write_embeddings(files[2], Embeddings(ids, source_ids, vectors))
        exported.append(Exported(label, len(chunks), qrels, tuple(files)))
    return exported
