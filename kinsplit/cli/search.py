"""`kinsplit search`: a question in, passages out."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

from kinsplit.cli.explain import explanation
from kinsplit.cli.options import AsJson, Collection, Embedder, Store, parse_where
from kinsplit.cli.passages import QueryWords, show, to_dict
from kinsplit.cli.progress import waiting
from kinsplit.cli.terminal import Terminal


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    top_k: Annotated[int, typer.Option(metavar="N", help="Most passages.")] = 3,
    candidates: Annotated[int, typer.Option(metavar="N", help="Chunks to rerank and expand.")] = 30,
    window: Annotated[int, typer.Option(metavar="N", help="Neighbours added to a hit on each side.")] = 1,
    parents: Annotated[bool, typer.Option("--parents", help="Show the whole parents of hits instead.")] = False,
    sections: Annotated[bool, typer.Option("--sections", help="Let neighbours stop where a section ends.")] = False,
    rerank: Annotated[
        str, typer.Option(metavar="SPEC", help="Reranker: none, late, or cross-encoder:NAME_OR_PATH.")
    ] = "none",
    budget: Annotated[
        int | None, typer.Option(metavar="N", help="Most tokens of all passages together.", show_default=False)
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Search only what has this metadata; a key again adds a value."),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the score of every stage for each hit.")] = False,
    embedder: Embedder = "bundled",
    as_json: AsJson = False,
) -> None:
    """Find the passages that answer a question, by meaning and by words, each chunk judged with its kin."""
    from kinsplit.index import Index
    from kinsplit.retrieval import RerankWarning

    terminal = Terminal(as_json=as_json)
    conditions = parse_where(where)
    with (
        warnings.catch_warnings(record=True, category=RerankWarning) as caught,
        waiting(terminal.err, "Searching"),
        Index(store, collection=collection, embedder=embedder, must_exist=True) as opened,
    ):
        passages = opened.search(
            query,
            top_k=top_k,
            candidates=candidates,
            window=window,
            parents=parents,
            within_sections=sections,
            rerank=rerank,
            budget=budget,
            where=conditions,
        )
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        terminal.warning(message)
    if as_json:
        ranked = [to_dict(rank, passage) for rank, passage in enumerate(passages, 1)]
        terminal.document({"query": query, "passages": ranked})
        return
    words = QueryWords(query)
    for rank, passage in enumerate(passages, 1):
        if rank > 1:
            terminal.line("")
        show(terminal, rank, passage, words)
    if not passages:
        terminal.line("Nothing found.")
    elif explain:
        terminal.line("")
        terminal.table(explanation(passages))
