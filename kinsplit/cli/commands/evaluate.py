"""`kinsplit evaluate`: which strategy finds what answers the questions."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinsplit.cli.options import AsJson, SharedEmbeddingContext, SharedLanguage
from kinsplit.cli.output.evaluation import plan_to_dict, planned, show_headline
from kinsplit.cli.output.progress import steps
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.cli.paths import check_place
from kinsplit.compat import rag_eval
from kinsplit.errors import CacheWarning, InvalidParameterError, KinsplitWarning

if TYPE_CHECKING:
    from kinsplit.evaluation.labels import Dataset
    from kinsplit.parsers import Strategy

#: kinsplit's default, which is the baseline, and the four strategies of rag_eval under its names.
DEFAULTS = ("default", *rag_eval.STRATEGIES)
#: The strategy of a new collection, and its label.
_DEFAULT = "default"
_QUESTIONS = Path("queries.json")


def evaluate(
    docs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Documents, or a folder that holds labelled questions too. Default: docs.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The questions. Default: those that the folders hold, else queries.json.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="Where the results go.")] = Path(
        "evaluation_results.json"
    ),
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[LABEL=]NAME[:KEY=VALUE,...]",
            help="A strategy of kinsplit, langchain:CLASS, llama-index:CLASS, chonkie:CLASS, or python:MODULE:NAME; "
            "may be repeated. Default: fixed, structure, semantic and multigranular.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="With which the others are compared. Default: kinsplit's own strategy, added as `default`.",
            show_default=False,
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Such as recall@1000t or nDCG@10; may be repeated. Default: all.", show_default=False
        ),
    ] = None,
    headline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The measure that decides. Default: recall@1000t, or query_terms without labels.",
            show_default=False,
        ),
    ] = None,
    top_k: Annotated[int, typer.Option(metavar="N", help="Chunks where a measure has no number of its own.")] = 5,
    ranker: Annotated[
        str, typer.Option(metavar="NAME", help="kin, hybrid, dense or bm25, for all strategies.")
    ] = "kin",
    embedder: Annotated[
        str, typer.Option(metavar="SPEC", help="Embedding model for all: bundled, static, st:NAME_OR_PATH, or hash.")
    ] = "bundled",
    tokenizer: Annotated[
        str, typer.Option(metavar="SPEC", help="Counts tokens for all: bundled, hf:REPOSITORY, tiktoken:ENCODING.")
    ] = "bundled",
    embedding_context: SharedEmbeddingContext = "headings",
    language: SharedLanguage = "english",
    span_coverage: Annotated[
        float, typer.Option(metavar="X", help="Least share of a label that a relevant chunk holds; see kinsplit qrels.")
    ] = 0.85,
    chunk_coverage: Annotated[
        float, typer.Option(metavar="X", help="Least share of a relevant chunk that the label fills.")
    ] = 0.5,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="Judges answers: ollama:MODEL or openai:MODEL.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell how much there is to embed and what is kept already.")
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither keep nor use vectors and outcomes of other runs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare strategies by what retrieval finds: one embedder, one ranker and equal budgets for all.

    A run that was stopped goes on from there when it is started again.
    """
    from kinsplit.evaluation.experiment.experiment import Experiment
    from kinsplit.evaluation.qrels.rule import SpanRule

    terminal = Terminal(as_json=as_json)
    _check_output(output, [*(docs or ()), *(queries or ()), _QUESTIONS])
    strategies = _with_baseline(strategies_of(strategy, tokenizer, embedder), baseline)
    experiment = Experiment(
        _dataset(docs or [Path("docs")], queries),
        strategies,
        embedder=embedder,
        ranker=ranker,
        measures=measure or None,
        headline=headline,
        top_k=top_k,
        embedding_context=embedding_context,
        language=language,
        tokenizer=tokenizer,
        rule=SpanRule(span_coverage=span_coverage, chunk_coverage=chunk_coverage),
        model=model,
        cache=not no_cache,
    )
    if dry_run:
        plans = experiment.plan()
        if as_json:
            terminal.document({"strategies": [plan_to_dict(plan) for plan in plans]})
        else:
            terminal.table(planned(plans))
        return
    # The results hold the warnings, each with its strategy, but for those from before there are results.
    silence = warnings.catch_warnings(action="ignore", category=KinsplitWarning)
    with steps(terminal.screen, len(strategies)) as moved, silence:
        warnings.simplefilter("always", CacheWarning)
        results = experiment.run(lambda step: moved(step.label, step.stage, step.done, step.total))
    results.write(output)
    for text in results.warnings:
        terminal.warning(text)
    if as_json:
        written = results.model_dump(mode="json", include={"setting", "strategies", "comparisons", "warnings"})
        for own in written["strategies"]:
            del own["lengths"], own["chunks_per_document"]
        terminal.document({"output": str(output), **written})
    else:
        show_headline(terminal, results)
        found = counted(len(results.questions), "question"), counted(results.setting.documents, "document")
        terminal.line("")
        terminal.line(f"{found[0]}, {found[1]}; written to {output}. All of it: kinsplit show {output}")


def strategies_of(
    specs: list[str] | None, tokenizer: str = "bundled", embedder: str = "bundled"
) -> dict[str, Strategy]:
    """Return strategies by label; kinsplit's own and those of rag_eval where none is named.

    Raises:
        InvalidParameterError: A spec makes none, or two have one label.
    """
    from kinsplit.evaluation.splitters import from_spec

    made: dict[str, Strategy] = {}
    for spec in specs or DEFAULTS:
        label, strategy = from_spec(spec, tokenizer, embedder)
        if label in made:
            remedy = "Write --strategy LABEL=NAME with another label."
            raise InvalidParameterError("strategy", "must have a label of its own", label, remedy)
        made[label] = strategy
    return made


def _with_baseline(made: dict[str, Strategy], baseline: str | None) -> dict[str, Strategy]:
    """Return strategies with the baseline first."""
    from kinsplit.evaluation.splitters import from_spec

    if baseline is None:
        baseline = _DEFAULT
        made.setdefault(*from_spec(_DEFAULT))
    if baseline not in made:
        raise InvalidParameterError(
            "baseline", "must be the label of a strategy", baseline, f"Known: {', '.join(made)}."
        )
    return {baseline: made[baseline], **made}


def _dataset(docs: list[Path], queries: list[Path] | None) -> Dataset:
    from kinsplit.evaluation.datasets import FORMATS, load
    from kinsplit.evaluation.datasets.format import Given

    there = all(path.exists() for path in docs)  # What isn't is told by `load`.
    if not queries and there and not any(fmt.find(Given(tuple(docs))) for fmt in FORMATS):
        if not _QUESTIONS.is_file():
            names = ", ".join(map(str, docs))
            rule = f"must name questions, since neither {names} nor this folder holds any"
            remedy = 'Write them to queries.json, as in ["What is a loop?"], or let `kinsplit questions` make some.'
            raise InvalidParameterError("--queries", rule, None, remedy)
        queries = [_QUESTIONS]
    return load(docs, queries or None)


def _check_output(output: Path, read: list[Path]) -> None:
    """Make sure, before hours of work, that the results have a place, which no file has that is read.

    Raises:
        InvalidParameterError: They have none.
    """
    check_place(output)
    if output.exists() and any(path.exists() and output.samefile(path) for path in read):
        rule = "must not be a file that is read"
        raise InvalidParameterError("--output", rule, str(output), "Name another one.")
