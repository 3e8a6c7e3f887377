"""`kinsplit search`: find passages in a collection."""

from __future__ import annotations

from typing import Unpack

from kinsplit.cli.derive import from_options
from kinsplit.cli.options import STORE
from kinsplit.cli.output.passages import PREVIEW, QueryWords, score_table, show
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.terminal import Terminal
from kinsplit.keywords import SearchKeywords


@from_options()
def search(
    query: str,
    store: str = STORE,
    collection: str = "default",
    embedder: str | None = None,
    *,
    full: bool = False,
    explain: bool = False,
    plain: bool = False,
    terminal: Terminal,
    **options: Unpack[SearchKeywords],
) -> None:
    """Find the passages that answer a question.

    Args:
        query (QUERY): The question.
        embedder (SPEC): Embedding model that the collection was made with. Default: the one that it records, if that
            comes with kinsplit or is one of your Ollama.
    """
    from kinsplit.index import Index

    with (
        spinner(terminal.aside, "Searching"),
        Index(store, collection=collection, embedder=embedder, must_exist=True) as opened,
    ):
        passages = opened.search(query, **options)
    if terminal.as_json:
        from kinsplit.wire import finding_row, passage_row

        ranked = [passage_row(passage, rank) for rank, passage in enumerate(passages, 1)]
        terminal.document({"query": query, "passages": ranked, **finding_row(passages)})
        return
    for remark in passages.remarks.values():  # The search itself warns of a filter that matches nothing.
        terminal.warning(remark)
    words = QueryWords(query, opened.bm25)
    for rank, passage in enumerate(passages, 1):
        if rank > 1:
            terminal.line("")
        show(terminal, rank, passage, words, None if full or options.get("parents") else PREVIEW, plain=plain)
    if not passages:
        terminal.line("Nothing found.")
    elif explain:
        terminal.line("")
        terminal.table(score_table(dict(enumerate(passages, 1))))
