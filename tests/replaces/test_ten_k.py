"""The search over a 10-K filing, feature by feature."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Document, create_strategy, split
from tests.cli.conftest import Cli, run_command
from tests.replaces.table import Table
from tests.shared_data import shared_text
from tests.wire.replay import Replay

TABLE = Table("10-K search", "Three strategies over an annual report, in Postgres with pgvector, and a service.")

_SENTENCE = "tests/parsers/strategies/test_sentence.py"
_SEMANTIC = "tests/parsers/strategies/test_semantic.py"
_HASH = ("--embedder", "hash")
_QUESTION = "What are the main components of the electric powertrain?"
_TEXT = (
    "Item 1. Business\n\n"
    "The electric powertrain has a battery, an inverter and a motor as its main components. "
    + " ".join(f"Vehicle number {number} was delivered to customers in region {number % 7}." for number in range(120))
    + "\n\nItem 1A. Risk Factors\n\n"
    + " ".join(f"Supplier number {number} may fail to deliver cells on time." for number in range(120))
)
_STRATEGIES = {
    "FIXED": ("word", "chunk_size=500"),
    "SENTENCE": ("sentence", "unit=word", "chunk_size=500", "overlap_sentences=2"),
    "SEMANTIC": ("semantic", "threshold_kind=similarity", "threshold=0.55", "embedder=hash"),
}


@pytest.fixture(scope="module")
def seeded(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a Postgres server with a collection for each strategy, and the folder of the filing."""
    import psycopg

    address, folder = f"pgvector:{postgres_server}", tmp_path_factory.mktemp("ten-k")
    (folder / "data").mkdir()
    (folder / "data" / "tesla_10k_2024.txt").write_text(_TEXT)
    (folder / "queries.json").write_text(json.dumps([_QUESTION, "How are supply chain risks described?"]))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for collection, (strategy, *parameters) in _STRATEGIES.items():
            settings = [part for parameter in parameters for part in ("--set", parameter)]
            where = ("--store", address, "--collection", collection.lower())
            done = run_command("index", "data", *where, "--strategy", strategy, *settings, *_HASH)
            assert done.exit_code == 0, done.output
    yield address, folder
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute("DROP SCHEMA IF EXISTS kinsplit CASCADE")


TABLE.section("Setup")
TABLE.row(
    "`poetry install`, Python 3.11+",
    '`pip install "kinsplit[search,pgvector,openai,server]"`, Python 3.11 or newer',
    "tests/test_wheel.py::test_the_wheel_declares_its_command_and_extras",
)
TABLE.row(
    "`cp .env.example .env`",
    "`.env.example` lists all settings; `--env-file .env` names the copy",
    "tests/server/test_settings.py::test_the_example_of_variables_names_every_setting_with_its_default",
)


@TABLE.row("OpenAI's key in `.env`", "`OPENAI_API_KEY` in `.env`, or `--env-file FILE`")
def test_a_file_holds_the_key(cli: Cli, openai: Replay) -> None:
    Path(".env").write_text("OPENAI_API_KEY=sk-sentinel-0123456789\n")
    Path("risks.md").write_text("# Risks\n\nSupply may fail.\n\n# Outlook\n\nMore cars are built.\n")
    paid = ("--embedder", "openai:text-embedding-3-small")
    done = cli(
        "index", "risks.md", "--strategy", "structure", "--set", "chunk_size=8", "--set", "min_chunk_size=1", *paid
    )
    assert done.exit_code == 0, done.output
    found = cli("search", "What may fail?", "--ranking", "dense", "--top-k", "1", *paid)
    assert "More cars are built." in found.stdout  # The vectors of the documentation are numbers without a meaning.
    assert {headers["Authorization"] for headers in openai.headers} == {"Bearer sk-sentinel-0123456789"}


TABLE.row(
    "`docker-compose up -d`: Postgres with pgvector, and the service",
    "`docker compose up --detach`",
    needs="Docker; Compose resolves the file in a test where it is installed, `make image` runs the steps of the "
    "Dockerfile without Docker and searches in the service that they make, and the tests use a real Postgres server",
)

TABLE.section("Step 1: seed the database")


@TABLE.row("`STRATEGY=FIXED`, `SENTENCE` or `SEMANTIC` chooses the strategy", "`STRATEGY=FIXED kinsplit index PATHS`")
def test_the_variable_chooses_the_strategy(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tesla_10k_2024.txt").write_text(_TEXT)
    for value, (name, *_) in _STRATEGIES.items():
        monkeypatch.setenv("STRATEGY", value)
        store = f"edge:./{value}"
        assert cli("index", "tesla_10k_2024.txt", "--store", store, *_HASH).exit_code == 0
        monkeypatch.delenv("STRATEGY")
        (row,) = json.loads(cli("collections", "--store", store, "--json").stdout)
        assert row["schema"]["strategy"]["name"] == name


@TABLE.row("Read `data/processed/tesla_10k_2024.txt` and chunk it", "`kinsplit index data --strategy word`")
@TABLE.row("Insert chunks and vectors into Postgres with pgvector", "`--store pgvector:postgresql://...`")
@TABLE.row(
    "One table `document_chunks` with a column `strategy`",
    "`--collection NAME`",
    differs="a collection for each strategy, so that they can have other models, and be replaced alone",
)
def test_each_strategy_is_a_collection_in_postgres(seeded: tuple[str, Path], cli: Cli) -> None:
    listed = json.loads(cli("collections", "--store", seeded[0], "--json").stdout)
    assert {row["name"]: row["schema"]["strategy"]["name"] for row in listed} == {
        collection.lower(): name for collection, (name, *_) in _STRATEGIES.items()
    }


TABLE.row(
    "`text-embedding-3-small`",
    "`--embedder openai:text-embedding-3-small`",
    "tests/wire/test_recordings.py::test_openai_embeds_and_counts_tokens",
)

TABLE.section("Step 2: evaluate")


@TABLE.row(
    "`run_baseline` for each strategy, on the chunks in the database",
    "`kinsplit evaluate --store ADDRESS --collection NAME`",
)
@TABLE.row("Queries in `src/queries.json`", "`--queries src/queries.json`")
@TABLE.row("Embed each query and compare it with all chunks by cosine", "`--ranker dense`")
@TABLE.row("Results in `evaluation/results/*.json`", "`--output evaluation/results/baseline.json`")
@TABLE.row("Look at the top chunks of each question", "`retrieved_chunks` in the results; `kinsplit report`")
def test_what_is_in_the_database_is_evaluated(
    seeded: tuple[str, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder = seeded
    monkeypatch.chdir(folder)
    collections = [part for name in _STRATEGIES for part in ("--collection", name.lower())]
    done = cli(
        *("evaluate", "--docs", "data", "--queries", "queries.json", "--store", address, *collections, *_HASH),
        *("--ranker", "dense", "--measure", "cosine", "--headline", "cosine", "--no-cache"),
        *("--output", "evaluation/results/baseline.json"),
    )
    assert done.exit_code == 0, done.output
    results = json.loads(Path("evaluation/results/baseline.json").read_text())
    assert set(results["summary"]) == {"fixed", "sentence", "semantic"}
    assert all(row["retrieved_chunks"] for row in results["results"])


TABLE.section("The service")


@pytest.fixture
def client(seeded: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of the service on these collections."""
    testclient = pytest.importorskip("starlette.testclient")
    from kinsplit.server.app import create_app
    from kinsplit.server.collections import Collections
    from kinsplit.server.settings import ServiceSettings

    monkeypatch.chdir(tmp_path)
    collections = {name: name.lower() for name in _STRATEGIES}
    settings = ServiceSettings.load(store=seeded[0], collections=collections, embedder="hash")
    app = create_app(settings, Collections(settings))
    with testclient.TestClient(app, base_url="http://localhost") as opened:
        yield opened


@TABLE.row("`GET /search?q=...`, by cosine", "`GET /search?q=...`, also with `&ranking=dense`")
@TABLE.row(
    "`&strategy=SEMANTIC`",
    "the same, in any case, after `kinsplit serve --collection FIXED=fixed --collection SEMANTIC=semantic`",
)
@TABLE.row("The most relevant passages come first", "`passages` of the response")
def test_the_service_searches_by_strategy(client: Any) -> None:
    for strategy in ({}, {"strategy": "FIXED"}, {"strategy": "SENTENCE"}, {"strategy": "semantic"}):
        asked = {"q": _QUESTION, "window": 0, "ranking": "terms", **strategy}
        best = client.get("/search", params=asked).json()["passages"][0]
        assert "electric powertrain" in best["text"]
        by_cosine = client.get("/search", params={**asked, "ranking": "dense"}).json()["passages"]
        scores = [passage["scores"]["dense"] for passage in by_cosine]
        assert scores == sorted(scores, reverse=True)


@TABLE.row(
    "In the browser or with `curl`, on `http://localhost:8000`", "`kinsplit serve`: port 8000, and a page at `/`"
)
def test_the_service_has_a_page_on_port_8000(client: Any) -> None:
    from kinsplit.server.settings import ServiceSettings

    assert ServiceSettings.model_fields["port"].default == 8000
    assert "<html" in client.get("/").text


TABLE.section("Strategies")


@TABLE.row("Fixed: windows of 500 words", "`--strategy word`, its default")
def test_windows_of_500_words() -> None:
    words = [f"w{number}" for number in range(1200)]
    assert [chunk.text.split() for chunk in split(" ".join(words), "word")] == [
        words[:500],
        words[500:1000],
        words[1000:],
    ]


TABLE.row(
    "Fixed: no context",
    "`kinsplit index PATHS --strategy word --embedding-context none`",
    "tests/index/test_embedding_context.py::test_headings_go_before_the_text_unless_it_is_to_stand_alone",
)
TABLE.row(
    "Sentence: NLTK's `sent_tokenize`",
    "`--strategy sentence`",
    "tests/parsers/units/test_sentences.py::test_english_sentences_are_punkts_but_for_abbreviations",
    differs="abbreviations end no sentence, and headings and blank lines do",
)
TABLE.row(
    "Sentence: up to about 500 words",
    "`--strategy sentence --set unit=word --set chunk_size=500`",
    f"{_SENTENCE}::test_the_budget_is_counted_in_its_unit",
)
TABLE.row(
    "Sentence: the last 1 or 2 sentences are repeated",
    "`--set overlap_sentences=2`",
    f"{_SENTENCE}::test_the_overlap_can_be_counted_in_sentences",
)
TABLE.row(
    "Semantic: `all-MiniLM-L6-v2`",
    "`--strategy semantic`, with the bundled model",
    "tests/embedding/test_backends.py::test_the_known_vectors_of_the_bundled_model_are_those_of_sentence_transformers",
)


@TABLE.row(
    "Semantic: a boundary where consecutive sentences are less similar than 0.75",
    "`--strategy semantic --set threshold_kind=similarity --set min_sentences=1`",
    differs="the similarity is relative to unrelated texts, so that a threshold fits every model",
)
@TABLE.row("Semantic: or where the word budget would be exceeded", "`--set chunk_size=500`, the default")
@TABLE.row(
    "Semantic: the relaxed threshold of 0.55",
    "`--set threshold=0.55`",
    differs="the similarity is relative to unrelated texts, so that a threshold fits every model",
)
@TABLE.row("Metadata `section` and `similarity_gap`", '`chunk.metadata["section"]`, `chunk.metadata["similarity_gap"]`')
def test_semantic_chunks_end_at_gaps_and_at_the_budget() -> None:
    same = "The motor is electric. " * 30
    for threshold in (0.75, 0.55):
        strategy = create_strategy(
            "semantic",
            threshold_kind="similarity",
            threshold=threshold,
            min_sentences=1,
            chunk_size=60,
            embedder="hash",
        )
        chunks = strategy.chunk(
            Document("10k", f"# Business\n\n{same}\n\n# Risk Factors\n\nSuppliers may fail us today.")
        )
        assert max(len(chunk.text.split()) for chunk in chunks) <= 60
        assert len(chunks) > 2
        assert (chunks[0].metadata["section"], chunks[-1].metadata["section"]) == ("Business", "Risk Factors")
        assert chunks[-1].metadata["similarity_gap"] > 1 - threshold


TABLE.section("Published figures")
TABLE.row(
    "Fixed: 293 chunks of 499 words",
    "`--strategy word`",
    "tests/parsers/test_seed_figures.py::test_tesla_gives_293_word_windows",
)


@TABLE.row(
    "Sentence: 403 chunks of 433 words",
    "`--strategy sentence --set unit=word --set overlap_sentences=2`",
    differs="356 chunks of 460 words; [the reasons](seed-tables.md)",
)
def test_sentences_give_fewer_and_fuller_chunks() -> None:
    text = shared_text("tesla_10k/seed/tesla_10k_2024.txt")
    chunks = split(text, "sentence", unit="word", chunk_size=500, overlap_sentences=2)
    # As the database counted, for which a no-break space is part of a word.
    words = sum(len(re.split(r"\s+", chunk.text.strip(), flags=re.ASCII)) for chunk in chunks)
    assert (len(chunks), round(words / len(chunks))) == (356, 460)


TABLE.row(
    "Semantic: 3,454 chunks of 42 words, fewer after relaxing the threshold",
    "`--strategy semantic`",
    f"{_SEMANTIC}::test_numbers_of_sentences_are_kept",
    differs="adaptive by default, with at least 3 sentences in each chunk; [the figures](seed-tables.md)",
)
TABLE.row(
    "Ground truth by looking at results",
    "`kinsplit evaluate` with labelled questions",
    "tests/cli/test_evaluate.py::test_a_labelled_folder_is_compared_by_recall",
    differs="labels are spans, so one set judges all strategies",
)


@TABLE.row(
    "SQL query for the number of chunks and average words of each strategy", "the same query on `kinsplit.chunks_N`"
)
@TABLE.row("`AVG(array_length(regexp_split_to_array(chunk_text, '\\s+'), 1))`", "`kinsplit stats`: `average_words`")
def test_sql_and_stats_count_the_same(seeded: tuple[str, Path], cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import psycopg

    address, folder = seeded
    monkeypatch.chdir(folder)
    done = cli("stats", "data", "--strategy", "word:chunk_size=500", "--json")
    (sizes,) = json.loads(done.stdout).values()
    with psycopg.connect(address.partition(":")[2]) as connection:
        counts = connection.execute(
            "SELECT COUNT(*), ROUND(AVG(array_length(regexp_split_to_array(payload ->> 'full_content', '\\s+'), 1)))"
            " FROM kinsplit.chunks_1 WHERE level = 0"
        ).fetchone()
    assert counts == (sizes["chunks"], round(sizes["average_words"]))


TABLE.section("Future improvements")
TABLE.row(
    "Thresholds that adapt to the document's variance",
    "`--strategy semantic`, its default",
    "tests/parsers/similarity/test_boundaries.py::test_a_relative_threshold_is_the_documents_own",
)
TABLE.row(
    "Hierarchical, heading-aware chunking",
    "`--strategy structure`; `--strategy hierarchical --set headings=true`",
    "tests/parsers/strategies/test_hierarchical.py::test_parents_may_follow_headings",
)
TABLE.row(
    'Section names such as "Risk Factors" as context',
    "`--embedding-context headings`, the default",
    "tests/loaders/formats/test_plain_headings.py::test_the_items_of_a_filing_are_found_and_its_contents_are_not",
)
TABLE.row(
    "Budgets in tokens of `tiktoken` or of the model",
    "`--set unit=token --set tokenizer=tiktoken:cl100k_base`",
    "tests/test_tokenizers.py::test_tiktoken_encodings_are_there_offline",
)
TABLE.row(
    "Overlap between semantic chunks",
    "`--strategy semantic --set overlap_sentences=1`",
    f"{_SEMANTIC}::test_overlap_repeats_whole_sentences_within_the_budget",
)
TABLE.row(
    "`Precision@k` and `Recall@k` with annotated ground truth",
    "`kinsplit evaluate --measure P@5 --measure R@5`",
    "tests/evaluation/measures/test_rank_measures.py::test_values_are_those_worked_out_by_hand",
)
TABLE.row(
    "Tests of sizes, overlap and boundaries",
    "`make test`",
    "tests/parsers/test_invariants.py::test_invariants_hold_for_any_text_and_parameters",
)
TABLE.row(
    "Benchmarks",
    "`make bench-quality`",
    "tests/test_benchmarks.py::test_the_command_prints_the_tables_and_writes_the_numbers",
)
