"""The notebook that compares methods of chunking, feature by feature."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from kinsplit import Document, Index, create_strategy, split, to_dataframe
from kinsplit.parsers.llm_boundaries import FallbackWarning
from tests.cli.conftest import Cli
from tests.language_models.fake_server import FakeServer
from tests.replaces.table import Table
from tests.wire.replay import Replay

TABLE = Table("Chunking notebook", "Four methods of chunking, compared on articles of Wikipedia.")

_TEXT = " ".join(f"Machine learning number {number} is studied by computers of kind {number}." for number in range(60))
_METHODS = (
    *("--strategy", "overlap=character:chunk_size=600,chunk_overlap=150"),
    *("--strategy", "semantic=semantic:threshold_kind=similarity,threshold=0.75"),
    *("--strategy", "hierarchical=hierarchical:parent_size=1000,child_size=200"),
    *("--strategy", "llm=llm:model=none"),
)


@pytest.fixture
def articles(cli: Cli, tmp_path: Path) -> Path:
    """Two articles in a folder."""
    folder = tmp_path / "articles"
    folder.mkdir()
    for title in ("Machine learning", "Deep learning"):
        (folder / f"{title}.md").write_text(f"# {title}\n\n{_TEXT}")
    return folder


TABLE.section("Documents")


@TABLE.row(
    "Fetch 8 long Wikipedia articles",
    '`kinsplit fetch-wikipedia "Machine learning" "Deep learning" ... --output articles`',
)
@TABLE.row(
    "`WIKI_TITLES`: add or remove any article",
    "the titles of `kinsplit fetch-wikipedia`; unchanged articles are not fetched again",
)
@TABLE.row("Articles are cleaned and combined into one corpus", "`kinsplit index articles`")
def test_articles_of_wikipedia_become_a_corpus(cli: Cli, wikipedia: Replay) -> None:
    titles = ("machine learning", "Deep nets", "Mercury", "Machin learning")
    fetch = ("fetch-wikipedia", *titles, "--output", "articles", "--api", f"{wikipedia.url}/w/api.php")
    done = cli(*fetch)
    assert done.exit_code == 1  # Two of the titles lead to no article.
    assert "It may mean several pages" in done.stderr
    assert "There is no such page" in done.stderr
    assert wikipedia.pauses == [5.0]  # The server was busy.
    assert sorted(path.name for path in Path("articles").iterdir()) == ["Deep_learning.md", "Machine_learning.md"]
    assert [asked["prop"] for asked in wikipedia.asked].count("extracts") == 2
    cli(*fetch)
    assert [asked["prop"] for asked in wikipedia.asked].count("extracts") == 3  # One article has a new revision.
    assert "Scans are read early." in Path("articles/Machine_learning.md").read_text()

    assert cli("index", "articles", "--embedder", "hash").exit_code == 0
    found = cli("search", "What do networks of many layers do?", "--embedder", "hash", "--top-k", "1", "--json")
    (passage,) = json.loads(found.stdout)["passages"]
    assert passage["metadata"]["url"] == "https://en.wikipedia.org/wiki/Deep_learning"


TABLE.section("Overlap chunking")


@TABLE.row("`CHUNK_SIZE = 600` characters", "`--strategy character`, its default")
@TABLE.row("`OVERLAP = 150` shared characters", "`--strategy character --set chunk_overlap=150`, its default")
def test_windows_of_600_characters_share_150() -> None:
    one, two, *_ = split(_TEXT, "character")
    assert (one.start, one.end, two.start) == (0, 600, 450)
    assert split(_TEXT, "character") == split(_TEXT, "character", chunk_size=600, chunk_overlap=150)


TABLE.section("Semantic chunking")


@TABLE.row(
    "A new chunk where the similarity of consecutive sentences falls below `SIM_THRESHOLD = 0.75`",
    "`--strategy semantic --set threshold_kind=similarity --set threshold=0.75`",
    differs="the similarity is relative to unrelated texts, so that a threshold fits every model",
)
@TABLE.row("`min_chunk_sentences = 3`", "`--set min_sentences=3`, the default")
@TABLE.row("`max_chunk_sentences = 20`", "`--set max_sentences=20`, the default")
def test_chunks_of_3_to_20_sentences_are_cut_by_similarity() -> None:
    strategy = create_strategy("semantic", threshold_kind="similarity", embedder="hash", chunk_size=5000)
    assert (strategy.threshold, strategy.min_sentences, strategy.max_sentences) == (0.75, 3, 20)
    text = "Cats purr at night. " * 5 + "Stocks fell again today. " * 30
    sentences = [chunk.text.count(".") for chunk in strategy.chunk(Document("d", text))]
    assert sentences[0] == 5
    assert len(sentences) > 2
    assert all(3 <= count <= 20 for count in sentences)


@TABLE.row(
    '"lower = more splits"',
    "`--set threshold=X`",
    differs="a lower similarity splits less, as the method itself says; the remark holds for a distance",
)
def test_a_lower_similarity_splits_less() -> None:
    counts = [
        len(split(_TEXT, "semantic", threshold_kind="similarity", threshold=threshold, embedder="hash"))
        for threshold in (-1.0, 1.0)
    ]
    assert counts[0] < counts[1]


TABLE.section("Hierarchical chunking")


@TABLE.row("`PARENT_SIZE = 1000` characters", "`--strategy hierarchical`, its default")
@TABLE.row("`CHILD_SIZE = 200` characters", "`--strategy hierarchical --set child_size=200`, its default")
@TABLE.row("Each child carries a `parent_id`", "`chunk.parent_id`")
@TABLE.row(
    "Children of full sentences, never cut in a word", "`--set children=sentence` keeps even longer sentences whole"
)
def test_children_are_whole_sentences_of_their_parents() -> None:
    text = _TEXT + " This one goes on and on," + " and on and on," * 20 + " and ends here. A short one."
    chunks = split(text, "hierarchical", children="sentence")
    parents = {chunk.id: chunk for chunk in chunks if chunk.level == 1}
    children = [chunk for chunk in chunks if chunk.level == 0]
    assert max(len(parent.text) for parent in parents.values()) <= 1000
    assert all(child.text.endswith(".") for child in children)
    assert all(len(child.text) <= 200 or child.text.count(".") == 1 for child in children)
    assert all(child.text in parents[child.parent_id or ""].text for child in children)
    assert [len(level) for level in (parents, children)] == [
        len([chunk for chunk in split(text, "hierarchical") if chunk.level == 1]),
        len(children),
    ]


@TABLE.row("Search children and feed the parent to the model", "`index.search(question, parents=True)`, `--parents`")
def test_children_are_searched_and_parents_returned() -> None:
    strategy = create_strategy("hierarchical", parent_size=300, child_size=80)
    with Index("memory:", embedder="hash", strategy=strategy) as index:
        index.add(Document("ml", _TEXT))
        (found,) = index.search("machine learning number 7", parents=True, top_k=1)
    assert "number 7 " in found.text
    assert len(found.hits[0].chunk.text) <= 80 < len(found.text) <= 300


TABLE.section("Context-aware chunking by a language model")


@TABLE.row('`OLLAMA_MODEL = "llama3"`', "`--strategy llm`, its default")
@TABLE.row("`llama3.1`, `mistral`, `phi3`", "`--strategy llm --set model=ollama:mistral`")
@TABLE.row(
    "Ollama, if it runs, is found without more settings", "`--strategy llm`, with `OLLAMA_HOST` if it is elsewhere"
)
def test_a_model_of_ollama_chooses_the_boundaries(fake: FakeServer) -> None:
    fake.answer = lambda prompt: '{"starts": [0, 2]}'
    assert create_strategy("llm").model == "ollama:llama3"
    text = "Owls hunt. Owls sleep. Stocks fell. Stocks rose."
    assert [chunk.text for chunk in split(text, "llm", model="ollama:mistral")] == [
        "Owls hunt. Owls sleep.",
        "Stocks fell. Stocks rose.",
    ]
    assert fake.bodies[0]["model"] == "mistral"
    assert "[0] Owls hunt." in fake.prompts[0]
    assert "[3] Stocks rose." in fake.prompts[0]


@TABLE.row("The model reads numbered sentences: `[0] Sentence one. [1] ...`", "`--strategy llm`")
def test_a_real_model_reads_numbered_sentences(smollm2: Replay) -> None:
    text = "Owls hunt at night. Owls sleep by day. Stocks fell on Monday. Stocks rose on Tuesday."
    assert [chunk.text for chunk in split(text, "llm", model="openai:smollm2")] == [text]
    (asked,) = smollm2.asked
    assert "[3] Stocks rose on Tuesday." in asked["messages"][0]["content"]
    assert asked["response_format"]["json_schema"]["schema"]["required"] == ["starts"]


TABLE.row(
    "The answer is a JSON array of split indices",
    "`--strategy llm`; a list without more is read as well",
    "tests/language_models/test_parsing.py::test_a_list_is_found_however_it_is_dressed_up",
    differs='the model is asked for an object, `{"starts": [0, 2]}`, which servers can enforce by a schema',
)


@TABLE.row(
    "Automatic fallback without Ollama: paragraphs and structural signals",
    "`--strategy llm`, with a warning; `--set model=none` asks no model at all",
)
def test_without_a_model_the_rules_split(ollama: Replay) -> None:
    text = "# Owls\n\nOwls hunt at night.\n\n# Larks\n\nLarks sing."
    with pytest.warns(FallbackWarning, match="model 'nosuch' not found"):
        without = split(text, "llm", model="ollama:nosuch", chunk_size=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ruled = split(text, "llm", model="none", chunk_size=6)
    assert [chunk.text for chunk in without] == [chunk.text for chunk in ruled]
    assert [chunk.text[:3] for chunk in ruled] == ["# O", "# L"]


TABLE.row(
    "Signals: heading-like sentences, endings of questions and exclamations",
    "`--strategy llm --set model=none`",
    "tests/parsers/llm_boundaries/test_fallback.py::test_what_looks_like_a_heading",
)

TABLE.row(
    "The notebook says which way it took",
    "a warning of `kinsplit compare` and others; `warnings` in the JSON",
    "tests/cli/test_compare.py::test_the_fallback_that_a_missing_model_took_is_told",
)

TABLE.section("What gets measured")


@TABLE.row("`# Chunks`", "`kinsplit stats PATHS --strategy ... --json`: `chunks`")
@TABLE.row("`# Docs`", "the same: `documents`")
@TABLE.row("`Avg Chars`", "the same: `average_characters`")
@TABLE.row("`Min/Max Chars`", "the same: `min_characters`, `max_characters`")
def test_every_method_has_its_sizes(cli: Cli, articles: Path) -> None:
    done = cli("stats", articles, *_METHODS, "--embedder", "hash", "--json")
    assert done.exit_code == 0, done.output
    for sizes in json.loads(done.stdout).values():
        assert sizes["documents"] == 2
        assert sizes["chunks"] > 2
        assert sizes["min_characters"] <= sizes["average_characters"] <= sizes["max_characters"]


@TABLE.row("`chunk_distributions.png`: histograms of the lengths", "`kinsplit stats PATHS --plots DIR`, or `compare`")
@TABLE.row("`chunks_per_doc.png`: chunks per document", "the same")
def test_sizes_are_plotted(cli: Cli, articles: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = cli("stats", articles, *_METHODS, "--embedder", "hash", "--plots", "plots")
    assert done.exit_code == 0, done.output
    for name in ("chunk_distributions.png", "chunks_per_doc.png"):
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")


TABLE.row(
    "Both plots beside the results of retrieval",
    "`kinsplit report evaluation_results.json --html report.html`",
    "tests/evaluation/report/test_report_page.py::test_the_page_and_the_notebooks_plots_are_written",
)

TABLE.section("Metadata of chunks")


@TABLE.row("`text`, `chunk_index`", "`chunk.text`, `chunk.chunk_index`; the rows of `kinsplit chunk`")
@TABLE.row("`doc_id`", "`chunk.source_id`", differs="it names the file and is the same on every machine, not a number")
@TABLE.row("`doc_title`", '`chunk.metadata["title"]`')
@TABLE.row("Overlap chunks are plain strings", '`split(text, "character")`', differs="all chunks have all metadata")
def test_every_chunk_says_where_it_is_from(cli: Cli, articles: Path) -> None:
    rows = [json.loads(row) for row in cli("chunk", articles, "--strategy", "character").stdout.splitlines()]
    assert {row["metadata"]["title"] for row in rows} == {"Machine learning", "Deep learning"}
    assert {row["docid"] for row in rows} == {"articles/Machine learning.md", "articles/Deep learning.md"}
    assert [row["chunk_index"] for row in rows[:3]] == [0, 1, 2]
    assert rows[0]["text"].startswith("# ")


TABLE.section("Query test")


@TABLE.row(
    "`QUERY`: search all documents by every method", "`kinsplit compare QUESTION --docs articles --strategy ...`"
)
@TABLE.row("`TOP_K = 3` results per method", "`kinsplit compare QUESTION --top-k 3`")
@TABLE.row("Score, chunk id and source document of each result", "`kinsplit compare QUESTION`")
@TABLE.row("Scores are the cosines of question and chunk", "`score` of `kinsplit compare`")
def test_each_method_shows_its_results_for_a_question(cli: Cli, articles: Path) -> None:
    question = "What are the main applications of machine learning?"
    asked = ("compare", question, "--docs", articles, *_METHODS, "--embedder", "hash", "--top-k", "3")
    done = cli(*asked, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["strategies"]
    assert list(found) == ["overlap", "semantic", "hierarchical", "llm"]
    for label, hits in found.items():
        assert len(hits) == 3
        assert all(-1 <= hit["score"] <= 1 for hit in hits)
        assert {hit["docid"] for hit in hits} <= {"articles/Machine learning.md", "articles/Deep learning.md"}
        assert f"{label}\nscore " in cli(*asked).stdout


TABLE.section("Getting started")
TABLE.row(
    "Google Colab with a GPU of type T4",
    '`%pip install "kinsplit[search,evaluation]"`, then the notebooks in `examples/notebooks`',
    needs="a Colab runtime; the notebooks themselves run in the tests, on a processor",
)
TABLE.row(
    "`pip install ...` and `jupyter notebook`",
    "`examples/notebooks/evaluate.ipynb`",
    "tests/test_notebooks.py::test_a_notebook_shows_what_it_prints",
)
TABLE.row(
    "`ollama serve` and `ollama pull llama3`",
    "`--strategy llm`, `kinsplit ask --model ollama:llama3`",
    "tests/wire/test_recordings.py::test_ollama_streams_until_the_length_that_was_asked_for",
)
TABLE.row(
    "On a TPU, without Ollama, the heuristic",
    "`--strategy llm`: a model that is away leaves the rules, whatever the processor",
    needs="a TPU; the fallback itself is tested above",
)
TABLE.row(
    "`TinyLlama` or `gemma-2b-it` as an embedding model on a TPU",
    "an embedder of LangChain or LlamaIndex as `embedder=`",
    needs="a TPU and the models' weights; embedders of both frameworks are tested with small ones",
)

TABLE.section("Dependencies")
TABLE.row(
    "`sentence-transformers`: `all-MiniLM-L6-v2`",
    "the bundled model, without PyTorch",
    "tests/embedding/test_backends.py::test_the_known_vectors_of_the_bundled_model_are_those_of_sentence_transformers",
)
TABLE.row(
    "`nltk`: sentences",
    "every strategy that keeps sentences",
    "tests/parsers/units/test_sentences.py::test_english_sentences_are_punkts_but_for_abbreviations",
)
TABLE.row(
    "`scikit-learn`: cosine similarity",
    '`index.search(question, ranking="dense")`',
    "tests/evaluation/experiment/test_experiment.py::test_cosines_are_those_of_the_shared_embedder",
)


@TABLE.row("`pandas`: summary tables", "`to_dataframe(chunks)`, `kinsplit stats`")
def test_chunks_become_a_dataframe() -> None:
    pytest.importorskip("pandas")
    frame = to_dataframe(split(_TEXT, "character"))
    assert frame["text"].str.len().max() == 600


TABLE.section("Results and roadmap")
TABLE.row(
    "Table of results: about 1,800, 420, 3,200 and 380 chunks, scores 0.581 to 0.607",
    "[the published tables and kinsplit's results](seed-tables.md), by `python benchmarks/seed_tables.py`",
    needs="the revisions that the notebook read; the page measures later ones, and explains each difference",
)


@TABLE.row("Stage 2: BM25 and dense retrieval", '`ranking="terms"`, `ranking="dense"`')
@TABLE.row("Stage 3: reciprocal rank fusion", '`ranking="hybrid"`')
def test_rankings_by_words_by_meaning_and_by_both() -> None:
    with Index("memory:", embedder="hash") as index:
        index.add([Document("ml", _TEXT), Document("birds", "Owls hunt at night. Larks sing at dawn.")])
        for ranking, stage in (("terms", "bm25"), ("dense", "dense"), ("hybrid", "hybrid")):
            (found,) = index.search("When do owls hunt?", ranking=ranking, top_k=1)  # type: ignore[arg-type]
            assert (found.source_id, found.score) == ("birds", found.scores[stage])


@TABLE.row("Stage 4: answers of LLaMA from retrieved chunks", "`kinsplit ask QUESTION --model ollama:llama3`")
def test_a_model_answers_from_what_was_found(cli: Cli, articles: Path, smollm2: Replay) -> None:
    assert cli("index", articles, "--embedder", "hash").exit_code == 0
    done = cli("ask", "What studies machine learning?", "--embedder", "hash", "--model", "openai:smollm2")
    assert done.stdout.startswith("The passages do not hold the answer.")  # As so small a model says.
    assert "Machine learning number" in smollm2.asked[0]["messages"][0]["content"]


TABLE.row(
    "Stage 5: faithfulness, relevance, completeness",
    "`kinsplit evaluate --model SPEC --measure answer_faithfulness`, `answer_relevance`, `answer_completeness`",
    "tests/evaluation/measures/test_answer_measures.py::test_completeness_is_the_share_of_labelled_facts",
)
