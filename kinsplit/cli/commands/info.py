"""`kinsplit info`: settings and documents of a collection."""

from __future__ import annotations

import json
from dataclasses import asdict

from kinsplit.cli.options import AsJson, Collection, Store
from kinsplit.cli.output.tables import figures, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import inline

#: Maximum number of documents to list; `--json` lists all.
_LISTED = 20


def info(store: Store = "edge:./kinsplit-data", collection: Collection = "default", as_json: AsJson = False) -> None:
    """Show the settings of a collection and the documents in it."""
    from kinsplit.chunk import DOCUMENT
    from kinsplit.stores import open_store

    terminal = Terminal(as_json=as_json)
    with open_store(store, collection) as opened:
        schema, sources = opened.schema, opened.sources(level=0)
        leaves, documents, everything = opened.count(0), opened.count(DOCUMENT), opened.count()
    counts = {"documents": len(sources), "chunks": leaves, "parents": everything - leaves - documents}
    if as_json:
        described = {**asdict(schema), "strategy": json.loads(schema.strategy), "weights": json.loads(schema.weights)}
        terminal.document({"collection": collection, **counts, "schema": described, "sources": sources})
        return
    made = json.loads(schema.strategy)
    parameters = ", ".join(f"{key}={value}" for key, value in made["parameters"].items())
    terminal.table(
        figures(
            [
                *((name.capitalize(), f"{number:,}", "") for name, number in counts.items()),
                ("Strategy", made["name"], parameters),
                ("Embedding model", schema.model, f"{schema.dimension} dimensions, {schema.distance}"),
                ("Embedding context", schema.embedding_context, ""),
                ("Terms", schema.sparse, ""),
            ]
        )
    )
    terminal.line("")
    table = text_table("Document", "Chunks")
    table.columns[1].justify = "right"
    for source_id, number in list(sources.items())[:_LISTED]:
        table.add_row(inline(source_id), f"{number:,}")
    terminal.table(table)
    if len(sources) > _LISTED:
        terminal.line(f"... and {len(sources) - _LISTED:,} more; --json lists all.")
