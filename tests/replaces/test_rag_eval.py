"""rag_eval, feature by feature."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from kinsplit import Document, create_strategy, split
from kinsplit.embedding import create as create_embedder
from kinsplit.evaluation import Dataset, Experiment, Question
from kinsplit.evaluation.measures.protocol import Chunking, Outcome
from tests.cli.conftest import Cli
from tests.replaces.table import Table

TABLE = Table("rag_eval", "Four strategies of chunking, compared by questions without labels.")

_EVALUATE = "tests/cli/test_evaluate.py"
_MEASURES = "tests/evaluation/measures/test_rag_eval_measures.py"
_GUIDE = "tests/evaluation/test_rag_eval.py"
_HASH = ("--embedder", "hash")
_TEXT = (
    "# Learning\n\nMachine learning is AI. Neural networks learn patterns.\n\n# Health\n\nDoctors diagnose diseases."
)


@pytest.fixture
def folder(cli: Cli, tmp_path: Path) -> Path:
    """A folder as rag_eval expects it: `docs` and `queries.json`."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "sample.md").write_text(_TEXT)
    (tmp_path / "queries.json").write_text(json.dumps({"queries": ["What is machine learning?"]}))
    return tmp_path


TABLE.section("Quick start")
TABLE.row(
    "`python -m rag_eval.cli`, with `docs`, `queries.json` and `evaluation_results.json` as defaults",
    "`kinsplit evaluate`",
    f"{_EVALUATE}::test_rag_evals_command_needs_no_options",
)
TABLE.row(
    "`--docs`, `--queries`, `--output`",
    "`kinsplit evaluate --docs DIR --queries FILE --output FILE`",
    f"{_EVALUATE}::test_its_own_options_name_the_files",
)


@TABLE.row("`python show_results.py`", "`kinsplit show evaluation_results.json`")
@TABLE.row("Example output: relevancy and faithfulness of each strategy", "the tables of `kinsplit show`")
@TABLE.row("Evaluation in the steps load, chunk, retrieve, measure, aggregate, export", "`kinsplit evaluate`")
def test_results_are_shown(cli: Cli, folder: Path) -> None:
    assert cli("evaluate", *_HASH).exit_code == 0
    shown = cli("show", "evaluation_results.json")
    assert shown.exit_code == 0
    assert {"fixed", "structure", "semantic", "multigranular"} <= {
        line.split()[0] for line in shown.stdout.splitlines() if line and not line[0].isspace()
    }
    assert "jaccard" in shown.stdout
    assert "query_terms" in shown.stdout


TABLE.row(
    "Results of earlier runs of rag_eval",
    "`kinsplit show evaluation_results.json`",
    "tests/cli/test_show.py::test_a_file_of_rag_eval_is_shown_by_honest_names",
)
TABLE.row(
    "Virtual environment, `pip install -e .`, `pytest`",
    "`make test` in a clone; `pip install kinsplit` elsewhere",
    "tests/test_wheel.py::test_the_wheel_runs_as_a_module",
)

TABLE.row(
    "Python 3.12+",
    "Python 3.11 or newer",
    "tests/test_project.py::test_every_python_that_is_claimed_is_tested_on_three_systems",
)

TABLE.section("FixedSizeChunker")


@TABLE.row("`FixedSizeChunker(chunk_size=256, chunk_overlap=20)`", "`--strategy word:chunk_size=256,chunk_overlap=20`")
@TABLE.row("Words 0-256, 236-492, 472-728", "the same")
@TABLE.row("No dependencies of their own", '`pip install kinsplit`; `split(text, "word")`')
def test_windows_of_256_words_share_20() -> None:
    words = [f"w{number}" for number in range(728)]
    chunks = split(" ".join(words), "word", chunk_size=256, chunk_overlap=20)
    assert [chunk.text.split() for chunk in chunks] == [words[:256], words[236:492], words[472:728]]


TABLE.section("StructureChunker")
TABLE.row(
    "`StructureChunker(min_chunk_size=128, max_chunk_size=512)`",
    "`--strategy structure`, its default: `min_chunk_size=128`, `chunk_size=512`",
    "tests/parsers/strategies/test_structure.py::test_the_example_of_rag_eval",
)
TABLE.row(
    "Merge small paragraphs until `min_chunk_size`",
    "`--strategy structure`",
    "tests/parsers/strategies/test_structure.py::test_short_paragraphs_are_merged_until_they_are_long_enough",
)
TABLE.row(
    "Split large paragraphs",
    "`--strategy structure`",
    "tests/parsers/strategies/test_structure.py::test_a_long_paragraph_is_cut_between_sentences",
    differs="between sentences, where rag_eval cuts after so many words",
)
TABLE.row(
    "Respect heading boundaries",
    "`--strategy structure`",
    "tests/parsers/strategies/test_structure.py::test_a_chunk_never_reaches_across_a_heading",
)
TABLE.row(
    "Keep the heading's context",
    "`chunk.context`, the heading path",
    "tests/parsers/units/test_heading_contexts.py::test_every_strategy_names_the_sections",
)

TABLE.section("SemanticChunker")


@TABLE.row(
    "`SemanticChunker(embedder=..., chunk_size=512, similarity_threshold=0.75)`",
    '`create_strategy("cluster", embedder=...)`: `passage_size=512`, `threshold=0.75` by default',
)
def test_the_defaults_of_cluster_are_those_of_rag_eval() -> None:
    strategy = create_strategy("cluster", embedder="hash")
    assert strategy == create_strategy(
        "cluster", embedder="hash", passage_size=512, passage_overlap=50, threshold=0.75, chunk_size=2048
    )


TABLE.row(
    "`TokenTextSplitter(chunk_size=512, chunk_overlap=50)` makes the passages",
    "`--set passage_size=512 --set passage_overlap=50`, the default",
    "tests/parsers/strategies/test_cluster.py::test_the_overlap_is_in_both_chunks_and_never_twice_in_one",
    differs="passages hold whole sentences, and a chunk repeats no overlap",
)
TABLE.row(
    "Greedy clustering: the most similar centroid above the threshold, else a new cluster",
    "`--strategy cluster`",
    "tests/parsers/strategies/test_cluster.py::test_like_passages_are_gathered_and_the_others_stay_where_they_are",
)
TABLE.row(
    "The centroid is a running average",
    "`--strategy cluster`",
    "tests/parsers/strategies/test_cluster.py::test_the_best_mean_wins_and_it_moves",
)
TABLE.row(
    "Chunks are the texts of clusters, joined by blank lines",
    "`--strategy cluster`",
    "tests/parsers/strategies/test_cluster.py::test_spans_are_in_order_and_neighbours_are_one",
)
TABLE.row(
    "Clusters of any size",
    "`--set chunk_size=2048`, the default",
    "tests/parsers/strategies/test_cluster.py::test_a_full_cluster_takes_no_more_and_the_next_best_does",
    differs="a chunk has a limit, so that a model can read it",
)
TABLE.row(
    "`cosine(a, b)` from -1 to 1",
    "`--set threshold=X`, from -1 to 1",
    "tests/parsers/strategies/test_cluster.py::test_everything_is_like_everything_at_the_lowest_threshold",
    differs="0 is the mean cosine of unrelated texts, so that a threshold fits every model",
)
TABLE.row(
    "Works with any embedder",
    '`create_strategy("cluster", embedder=OBJECT)`',
    "tests/embedding/test_foreign.py::test_vectors_are_the_objects_own_of_length_one",
)

TABLE.section("MultigranularChunker")
TABLE.row(
    "`MultigranularChunker(granularities=[256, 512, 1024])`: 14 chunks of 2,000 words",
    "`--strategy multigranular`, its default",
    "tests/parsers/strategies/test_multigranular.py::test_the_example_of_rag_eval_and_its_defaults",
)
TABLE.row(
    "Each size as a FixedSizeChunker makes it",
    "`--strategy multigranular`",
    "tests/parsers/strategies/test_multigranular.py::test_each_size_gives_the_windows_of_the_word_strategy",
)
TABLE.row(
    "Exact copies are dropped",
    "`--strategy multigranular`",
    "tests/parsers/strategies/test_multigranular.py::test_what_is_the_same_at_two_sizes_is_kept_once_at_the_smaller",
    differs="copies are the same place, so repeated text elsewhere stays",
)
TABLE.row(
    "Retrieval at a fine or a coarse level",
    "`kinsplit search --level 0`, `--level 1` or `--level all`",
    "tests/retrieval/test_levels.py::test_the_larger_the_budget_the_higher_the_levels",
)

TABLE.section("Measures")
TABLE.row(
    "Response time",
    "measure `seconds`, also `response_time`",
    f"{_MEASURES}::test_response_time_is_the_seconds_of_the_search",
)
TABLE.row(
    "Relevancy, the Jaccard similarity; the guide's example is 0.20",
    "measure `jaccard`, also `relevancy`",
    f"{_MEASURES}::test_relevancy_is_the_jaccard_similarity_of_words",
)
TABLE.row(
    "Faithfulness, the share of query terms",
    "measure `query_terms`, also `faithfulness`",
    f"{_MEASURES}::test_faithfulness_is_the_share_of_the_questions_words_that_the_text_holds",
    differs="the formula gives 6/9 for the guide's example, which counts 4/9",
)
TABLE.row(
    "`top_k=5` chunks for each question",
    "`kinsplit evaluate --top-k 5`, the default",
    "tests/evaluation/experiment/test_experiment.py::test_results_hold_everything_that_reports_need",
)

TABLE.section("Documents and queries")


@TABLE.row("`.md` and `.txt` files of a directory", "`kinsplit evaluate --docs DIR`; [many more formats](material.md)")
@TABLE.row('`{"queries": ["...", "..."]}`', "`kinsplit evaluate --queries queries.json`")
@TABLE.row('`["Question 1", "Question 2"]`', "`kinsplit evaluate --queries queries.json`")
@TABLE.row(
    "Summary with `avg_response_time`, `avg_relevancy`, `avg_faithfulness`, `count`",
    "`evaluation_results.json`: `summary`",
)
@TABLE.row(
    "Results with `query`, `strategy`, `response_time`, `relevancy`, `faithfulness`, `retrieved_chunks`",
    "`evaluation_results.json`: `results`",
)
@TABLE.row("Change the parameters of strategies in `cli.py`", "`--strategy fixed=word:chunk_size=512,chunk_overlap=50`")
def test_files_and_queries_of_both_forms_are_evaluated(cli: Cli, folder: Path) -> None:
    (folder / "docs" / "new_doc.txt").write_text("Your content here.")
    changed = ("--strategy", "fixed=word:chunk_size=512,chunk_overlap=50")
    written = []
    for queries in ({"queries": ["Question 1", "Question 2"]}, ["Question 1", "Question 2"]):
        (folder / "queries.json").write_text(json.dumps(queries))
        assert cli("evaluate", *changed, *_HASH).exit_code == 0
        written.append(json.loads((folder / "evaluation_results.json").read_text()))
    for results in written:
        fixed = results["summary"]["fixed"]
        assert {"avg_response_time", "avg_relevancy", "avg_faithfulness", "count"} <= set(fixed)
        assert fixed["count"] == 2
        row = results["results"][0]
        assert {"query", "strategy", "response_time", "relevancy", "faithfulness", "retrieved_chunks"} == set(row)
        assert len(row["retrieved_chunks"]) == 2


TABLE.section("Customisation")
TABLE.row(
    "OpenAI's embeddings",
    "`--embedder openai:text-embedding-3-small`",
    "tests/wire/test_recordings.py::test_openai_embeds_and_counts_tokens",
)


@TABLE.row("An embedder class with `embed_documents`", '`create_strategy("cluster", embedder=OBJECT)`')
def test_an_embedder_with_embed_documents_alone_serves() -> None:
    class OpenAIEmbedder:
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            return [[float("owl" in text), float("lark" in text), 0.1] for text in texts]

    strategy = create_strategy("cluster", passage_size=8, passage_overlap=0, embedder=OpenAIEmbedder())
    text = "The owl hunts at night. The lark sings at dawn. The owl sleeps all day."
    assert [chunk.text for chunk in strategy.chunk(Document("birds", text))] == [
        "The owl hunts at night.\n\nThe owl sleeps all day.",
        "The lark sings at dawn.",
    ]


TABLE.row(
    "`evaluator.py`: a metric of your own, such as the average chunk length",
    "a subclass of `kinsplit.evaluation.rag_eval.RAGEvaluator` that extends `metrics`",
    f"{_GUIDE}::test_a_measure_can_be_added",
)


@TABLE.row("The same metric in a comparison", "`Experiment(..., measures=[OBJECT])`, or a [plug-in](architecture.md)")
def test_a_program_evaluates_with_a_measure_of_its_own() -> None:
    class ChunkLength:
        name, description, higher_is_better = "chunk_length", "Average length of the chunks", False

        def score(self, outcome: Outcome, chunking: Chunking) -> float | None:
            del chunking
            lengths = [len(chunk.text) for chunk in outcome.ranking[:5]]
            return sum(lengths) / len(lengths) if lengths else None

    dataset = Dataset(
        "mine", (Document("sample.md", _TEXT),), (Question("q1", "Question 1"), Question("q2", "Question 2"))
    )
    chunks = [chunk.text for chunk in split(_TEXT, "word", chunk_size=4)]
    results = Experiment(
        dataset,
        {"fixed": chunks},
        embedder="hash",
        measures=[ChunkLength(), "relevancy"],
        headline="relevancy",
        cache=False,
    ).run()
    summary = results.to_json()["summary"]["fixed"]
    assert summary["count"] == 2
    assert summary["avg_relevancy"] is not None
    assert 0 < (results.strategies[0].measures["chunk_length"].mean or 0) < 40


TABLE.row(
    "`from rag_eval import FixedSizeChunker, RAGEvaluator`",
    "`from kinsplit.evaluation.rag_eval import FixedSizeChunker, RAGEvaluator`",
    f"{_GUIDE}::test_the_guides_program_runs",
)
TABLE.row(
    "`chunker.chunk(text)` of each chunker with its parameters",
    "the same classes in `kinsplit.evaluation.rag_eval`",
    f"{_GUIDE}::test_the_four_chunkers_take_the_guides_parameters",
)
TABLE.row(
    "`evaluator.evaluate(query, name, chunks)`, `evaluator.summary()`",
    "the same methods in `kinsplit.evaluation.rag_eval`",
    f"{_GUIDE}::test_the_guides_program_runs",
    differs="the chunks of a question are found by meaning",
)
TABLE.row(
    "`MockEmbedder(embedding_dim=128)`, `embed_text(text)`, `embed_documents(texts)`",
    "`kinsplit.evaluation.rag_eval.MockEmbedder`",
    f"{_GUIDE}::test_the_mock_embedder_is_the_guides",
)


@TABLE.row("An embedder for tests: deterministic, without keys or costs", "`--embedder hash:128`")
def test_the_embedder_for_tests_is_deterministic() -> None:
    embedder = create_embedder("hash:128")
    one, same, other = embedder.embed(["cat", "cat", "dog"])
    assert (embedder.embed_query("cat") == one).all()
    assert one.shape == (128,)
    assert (one == same).all()
    assert (one != other).any()


TABLE.row(
    "Its vectors have no meaning",
    "`--embedder hash`",
    "tests/embedding/test_hashing.py::test_texts_that_share_words_are_closer",
    differs="texts that share words are close, so that tests can search",
)
TABLE.row(
    "In production: OpenAI, Cohere or Hugging Face",
    "`--embedder openai:MODEL`, `litellm:cohere/MODEL`, `st:NAME_OR_PATH`; without one, the bundled model",
    "tests/wire/test_recordings.py::test_openai_embeds_and_counts_tokens",
)

TABLE.section("When to choose each strategy")
TABLE.row(
    "Table of use cases",
    "[Quality on eight labelled sets](quality.md), and `kinsplit evaluate` on your own documents",
    "tests/cli/test_evaluate.py::test_a_labelled_folder_is_compared_by_recall",
    differs="measured by labelled answers, since relevancy and faithfulness depend on the size of the chunks",
)

TABLE.section("Integrations and troubleshooting")
TABLE.row(
    "Azure Cognitive Search: upload chunks with vectors, search by vector",
    "`text_splitter()` before LangChain's `AzureSearch`, with `SiblingExpansion`, or `qdrant:` and `pgvector:` stores",
    needs="an Azure account; the same way is tested with other stores of LangChain",
)


@TABLE.row("Verify the installation", "`kinsplit --version`")
@TABLE.row("No documents found", "one line that names the folder")
@TABLE.row(
    "`MockEmbedder` required error",
    '`create_strategy("cluster")`',
    differs="without an embedder the bundled model embeds",
)
def test_mistakes_are_one_line(cli: Cli, tmp_path: Path) -> None:
    assert cli("--version").stdout.startswith("kinsplit ")
    (tmp_path / "docs").mkdir()
    (tmp_path / "queries.json").write_text('["What?"]')
    done = cli("evaluate", *_HASH)
    assert done.exit_code == 2
    assert "docs" in done.stderr
    assert create_strategy("cluster").embedder == "bundled"


TABLE.section("Next steps of the guide")
TABLE.row(
    "Vector databases",
    "`--store qdrant:URL`, `pgvector:DSN` or `edge:DIR`",
    "tests/stores/test_doctor.py::test_every_operation_of_an_engine_works_and_nothing_is_left",
)
TABLE.row(
    "Pinecone, Weaviate and others",
    "the stores of LangChain and LlamaIndex, with `SiblingExpansion`",
    "tests/integrations/test_kin_on_any_store.py::test_siblings",
    differs="kinsplit has no stores of its own for them; the test runs other stores of both frameworks",
)
TABLE.row(
    "More strategies: recursive, by topic, custom",
    "`structure`, `semantic`, `cluster`, `hierarchical`, `--strategy python:MODULE:FUNCTION`, plug-ins",
    "tests/test_plugins.py::test_a_strategy",
)
TABLE.row(
    "BLEU, ROUGE, semantic similarity",
    "measures `answer_bleu`, `answer_rouge1`, `answer_rouge2`, `answer_rougeL`, `cosine`",
    "tests/evaluation/measures/test_answer_measures.py::test_answers_are_compared_with_the_reference_word_by_word",
)
TABLE.row(
    "A user interface for interactive evaluation",
    "`kinsplit serve`: strategies side by side",
    "tests/server/page/test_page_strategies.py::test_two_strategies_answer_side_by_side",
)
TABLE.row(
    "REST API with FastAPI",
    "`kinsplit serve`",
    "tests/server/test_openapi.py::test_the_description_holds_and_nothing_fails",
)
TABLE.row(
    "Caching",
    "`--cache`; outcomes of `kinsplit evaluate`",
    "tests/embedding/test_cached.py::test_a_second_run_embeds_nothing",
)
