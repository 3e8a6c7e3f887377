"""A graph or lists for the vectors of Postgres: `python benchmarks/postgres_indexes.py --size 200000`.

The vectors of the scale benchmark's corpus, alone in a table, get both kinds of pgvector's indexes. Recall is the share
of the ten nearest vectors of a question that a search for a hundred finds.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import psycopg
import scale_corpus
import typer
from numpy.typing import NDArray
from pgvector import Vector
from pgvector.psycopg import register_vector
from rich.console import Console
from rich.table import Table
from scale_steps import NEIGHBOURS, TOLERANCE, exact
from store_engines import running
from stores import p50

from kinsplit import embedding
from kinsplit.chunk import embedded_text
from kinsplit.embedding import Embedder
from kinsplit.loaders import discover, load_files
from kinsplit.parsers import default_strategy
from kinsplit.stores.engines.postgres.indexes import list_count
from kinsplit.stores.engines.postgres.options import MOST_CANDIDATES, PROBES, PostgresOptions

#: Characters per chunk, and documents split together.
_CHARACTERS, _TOGETHER = 500, 50
#: Vectors to find.
_FOUND = 100
#: Candidates of a graph, and shares of the lists that are read.
_CANDIDATES, _SHARES = (400, 1000, 2000, 4000, 8000), (0.05, 0.1, 0.2)

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 100)


@app.command()
def main(
    size: Annotated[int, typer.Option(help="Approximate number of vectors.")] = 200_000,
    embedder: Annotated[str, typer.Option(help="Spec of the embedder.")] = "static",
    questions: Annotated[int, typer.Option(help="Questions to ask.")] = 100,
    memory: Annotated[str, typer.Option(help="Memory of the server for building an index.")] = "4GB",
) -> None:
    """Build both indexes, and ask questions with several settings of each."""
    model = embedding.create(embedder)
    with tempfile.TemporaryDirectory(prefix="kinsplit") as place, running("pgvector", Path(place)) as address:
        corpus = Path(place) / "corpus"
        scale_corpus.write(corpus, size * _CHARACTERS)
        asked = np.stack([model.embed_query(each.text) for each in scale_corpus.questions(corpus, questions)])
        vectors = np.concatenate(list(_vectors(corpus, model)))
        nearest = exact(vectors, asked)
        with psycopg.connect(address.removeprefix("pgvector:"), autocommit=True) as connection:
            _fill(connection, vectors)
            connection.execute(f"SET maintenance_work_mem = '{memory}'")
            console.print(_compared(connection, vectors, asked, nearest))


def _vectors(corpus: Path, model: Embedder) -> Iterator[NDArray[np.float32]]:
    strategy = default_strategy()
    documents = (document for file in load_files(discover([corpus]).files) for document in file.documents)
    while batch := list(islice(documents, _TOGETHER)):
        leaves = (chunk for chunks in strategy.chunk_many(batch) for chunk in chunks if chunk.level == 0)
        yield model.embed([embedded_text(chunk) for chunk in leaves])


def _fill(connection: psycopg.Connection[Any], vectors: NDArray[np.float32]) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    register_vector(connection)
    connection.execute(f"CREATE TABLE vectors (id int, vector vector({vectors.shape[1]}))")
    # Vectors outside their rows would take longer to compare.
    connection.execute("ALTER TABLE vectors ALTER vector SET STORAGE plain")
    with connection.cursor().copy("COPY vectors FROM STDIN WITH (FORMAT binary)") as copy:
        copy.set_types(["int4", "vector"])
        for number, vector in enumerate(vectors):
            copy.write_row((number, vector))


def _compared(
    connection: psycopg.Connection[Any],
    vectors: NDArray[np.float32],
    asked: NDArray[np.float32],
    nearest: NDArray[np.float32],
) -> Table:
    shown = Table("index", "build, s", "setting", "recall@10", "p50, ms", title=f"{len(vectors):,} vectors")
    lists = list_count(len(vectors))
    connection.execute("SET enable_seqscan = off")
    connection.execute("SET hnsw.iterative_scan = relaxed_order")
    connection.execute("SET hnsw.max_scan_tuples = 2147483647")

    def build(using: str) -> str:
        connection.execute("DROP INDEX IF EXISTS near")
        begun = time.perf_counter()
        connection.execute(f"CREATE INDEX near ON vectors USING {using}")
        return f"{time.perf_counter() - begun:.0f}"

    def measured(number: int) -> tuple[str, str]:
        times, found = [], []
        for question, least in zip(asked, nearest, strict=True):
            begun = time.perf_counter()
            text = "SELECT id FROM vectors ORDER BY vector <=> %s LIMIT %s"
            rows = connection.execute(text, [Vector(question), number]).fetchall()
            times.append((time.perf_counter() - begun) * 1e3)
            similar = np.sort(vectors[[id_ for (id_,) in rows]] @ question)[::-1][:NEIGHBOURS]
            found.append(np.mean(similar >= least - TOLERANCE))
        return f"{np.mean(found):.3f}", f"{p50(times):.1f}"

    took = build(f"ivfflat (vector vector_cosine_ops) WITH (lists = {lists})")
    default = math.ceil(PROBES[0] * lists ** PROBES[1])
    for probes in sorted({default, *(max(1, round(share * lists)) for share in _SHARES)}):
        connection.execute(f"SET ivfflat.probes = {probes}")
        setting = f"{probes} probes" + ", the default" * (probes == default)
        shown.add_row(f"{lists} lists", took, setting, *measured(_FOUND))
    took = build("hnsw (vector vector_cosine_ops) WITH (m = 16, ef_construction = 256)")
    standard = PostgresOptions().hnsw_ef
    for candidates in _CANDIDATES:
        connection.execute(f"SET hnsw.ef_search = {min(candidates, MOST_CANDIDATES)}")
        # More candidates than pgvector takes at once are read on.
        number = candidates if candidates > MOST_CANDIDATES else _FOUND
        setting = f"{candidates:,} candidates" + ", the default" * (candidates == standard)
        shown.add_row("graph", took, setting, *measured(number))
    return shown


if __name__ == "__main__":
    app()
