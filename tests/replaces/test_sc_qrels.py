"""SC-Qrels, feature by feature."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kinsplit import Document, Index, create_strategy, split
from tests.cli.conftest import Cli
from tests.replaces.table import Table

TABLE = Table("SC-Qrels", "Chunks of books in windows of tokens, and the relevant chunks of annotated questions.")

_CHUNK = "`kinsplit chunk data/processed/documents --strategy token --output chunks.jsonl`"
_SENTENCES = [f"Alice met rabbit number {number}, who was late." for number in range(200)]
_TEXT = " ".join(_SENTENCES)


@pytest.fixture
def chapters(cli: Cli, tmp_path: Path) -> Path:
    """Chapters as SC-Qrels stores them, each in a file."""
    folder = tmp_path / "data" / "processed" / "documents"
    folder.mkdir(parents=True)
    for number in (1, 2):
        chapter = {"docid": f"alice:ch{number:02}", "title": f"Chapter {number}", "text": _TEXT}
        (folder / f"ch{number:02}.json").write_text(json.dumps(chapter))
    return folder


def _rows(cli: Cli, *arguments: object) -> list[dict[str, Any]]:
    done = cli("chunk", *arguments)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


TABLE.section("Rationale")


@TABLE.row(
    "Chunking before retrieval; each chunk can be traced back to its `docid`",
    "`kinsplit chunk PATHS`: each row has `docid`, `start` and `end`",
)
@TABLE.row("All spans are traceable to the text of a chunk", "`text[start:end]` of the document is the chunk's text")
def test_each_chunk_leads_back_to_its_document(cli: Cli, chapters: Path) -> None:
    for row in _rows(cli, chapters, "--strategy", "token"):
        assert row["docid"] in {"alice:ch01", "alice:ch02"}
        assert _TEXT[row["start"] : row["end"]] == row["text"]


TABLE.row(
    "Sentence- or paragraph-level grounding",
    "`kinsplit ask QUESTION`: each sentence of an answer cites the place that supports it",
    "tests/answering/test_support.py::test_the_evidence_is_the_exact_place_in_the_document",
)
TABLE.row(
    "Compatibility with transformer-based embedding models",
    "`--embedder st:NAME_OR_PATH`",
    "tests/embedding/test_backends.py::test_other_encoders_are_read_with_their_pooling",
)

TABLE.section("Sliding window over tokens")


@TABLE.row("`chunk_size` 512 tokens", "`--strategy token`, its default")
@TABLE.row("`stride` 128 tokens: chunk 1 has tokens 0-511, chunk 2 has 128-639, ...", "`--set stride=128`, its default")
@TABLE.row("Overlap preserves context across boundaries", "`--strategy token`: neighbours share 384 tokens")
def test_windows_are_512_tokens_every_128() -> None:
    chunks = split("rabbit " * 1024, "token")
    assert [(chunk.start, chunk.end) for chunk in chunks[:3]] == [
        (first * len("rabbit "), (first + 512) * len("rabbit ") - 1) for first in (0, 128, 256)
    ]
    assert chunks == split("rabbit " * 1024, "token", chunk_size=512, stride=128)
    assert all(one.end > other.start for one, other in pairwise(chunks))


TABLE.row(
    "BERT-style tokenizer of `bge-large-en-v1.5`",
    "`bundled`, the same vocabulary, or `--set tokenizer=hf:BAAI/bge-large-en-v1.5`",
    "tests/test_tokenizers.py::test_the_exact_tokenizer_has_the_references_ids_and_offsets",
)

TABLE.section("Embedding model")
TABLE.row(
    "`BAAI/bge-large-en-v1.5`",
    "`--embedder st:BAAI/bge-large-en-v1.5`",
    needs="the weights of the model, 1.3 GB from the Hugging Face Hub",
)
TABLE.row(
    "Context limit of 512 tokens",
    "`kinsplit index` warns before it embeds chunks that are longer than the model's window",
    "tests/cli/test_defaults.py::test_chunks_longer_than_the_window_are_announced_before_anything_is_embedded",
)
TABLE.row(
    "[CLS] pooling",
    "`--embedder st:NAME_OR_PATH` pools as the files of the model say",
    "tests/embedding/test_backends.py::test_other_encoders_are_read_with_their_pooling",
)
TABLE.row(
    "Training objective: retrieval, with an instruction before questions",
    "`--embedder st:NAME_OR_PATH` takes the prompts of the model",
    "tests/embedding/test_sentence_transformer.py::test_a_models_own_prompts_are_used_and_count_towards_the_window",
)
TABLE.row(
    "Offline usage",
    "`--embedder st:FOLDER`, or the bundled model",
    "tests/embedding/test_sentence_transformer.py::test_the_model_is_found_in_a_folder_then_in_the_packages",
)
TABLE.row(
    "LoRA fine-tuning",
    "`--embedder st:FOLDER` of the fine-tuned model",
    "tests/embedding/test_sentence_transformer.py::test_a_folder_is_known_by_its_weights",
    differs="kinsplit trains no models; it loads merged weights",
)

TABLE.section("Tokenizer")
TABLE.row(
    '`AutoTokenizer.from_pretrained("BAAI/bge-large-en-v1.5", use_fast=True)`',
    '`create_strategy("token", tokenizer=AutoTokenizer...)`, or `tokenizer="hf:NAME"`',
    "tests/test_tokenizers.py::test_a_fast_tokenizer_of_transformers_counts_like_its_file",
)
TABLE.row(
    "Consistent token boundaries, as in pretraining",
    "`--strategy token`",
    "tests/test_tokenizers.py::test_bundled_counts_and_offsets_are_the_references",
)


@TABLE.row(
    "Detokenisation with `tokenizer.decode(...)`",
    "`--strategy token`",
    differs="chunks are slices of the text, with its capitals and spaces, which decoding loses",
)
def test_chunks_are_slices_and_never_decoded() -> None:
    text = "Alice’s  Café — “Oh dear!”"
    assert "".join(chunk.text for chunk in split(text, "token", chunk_size=3, stride=3)).replace(" ", "") == (
        text.replace(" ", "")
    )


TABLE.section("Script `chunk_documents.py`")


@TABLE.row("Load `data/processed/documents/*.json`, each with `docid`, `title`, `text`", _CHUNK)
@TABLE.row("Tokenise the full text and write overlapping chunks", _CHUNK)
@TABLE.row("Rows of `chunks.jsonl`: `docid`, `chunk_id`, `chunk_index`, `text`", _CHUNK)
@TABLE.row(
    "`chunk_id` is `alice:ch03::chunk02`",
    "`chunk_name` of the same row",
    differs="`chunk_id` is the UUID by which qrels, stores and citations name the chunk too",
)
def test_documents_become_rows_of_chunks(cli: Cli, chapters: Path) -> None:
    done = cli("chunk", chapters, "--strategy", "token", "--output", "chunks.jsonl")
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in Path("chunks.jsonl").read_text().splitlines()]
    second = rows[1]
    assert (second["docid"], second["chunk_name"], second["chunk_index"]) == ("alice:ch01", "alice:ch01::chunk01", 1)
    assert second["chunk_id"] == rows[0]["next_id"]
    assert second["text"].startswith("Alice met rabbit") or second["start"] > 0
    assert second["metadata"]["title"] == "Chapter 1"
    assert {row["docid"] for row in rows} == {"alice:ch01", "alice:ch02"}


TABLE.row(
    "The text to which the labels refer",
    "`kinsplit chunk PATHS --normalise sc-qrels`",
    "tests/cli/test_chunk.py::test_sc_qrels_documents_are_split_as_their_normalised_rows",
)

TABLE.section("Output")
TABLE.row(
    "249 token-based chunks of the 12 chapters of *Alice in Wonderland*",
    "`--strategy token --set tail=drop`",
    "tests/parsers/test_seed_figures.py::test_alice_without_tails_gives_249_token_windows_of_full_length",
    differs="by default the last, shorter window of each chapter is kept: 261 chunks, as in the published manifest",
)
TABLE.row(
    "Each chunk respects the 512-token limit",
    "`--strategy token`",
    "tests/test_tokenizers.py::test_no_chunk_has_more_tokens_than_the_reference_allows",
)


TABLE.row(
    "Each chunk can be embedded independently; its vector is stored",
    "`kinsplit qrels PATHS --manifest chunks.jsonl --embedder SPEC` writes `embeddings_*.npz`",
    "tests/cli/test_qrels.py::test_qrels_a_manifest_and_vectors_are_written",
)


@TABLE.row(
    "No vector database: in-memory cosine similarity", '`Index("memory:").search(question, ranking="dense", window=0)`'
)
@TABLE.row("Cosine similarity-based retrieval at inference time", '`index.search(question, ranking="dense")`')
def test_cosines_are_compared_in_memory() -> None:
    with Index("memory:", embedder="hash", strategy=create_strategy("token", chunk_size=16, stride=16)) as index:
        index.add(Document("alice:ch01", _TEXT))
        (found,) = index.search(_SENTENCES[7], ranking="dense", window=0, top_k=1, candidates=1)
    assert "number 7" in found.text
    assert -1 <= found.score <= 1
    assert found.score == found.scores["dense"]


TABLE.section("Alignment and evaluation")


@TABLE.row("Chunking is agnostic to the places of annotations", "`kinsplit chunk` and `split` take no labels")
def test_labels_beside_the_documents_change_no_chunk(cli: Cli, chapters: Path) -> None:
    alone = _rows(cli, chapters, "--strategy", "token")
    label = {"query_id": "q1", "query": "Who was late?", "docid": "alice:ch01", "spans": [[0, 40]]}
    (chapters.parent / "queries.jsonl").write_text(json.dumps(label))
    assert _rows(cli, chapters, "--strategy", "token") == alone


TABLE.row(
    "Span-to-chunk alignment of the ground truth",
    "`kinsplit qrels PATHS --manifest chunks.jsonl`",
    "tests/evaluation/qrels/test_sc_qrels.py::test_the_published_qrels_are_reproduced_byte_by_byte",
)
TABLE.row(
    "Span annotations of experts",
    "`kinsplit qrels PATHS --queries annotations_merged_final.json --queries questions_sme1.json`",
    "tests/cli/test_qrels.py::test_the_folder_of_sc_qrels_gives_the_qrels_that_it_holds",
)
TABLE.row(
    "Ground truth for IR evaluation",
    "`kinsplit evaluate --docs FOLDER --measure nDCG@10 --measure MRR`",
    "tests/evaluation/qrels/test_sc_qrels.py::test_the_published_runs_score_as_ir_measures_scores_the_files",
)
TABLE.row(
    "Embed all chunks and store the vectors",
    "`kinsplit index PATHS --strategy token`, or the `.npz` file of `kinsplit qrels`",
    "tests/evaluation/qrels/test_sc_qrels.py::test_the_published_embeddings_are_read",
)


@TABLE.row("End-to-end RAG pipeline on a benchmark", "`kinsplit index`, `search`, `ask`, `evaluate`")
def test_the_whole_pipeline_runs(cli: Cli, chapters: Path) -> None:
    label = {"query_id": "q1", "query": "Who was rabbit number 7?", "docid": "alice:ch01", "spans": [[0, 40]]}
    Path("queries.jsonl").write_text(json.dumps(label))
    embedder = ("--embedder", "hash")
    assert cli("index", chapters, "--strategy", "token", *embedder).exit_code == 0
    assert "File: documents/ch0" in cli("search", "rabbit number 7", *embedder, "--top-k", "1").stdout
    assert "Sources:" in cli("ask", "Who was rabbit number 7?", *embedder).stdout
    done = cli("evaluate", "--docs", chapters, "--queries", "queries.jsonl", "--strategy", "token", *embedder)
    assert done.exit_code == 0, done.output
