"""`kinsplit evaluate`: compare strategies on labelled questions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kinsplit.cli.derive import from_options
from kinsplit.cli.options import check_writable
from kinsplit.cli.output.evaluation import plan_table, plan_to_dict, show_headline
from kinsplit.cli.output.index_report import Use
from kinsplit.cli.output.progress import steps
from kinsplit.cli.output.tables import counted
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import CacheWarning, KinsplitWarning, require

if TYPE_CHECKING:
    from kinsplit.evaluation.experiment.experiment import Experiment
    from kinsplit.evaluation.labels import Dataset
    from kinsplit.index import Index
    from kinsplit.parsers import Strategy

#: kinsplit's default as the baseline, and the four strategies of rag_eval under their names there.
DEFAULTS = (
    "default",
    "fixed=word:chunk_size=256,chunk_overlap=20",
    "structure=structure:unit=word,min_chunk_size=128,chunk_size=512",
    "semantic=cluster:passage_size=512,passage_overlap=50,threshold=0.75",
    "multigranular=multigranular:chunk_sizes=[256,512,1024]",
)
#: Label of kinsplit's default strategy.
_DEFAULT = "default"
_QUESTIONS = Path("queries.json")


@from_options()
def evaluate(
    docs: list[Path] | None = None,
    queries: list[Path] | None = None,
    output: Path = Path("evaluation_results.json"),
    strategy: list[str] | None = None,
    store: str | None = None,
    collection: list[str] | None = None,
    dry_run: bool = False,
    *,
    terminal: Terminal,
    **options: Any,
) -> None:
    """Compare strategies by the results of retrieval, with the same embedder, ranker and budget for all.

    Without --store and --baseline, kinsplit's default strategy is added as `default`, and is the baseline. Repeat an
    interrupted run to continue it.

    Args:
        docs (PATH): Documents, or a folder with labelled questions; repeatable. Default: docs.
        queries (FILE): Questions; repeatable. Default: those in the folders, else queries.json.
        output (FILE): Results file.
        strategy ([LABEL=]NAME[:KEY=VALUE,...]): Strategy of kinsplit, langchain:CLASS, llama-index:CLASS,
            chonkie:CLASS, or python:MODULE:NAME; repeatable. Default: fixed, structure, semantic and multigranular.
        store (ADDRESS): Address of a store, to evaluate collections there as they are indexed, without embedding
            documents.
        collection (NAME): Collection in --store that holds the documents; repeatable. Default: default.
        dry_run: Only show how much there is to embed, and what is cached.
    """
    from kinsplit.evaluation.experiment.experiment import Experiment
    from kinsplit.parsers import default_strategy

    _check_output(output, [*(docs or ()), *(queries or ()), _QUESTIONS])
    with _opened(store, collection, options) as indexes:
        specs = strategies_of(strategy, options) if strategy or not indexes else {}
        if not indexes and "baseline" not in options:
            specs = {_DEFAULT: specs.pop(_DEFAULT, default_strategy()), **specs}
        experiment = Experiment(_dataset(docs or [Path("docs")], queries), {**indexes, **specs}, **options)
        if dry_run:
            _show_plan(experiment, terminal)
        else:
            _run(experiment, output, Use(options.get("embedder", "bundled")), terminal)


def _show_plan(experiment: Experiment, terminal: Terminal) -> None:
    plans = experiment.plan()
    terminal.outcome({"strategies": [plan_to_dict(plan) for plan in plans]}, plan_table(plans))


def _run(experiment: Experiment, output: Path, use: Use, terminal: Terminal) -> None:
    # The results hold each strategy's warnings, except cache warnings, which may come before there are results.
    silence = warnings.catch_warnings(action="ignore", category=KinsplitWarning)
    with steps(terminal.screen, len(experiment.strategies)) as update, silence:
        warnings.simplefilter("always", CacheWarning)
        results = experiment.run(lambda step: update(step.label, step.stage, step.done, step.total))
    results.write(output)
    for text in results.warnings:
        terminal.warning(text)
    if terminal.as_json:
        written = results.model_dump(mode="json", include={"setting", "strategies", "comparisons", "warnings"})
        for own in written["strategies"]:
            del own["lengths"], own["chunks_per_document"]
        terminal.document({"output": str(output), **written, **use.to_json()})
    else:
        show_headline(terminal, results)
        use.show(terminal)
        found = counted(len(results.questions), "question"), counted(results.setting.documents, "document")
        terminal.line("")
        terminal.line(f"{found[0]}, {found[1]}; written to {output}. Full results: kinsplit show {output}")


@contextmanager
def _opened(store: str | None, collections: list[str] | None, options: Mapping[str, Any]) -> Iterator[dict[str, Index]]:
    """Open the collections to evaluate, by name; none without a store."""
    from kinsplit.index import DEFAULT_COLLECTION, Index
    from kinsplit.options import VectorOptions

    if store is None:
        remedy = "Give the address of the store that has it."
        require(not collections, "--store", "is required with --collection", None, remedy)
        yield {}
        return
    given = {name: options[name] for name in VectorOptions.model_fields.keys() & options.keys()}
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Index(store, collection=name, must_exist=True, **given))
            for name in dict.fromkeys(collections or [DEFAULT_COLLECTION])
        }


def strategies_of(specs: list[str] | None, options: Mapping[str, Any]) -> dict[str, Strategy]:
    """Return strategies by label; by default kinsplit's default strategy and the four of rag_eval.

    Raises:
        InvalidParameterError: A spec is invalid, or two have the same label.
    """
    from kinsplit.evaluation.splitters.specs import from_spec

    shared = {name: options[name] for name in ("tokenizer", "embedder") if name in options}
    made: dict[str, Strategy] = {}
    for spec in specs or DEFAULTS:
        label, strategy = from_spec(spec, **shared)
        remedy = "Use --strategy LABEL=NAME with another label."
        require(label not in made, "strategy", "must have a unique label", label, remedy)
        made[label] = strategy
    return made


def _dataset(docs: list[Path], queries: list[Path] | None) -> Dataset:
    from kinsplit.evaluation.datasets import FORMATS, load
    from kinsplit.evaluation.datasets.format import Given

    exist = all(path.exists() for path in docs)  # Otherwise `load` reports it.
    if not queries and exist and not any(fmt.find(Given(tuple(docs))) for fmt in FORMATS):
        rule = f"is required, since neither {', '.join(map(str, docs))} nor the current folder has questions"
        remedy = 'Write them to queries.json, as in ["What is a loop?"], or generate some with `kinsplit questions`.'
        require(_QUESTIONS.is_file(), "--queries", rule, None, remedy)
        queries = [_QUESTIONS]
    return load(docs, queries or None)


def _check_output(output: Path, read: list[Path]) -> None:
    """Make sure that the results can be written, and that they replace no input file."""
    check_writable(output)
    is_read = output.exists() and any(path.exists() and output.samefile(path) for path in read)
    require(not is_read, "--output", "must not be an input file", str(output), "Name another file.")
