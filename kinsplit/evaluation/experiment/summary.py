"""The summary of an experiment: scores, means, comparisons and warnings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import kinsplit
from kinsplit.errors import require
from kinsplit.evaluation import labels
from kinsplit.evaluation.experiment.strategy_run import Setup, StrategyOutcomes
from kinsplit.evaluation.measures.protocol import Chunking, Measure, Outcome
from kinsplit.evaluation.measures.ranks import RankMeasure
from kinsplit.evaluation.qrels import starved
from kinsplit.evaluation.results import Results
from kinsplit.evaluation.significance import compare, estimates
from kinsplit.evaluation.splitters.specs import spec_of
from kinsplit.evaluation.statistics import notes, strategy_result
from kinsplit.support.warnings import record_warnings

#: Number of questions below which intervals are too wide to distinguish strategies.
FEWEST = 30


def cautions(
    dataset: labels.Dataset, measures: Sequence[Measure], headline: str, chunkings: Mapping[str, Chunking]
) -> Iterator[str]:
    """Yield the reasons why a comparison may be misleading, in sentences."""
    judged = sum(bool(question.labels) for question in dataset.questions)
    if not dataset.labelled:
        yield (
            f"No question has labels, so nothing shows whether the retrieved text answers it: {headline} doesn't tell "
            "which strategy is better. Label some questions, or let `kinsplit questions` write labelled ones."
        )
    elif judged < len(dataset.questions):
        yield f"{len(dataset.questions) - judged:,} of {len(dataset.questions):,} questions have no labels."
    if 0 < len(dataset.questions) < FEWEST:
        asked = "1 question" if len(dataset.questions) == 1 else f"{len(dataset.questions)} questions"
        yield f"Only {asked}: fewer than {FEWEST} seldom tell strategies apart."
    for rule in {measure.rule: None for measure in measures if isinstance(measure, RankMeasure)}:
        qrels = {label: chunking.alignment.qrels(dataset.questions, rule) for label, chunking in chunkings.items()}
        if caution := starved(dataset.questions, qrels):
            yield caution
    sentences: dict[str, list[str]] = {}
    for label, chunking in chunkings.items():
        for text in _of_chunks(chunking, headline):
            sentences.setdefault(text, []).append(label)
    for text, named in sentences.items():
        yield f"{', '.join(named)}: {text}"


def _of_chunks(chunking: Chunking, headline: str) -> Iterator[str]:
    """Yield the cautions about one strategy's chunks."""
    if not chunking.chunks:
        return
    single = sum(len(chunks) == 1 for chunks in chunking.by_source.values())
    if 2 * single > len(chunking.by_source):
        yield (
            f"{single:,} of {len(chunking.by_source):,} documents are one chunk, so the splitting makes no "
            "difference there. Use smaller chunks or longer documents."
        )
    if whole := _whole(chunking, headline):
        yield f"{headline} holds all {whole}, so it says nothing about the ranking. Use a smaller number."


def _whole(chunking: Chunking, headline: str) -> str:
    """Describe the amount of text if the headline looks at all of it, else return ""."""
    tokens, chunks = re.search(r"@(\d+)t$", headline), re.search(r"@(\d+)$", headline)
    if tokens and (total := sum(chunking.token_counts.values())) <= int(tokens[1]):
        return f"{total:,} tokens of the documents"
    if chunks and len(chunking.chunks) <= int(chunks[1]):
        return f"{len(chunking.chunks):,} chunks"
    return ""


#: Packages besides kinsplit that affect the numbers.
_PACKAGES = ("numpy", "scipy", "tokenizers", "qdrant-edge-py", "sentence-transformers", "openvino")


def _versions() -> dict[str, str]:
    """Return the versions of those that are installed."""
    found = {}
    for name in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


class Summary:
    """Collector of an experiment's results, one strategy after the other."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._values: dict[str, dict[str, list[float | None]]] = {}
        self._strategies: list[labels.StrategyResult] = []
        self._results: list[labels.QuestionResult] = []
        self._chunkings: dict[str, Chunking] = {}
        self._warnings: list[str] = []

    def add(self, label: str, evidence: StrategyOutcomes) -> None:
        """Score the evidence of a strategy."""
        chunking = evidence.profile.chunking
        with record_warnings() as raised:
            values = {m.name: [_score(m, one, chunking) for one in evidence.outcomes] for m in self._setup.measures}
        self._values[label] = values
        self._chunkings[label] = chunking
        self._warnings += [f"{label}: {text}" for text in (*evidence.warnings, *map(str, raised))]
        spec = spec_of(self._setup.strategies[label])
        self._strategies.append(strategy_result(label, spec, evidence.profile, _means(values)))
        for number, outcome in enumerate(evidence.outcomes):
            own = {name: value for name, column in values.items() if (value := column[number]) is not None}
            ranked = zip(outcome.ranking[: self._setup.top_k], outcome.scores, strict=False)
            hits = [
                labels.RetrievedChunk(source_id=chunk.source_id, spans=chunk.spans, text=chunk.text, score=score)
                for chunk, score in ranked
            ]
            result = labels.QuestionResult(question_id=outcome.question.id, strategy=label, measures=own, hits=hits)
            self._results.append(result)

    def results(self) -> Results:
        """Return the results of all strategies."""
        setup = self._setup
        headline, dataset, strategies = setup.headline, setup.dataset, self._strategies
        (higher_is_better,) = {measure.higher_is_better for measure in setup.measures if measure.name == headline}
        values = {label: columns[headline] for label, columns in self._values.items()}
        measured = [m for m in setup.measures if any(m.name in own.measures for own in strategies)]
        return Results(
            setting=labels.SharedSettings(
                dataset=dataset.name,
                documents=len(dataset.documents),
                questions=len(dataset.questions),
                embedder=setup.embedder.name,
                ranker=setup.ranker.name,
                language=setup.language,
                tokenizer=setup.tokenizer.name,
                top_k=setup.top_k,
                headline=headline,
                versions={"kinsplit": kinsplit.__version__, **_versions()},
            ),
            strategies=strategies,
            questions=[self._asked(question) for question in dataset.questions],
            results=self._results,
            comparisons=compare(headline, next(iter(values)), values, higher_is_better=higher_is_better),
            warnings=[*self._warnings, *cautions(dataset, setup.measures, headline, self._chunkings)],
            notes=[labels.MeasureNote.model_validate(each, from_attributes=True) for each in measured],
            statistic_notes=notes(strategies),
        )

    def _asked(self, question: labels.Question) -> labels.AskedQuestion:
        texts = [[self._text(place) for place in label.places] for label in question.labels]
        return labels.AskedQuestion(id=question.id, text=question.text, labels=texts)

    def _text(self, place: labels.Place) -> labels.SourceText:
        spans = () if place.span is None else (place.span,)
        source = self._setup.dataset.sources[place.source_id].text
        text = "".join(source[start:end] for start, end in spans)
        return labels.SourceText(source_id=place.source_id, spans=spans, text=text)


def _score(measure: Measure, outcome: Outcome, chunking: Chunking) -> float | None:
    value = measure.score(outcome, chunking)
    remedy = f"Return None where {measure.name} doesn't apply to a question."
    require(value is None or math.isfinite(value), "measures", "must return finite numbers", value, remedy)
    return value


def _means(values: dict[str, list[float | None]]) -> dict[str, labels.Estimate]:
    table = [[float("nan") if value is None else value for value in column] for column in values.values()]
    rows = list(zip(*table, strict=True))
    return {name: mean for name, mean in zip(values, estimates(rows), strict=True) if mean is not None}
