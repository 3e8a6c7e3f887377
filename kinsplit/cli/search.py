"""`kinsplit search`: a question in, passages out."""

from __future__ import annotations

from typing import Annotated

import typer

from kinsplit.cli.options import AsJson, Collection, Embedder, Store, parse_where
from kinsplit.cli.passages import QueryWords, show, to_dict
from kinsplit.cli.progress import waiting
from kinsplit.cli.terminal import Terminal


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="The question.", show_default=False)],
    store: Store = "edge:./kinsplit-data",
    collection: Collection = "default",
    top_k: Annotated[int, typer.Option(metavar="N", help="Most passages.")] = 3,
    candidates: Annotated[int, typer.Option(metavar="N", help="Chunks to consider.")] = 30,
    window: Annotated[int, typer.Option(metavar="N", help="Neighbours added to a hit on each side.")] = 1,
    budget: Annotated[
        int | None, typer.Option(metavar="N", help="Most tokens of all passages together.", show_default=False)
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Search only what has this metadata; a key again adds a value."),
    ] = None,
    embedder: Embedder = "bundled",
    as_json: AsJson = False,
) -> None:
    """Find the passages that answer a question, by meaning and by words."""
    from kinsplit.index import Index

    terminal = Terminal(as_json=as_json)
    conditions = parse_where(where)
    with (
        waiting(terminal.err, "Searching"),
        Index(store, collection=collection, embedder=embedder, must_exist=True) as opened,
    ):
        passages = opened.search(
            query, top_k=top_k, candidates=candidates, window=window, budget=budget, where=conditions
        )
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
