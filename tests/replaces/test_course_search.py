"""The course search, feature by feature."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Index, create_strategy, split
from tests.cli.conftest import COURSE, Cli, run_command
from tests.replaces.table import Table
from tests.wire.replay import Replay

TABLE = Table("Course search", "Search and answers from the material of courses, chunk by chunk, in Qdrant.")

_HASH = ("--embedder", "hash")
_QUESTION = "What is a base case?"
_SPLIT = ("--strategy", "sentence", "--set", "chunk_size=500", "--set", "chunk_overlap=100")
_SENTENCES = " ".join(f"Sentence number {number} is about loops." for number in range(300))


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A folder with a collection of some lectures, and the lines of the command that made it."""
    parent = tmp_path_factory.mktemp("course-search")
    lectures = parent / "data" / "cs" / "6_0001"
    lectures.mkdir(parents=True)
    for name in ("lecture_05.pdf", "lecture_05_code.py", "lecture_06.md", "lecture_06_code.py"):
        (lectures / name).write_bytes((COURSE / name).read_bytes())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(parent)
        done = run_command("index", "data", "--subjects", "cs", "--collection", "cs_materials", *_SPLIT, *_HASH)
    assert done.exit_code == 0, done.output
    return parent, done.stdout.splitlines()


@pytest.fixture
def courses(indexed: tuple[Path, list[str]], cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in the folder of that collection."""
    monkeypatch.chdir(indexed[0])
    return cli


def _found(courses: Cli, *options: object) -> list[dict[str, Any]]:
    done = courses("search", _QUESTION, "--collection", "cs_materials", *_HASH, *options, "--json")
    assert done.exit_code == 0, done.output
    passages: list[dict[str, Any]] = json.loads(done.stdout)["passages"]
    return passages


TABLE.section("Chunking")


@TABLE.row("Chunks of 500 tokens", "`--strategy sentence`, its default")
@TABLE.row("Overlap of 100 tokens", "`--strategy sentence`, its default")
@TABLE.row("`CourseEmbedder(chunk_size=500, chunk_overlap=100).chunk_text(text)`", '`split(text, "sentence")`')
@TABLE.row("Verify the overlap of two chunks", "`chunk.overlap`, the number of shared characters")
@TABLE.row("Boundaries at the ends of sentences", "`--strategy sentence`")
@TABLE.row(
    "`chunk_size=800, chunk_overlap=150` if chunks are too small", "`--set chunk_size=800 --set chunk_overlap=150`"
)
@TABLE.row(
    "`chunk_size=300, chunk_overlap=50` if chunks are too large", "`--set chunk_size=300 --set chunk_overlap=50`"
)
@pytest.mark.parametrize(("size", "overlap"), [(500, 100), (800, 150), (300, 50)])
def test_sentences_are_grouped_with_overlap(size: int, overlap: int) -> None:
    chunks = split(_SENTENCES, "sentence", chunk_size=size, chunk_overlap=overlap)
    assert create_strategy("sentence") == create_strategy("sentence", chunk_size=500, chunk_overlap=100)
    assert len(chunks) > 2
    for one, other in pairwise(chunks):
        assert one.text.endswith(".")
        shared = other.text[: other.overlap]
        assert shared
        assert one.text.endswith(shared)


TABLE.row(
    r"`re.split(r'(?<=[.!?])\s+', text)`",
    "`--strategy sentence`",
    "tests/parsers/units/test_sentences.py::test_abbreviations_end_no_sentence_that_goes_on",
    differs='"e.g." and "Dr." end no sentence',
)
TABLE.row(
    "Sentences longer than a chunk",
    "`--strategy sentence`",
    "tests/parsers/strategies/test_sentence.py::test_a_sentence_longer_than_the_budget_is_cut_between_words_then_clusters",
    differs="they are cut, so that no chunk is too long",
)

TABLE.section("Embedding")
TABLE.row(
    "`Qwen3-Embedding-4B`, 2,560 dimensions",
    "`--embedder st:Qwen/Qwen3-Embedding-4B`",
    needs="the weights of the model, 8 GB from the Hugging Face Hub, and a GPU",
)


@TABLE.row("Extract the text of PDF files and others", "`kinsplit index PATHS`; [the formats](material.md)")
@TABLE.row("`python embed_all_subjects.py --subjects cs`", "`kinsplit index data --subjects cs`")
@TABLE.row(
    "`Split into 102 chunks`, `Uploaded 102 points` for each file", "a line per file: `Split into 102 chunks  +102`"
)
@TABLE.row("Verify that chunks were made", "`kinsplit info`, and `kinsplit verify` for their links and texts")
def test_each_file_is_split_and_uploaded(indexed: tuple[Path, list[str]], courses: Cli) -> None:
    _, lines = indexed
    (lecture,) = [line for line in lines if line.startswith("data/cs/6_0001/lecture_05.pdf ")]
    count = int(lecture.split("Split into ")[1].split()[0])
    assert count > 1
    assert lecture.endswith(f"+{count}")
    assert courses("info", "--collection", "cs_materials").exit_code == 0
    assert courses("verify", "--collection", "cs_materials").exit_code == 0


TABLE.row(
    "Embedding again takes about 50 s for each PDF",
    "`kinsplit index` again",
    "tests/cli/test_index.py::test_the_second_run_over_the_sample_course_embeds_nothing",
    differs="only what has changed is embedded again",
)

TABLE.section("Payload of a chunk")


@TABLE.row("`file_path`, `file_type`", "the keys of the same name")
@TABLE.row("`group_id`, `course`, `sibling_files`", "the keys of the same name")
@TABLE.row("`chunk_index`, `total_chunks`, `is_chunked`", "the keys of the same name")
@TABLE.row("`full_content`, `content_preview`, `content_length`", "the keys of the same name")
@TABLE.row("Each chunk is a point of its own", "each chunk is a point, with a computed id")
def test_a_point_has_the_keys_of_the_course_search(courses: Cli, tmp_path: Path) -> None:
    qdrant_client = pytest.importorskip("qdrant_client")
    address = f"qdrant:{tmp_path / 'qdrant'}"
    done = courses("index", "data", "--store", address, *_SPLIT, *_HASH)
    assert done.exit_code == 0, done.output
    client = qdrant_client.QdrantClient(path=str(tmp_path / "qdrant"))
    (name,) = [collection.name for collection in client.get_collections().collections]
    points, _ = client.scroll(name, limit=1000)
    client.close()
    pdf = [point.payload for point in points if str(point.payload.get("file_path", "")).endswith(".pdf")]
    leaves = [payload for payload in pdf if payload["level"] == 0]
    (second,) = [payload for payload in leaves if payload["chunk_index"] == 1]
    assert (second["total_chunks"], second["is_chunked"]) == (len(leaves), True)
    assert second["file_path"] == "data/cs/6_0001/lecture_05.pdf"
    assert (second["file_type"], second["group_id"], second["course"]) == ("pdf", "lecture_05", "6_0001")
    assert second["sibling_files"] == ["data/cs/6_0001/lecture_05_code.py"]
    assert second["full_content"].startswith(second["content_preview"])
    assert second["content_length"] == len(second["full_content"])


TABLE.row(
    "Documents that are not chunked: `is_chunked` is false or absent",
    "a document of one chunk has `is_chunked: false`",
    "tests/stores/test_payload.py::test_a_document_of_one_chunk_is_not_chunked",
)
TABLE.row(
    "Collections of the course search itself",
    "`SiblingExpansion(store)` in LangChain and LlamaIndex",
    "tests/integrations/test_whole_documents.py::test_llama_index_finds_a_whole_document_and_the_files_beside_it",
)

TABLE.section("Search")


@TABLE.row("`rerank_candidates=30` by default", "`index.search(question)`: at least 30 candidates")
@TABLE.row("`rerank_candidates=20` if retrieval is too slow", "`--candidates 20`")
@TABLE.row("`top_k=3`", "`--top-k 3`, the default")
@TABLE.row("Neighbouring chunks (previous and next) of a hit", "`--window 1`, the default")
def test_hits_come_with_their_neighbours(courses: Cli) -> None:
    found = _found(courses)
    assert 1 <= len(found) <= 3
    for passage in found:
        (hit, *_) = passage["hits"]
        alone = hit["total_chunks"] == 1
        assert alone or {hit["prev_id"], hit["next_id"]} & set(passage["chunks"])
    assert len(_found(courses, "--candidates", "20", "--top-k", "2", "--window", "0")) == 2


@TABLE.row("`_find_chunk_by_index(file_path, chunk_index)`", '`index.find({"file_path": ..., "chunk_index": ...})`')
def test_a_chunk_is_found_by_file_and_index(courses: Cli) -> None:
    with Index("edge:./kinsplit-data", collection="cs_materials", embedder="hash", must_exist=True) as index:
        path = index.find({"file_type": "pdf"})[0].metadata["file_path"]
        (chunk,) = index.find({"file_path": path, "chunk_index": 1})
    assert (chunk.index, chunk.source_id.endswith("lecture_05.pdf")) == (1, True)


TABLE.row(
    "Sibling files of the group, for documents that are not chunked",
    "`passage.related`",
    "tests/retrieval/test_pipeline.py::test_a_document_brings_its_sibling_files",
)
TABLE.row(
    "`use_reranker=True`: rerank the candidates, expand, rerank the passages",
    "`--rerank late`, `cross-encoder:NAME_OR_PATH` or `llm:MODEL`",
    "tests/retrieval/test_pipeline.py::test_a_reranker_reads_the_candidates_and_then_the_passages",
    differs="no reranker by default, since kin scoring takes its place without the time",
)
TABLE.row(
    "`verbose=True`",
    "`kinsplit search --explain`: the score of every stage",
    "tests/cli/test_collection.py::test_explain_shows_a_score_of_every_stage_for_every_hit",
)


@TABLE.row("`[Result 1] (Reranker Score: 0.9542)`", "`kinsplit search`: `[Result 1] (score ...)`")
@TABLE.row("`File: lecture_10.pdf`", "`File: data/cs/6_0001/lecture_10.pdf`, with its pages")
@TABLE.row("`Chunk: 23/102`", "`Chunk: 23/102`")
@TABLE.row("`Content Preview`", "the part of the passage with most of the question")
def test_results_are_shown_with_file_chunk_and_preview(courses: Cli) -> None:
    shown = courses("search", _QUESTION, "--collection", "cs_materials", *_HASH).stdout
    assert "[Result 1] (score " in shown
    assert "File: data/cs/6_0001/lecture_0" in shown
    assert "\nChunk: " in shown
    assert "base case" in shown


TABLE.section("Answers")


@TABLE.row('`python llm.py "What is OOP?"`', "`kinsplit ask QUESTION --model SPEC`")
@TABLE.row("`--collection cs_materials`", "`--collection cs_materials`")
@TABLE.row("`full_content` gives the model the whole text of chunks", "`kinsplit ask`: the model reads whole passages")
@TABLE.row(
    "Answers cite the material instead of what the model knows", "`kinsplit ask` checks each sentence and its citation"
)
def test_a_model_answers_from_the_material(courses: Cli, openai: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sentinel-0123456789")
    done = courses("ask", _QUESTION, "--collection", "cs_materials", *_HASH, "--model", "openai:gpt-4o-mini")
    assert done.stdout.startswith("A base case ends a recursion [1].")
    assert "found in the cited passages." in done.stdout
    assert "base case" in openai.asked[-1]["messages"][0]["content"]


TABLE.row(
    '"What is OOP?" finds the chunk on object-oriented programming',
    '`kinsplit search "What is OOP?"`',
    "tests/embedding/test_sparse.py::test_acronyms_and_long_forms_find_each_other",
)
TABLE.row(
    '"Explain binary search"',
    '`kinsplit search "Explain binary search"`',
    "tests/cli/test_demo.py::test_the_demo_answers_every_question_rightly_and_embeds_once_without_network",
)


@TABLE.row(
    "The model falls back to what it knows if the context does not help",
    "`kinsplit ask`",
    differs="it says that the material does not hold the answer",
)
def test_a_model_says_that_the_material_does_not_hold_the_answer(courses: Cli, smollm2: Replay) -> None:
    asked = ("ask", "Who was Napoleon?", "--collection", "cs_materials", *_HASH, "--model", "openai:smollm2")
    assert courses(*asked).stdout.startswith("The passages do not hold the answer.")


TABLE.section("Before and after")
TABLE.row(
    "Back up the old collection",
    "`kinsplit backup NAME FILE`",
    "tests/cli/test_collection.py::test_a_backup_is_restored_under_any_name",
)
TABLE.row(
    "Delete the old collection and embed anew",
    "`kinsplit drop NAME`; or index beside it, then `kinsplit switch`",
    "tests/cli/test_collection.py::test_collections_are_listed_renamed_switched_and_dropped",
)
TABLE.row(
    "Compare relevance before and after",
    "`kinsplit evaluate --store ADDRESS --collection OLD --collection NEW`",
    "tests/cli/test_evaluate.py::test_a_collection_is_evaluated_where_it_lies",
    differs="measured with labelled questions, not by looking at scores",
)
TABLE.row(
    "85 % relevant retrieval, estimated",
    "`kinsplit demo`: 5 of 5 questions find their lecture",
    "tests/cli/test_demo.py::test_the_demo_answers_every_question_rightly_and_embeds_once_without_network",
    differs="measured on 80 labelled questions in [quality](quality.md)",
)
TABLE.row(
    "15 times the storage",
    "`kinsplit stats`, `kinsplit evaluate`: `bytes_stored`",
    "tests/evaluation/experiment/test_statistics.py::test_what_is_embedded_and_stored_holds_the_contexts",
    differs="measured for your documents",
)
TABLE.row(
    "About 3 s for each search",
    "`kinsplit search`",
    "tests/retrieval/test_pipeline.py::test_a_whole_search_is_at_most_three_calls_one_of_them_for_texts",
    differs="neighbours come with one read instead of a query for each; [scaling](scaling.md) has the times",
)
