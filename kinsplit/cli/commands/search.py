"""`kinsplit search`: find passages in a collection."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.options import (
    AsJson,
    Collection,
    ContextShare,
    Diversity,
    Embedder,
    Ranking,
    Rerank,
    Store,
    Where,
    parse_where,
)
from kinsplit.cli.output.passages import PREVIEW, QueryWords, score_table, show
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.terminal import Terminal


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    top_k: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Maximum number of passages. Default: 3, or with --budget as many as fit.",
            show_default=False,
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Number of chunks to rerank and expand. Default: 4 * N of --top-k, at least 30; with --budget alone, "
            "as many as fill it.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Neighbours to add on each side of a hit; shown with --full and --json. Default: 1, with --budget "
            "only where hits leave tokens.",
            show_default=False,
        ),
    ] = None,
    parents: Annotated[
        bool, typer.Option("--parents", help="Show the whole parents of hits instead of their neighbours.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Show whole passages with neighbours, instead of the best excerpt of the hit."),
    ] = False,
    sections: Annotated[bool, typer.Option("--sections", help="Add only neighbours of the same section.")] = False,
    ranking: Ranking = "kin",
    rerank: Rerank = "none",
    diversity: Diversity = 0.0,
    budget: Annotated[
        int | None, typer.Option(metavar="N", help="Maximum total tokens of the passages.", show_default=False)
    ] = None,
    context_share: ContextShare = None,
    where: Where = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the scores of every stage for each hit.")] = False,
    embedder: Embedder = "bundled",
    plain: Annotated[
        bool, typer.Option("--plain", help="Show the source of Markdown and code, instead of rendering it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Find the passages that answer a question."""
    from kinsplit.index import Index

    terminal = Terminal(as_json=as_json)
    conditions = parse_where(where)
    with (
        spinner(terminal.err, "Searching"),
        Index(store, collection=collection, embedder=embedder, must_exist=True) as opened,
    ):
        passages = opened.search(
            query,
            top_k=top_k,
            candidates=candidates,
            window=window,
            parents=parents,
            within_sections=sections,
            ranking=ranking,
            rerank=rerank,
            diversity=diversity,
            budget=budget,
            context_share=context_share,
            where=conditions,
        )
    if as_json:
        from kinsplit.wire import passage_row

        ranked = [passage_row(passage, rank) for rank, passage in enumerate(passages, 1)]
        terminal.document({"query": query, "passages": ranked})
        return
    words = QueryWords(query, opened.bm25)
    for rank, passage in enumerate(passages, 1):
        if rank > 1:
            terminal.line("")
        show(terminal, rank, passage, words, None if full or parents else PREVIEW, plain=plain)
    if not passages:
        terminal.line("Nothing found.")
    elif explain:
        terminal.line("")
        terminal.table(score_table(passages))
