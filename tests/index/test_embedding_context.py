"""Tests of embedding contexts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kinsplit import Document, Index
from kinsplit.embedding import CachedEmbedder, VectorCache, use_vector_cache
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError, SchemaMismatchError
from kinsplit.identity import DOCUMENT_CONTEXT
from kinsplit.parsers import create
from kinsplit.stores.maintenance import verify
from tests.tokenizer_files import bundled_tokenizer

MARKDOWN = """\
# Animals

The cat sleeps all day.

# Engines

The rocket burns oxygen.

# More

The cat sleeps all day.
"""
LEAVES = 3
STRUCTURE = create("structure", chunk_size=12, min_chunk_size=1)


class Tokens(HashEmbedder):
    """An embedder whose token vectors depend on the token and the three before it, and which records its calls."""

    repeatable = True

    def __init__(self) -> None:
        super().__init__(16, 40)
        self.texts: list[str] = []
        self.windows_read: list[str] = []
        self.tokenizer = bundled_tokenizer()

    @property
    def name(self) -> str:
        return "bundled"

    def embed(self, texts: Sequence[str], progress: object = None) -> NDArray[np.float32]:
        self.texts += texts
        return super().embed(texts)

    def embed_tokens(self, texts: Sequence[str]) -> list[NDArray[np.float32]]:
        self.windows_read += texts
        one = HashEmbedder(16)
        tokens = [self.tokenizer.encode(text, add_special_tokens=False).tokens for text in texts]
        return [one.embed([" ".join(own[max(0, i - 3) : i + 1]) for i in range(len(own))]) for own in tokens]


def opened(store: Path, embedder: object, context: str | None = None, **more: Any) -> Index:
    return Index(
        f"edge:{store}", embedder=embedder, embedding_context=context, strategy=more.pop("strategy", STRUCTURE), **more
    )


def vectors(index: Index, source: str) -> list[NDArray[np.float32]]:
    stored = [(chunk, own.dense) for chunk, own in index.store.export(source) if chunk.level == 0]
    return [dense for _, dense in sorted(stored, key=lambda pair: pair[0].index) if dense is not None]


@pytest.mark.parametrize(("context", "first"), [("headings", "Animals\n\n"), ("none", "")])
def test_headings_go_before_the_text_unless_it_is_to_stand_alone(context: str, first: str, tmp_path: Path) -> None:
    embedder = Tokens()
    with opened(tmp_path, embedder, context) as index:
        index.add(Document("a.md", MARKDOWN))
        leaves = index.store.find({"source_id": "a.md"})
    assert leaves[0].context == "Animals"
    assert embedder.texts[0] == first + leaves[0].text


def test_late_chunks_are_the_means_of_their_tokens_in_the_whole_document(tmp_path: Path) -> None:
    embedder, late = Tokens(), Tokens()
    with opened(tmp_path / "a", embedder) as index, opened(tmp_path / "b", late, "late") as other:
        for each in (index, other):
            report = each.add(Document("a.md", MARKDOWN))
        assert report.embedded == len(other.store.find({"source_id": "a.md"})) == LEAVES
        assert late.windows_read == [MARKDOWN]
        assert not late.texts
        for one, two in zip(vectors(index, "a.md"), vectors(other, "a.md"), strict=True):
            assert not np.allclose(one, two)
            assert np.linalg.norm(two) == pytest.approx(1, abs=1e-5)
        found = other.search("rocket oxygen", top_k=1)[0]
        assert "rocket" in found.text
        assert DOCUMENT_CONTEXT not in found.metadata
        assert verify(other.store) == []


def test_equal_texts_in_two_places_have_two_late_vectors(tmp_path: Path) -> None:
    text = "The cat sleeps.\n\n" * 2 + "A rocket flies.\n\nThe cat sleeps.\n"
    with opened(tmp_path, Tokens(), "late", strategy=create("sentence", chunk_size=4, chunk_overlap=0)) as index:
        index.add(Document("a", text))
        first, second, _, last = vectors(index, "a")
    assert not np.allclose(first, second)
    assert not np.allclose(second, last)


def test_late_vectors_are_made_anew_where_their_document_changes_and_only_there(tmp_path: Path) -> None:
    embedder = Tokens()
    documents = [Document("a.md", MARKDOWN), Document("b.md", "A wholly different text.")]
    with opened(tmp_path, embedder, "late") as index:
        index.add(documents)
        assert index.add(documents).embedded == 0
        changed = MARKDOWN.replace("burns oxygen", "burns hydrogen")
        report = index.add([Document("a.md", changed), documents[1]])
        assert (report.embedded, report.updated, report.unchanged) == (LEAVES, LEAVES, 1)
        assert embedder.windows_read[-1] == changed
        assert verify(index.store) == []
    with opened(tmp_path / "new", Tokens(), "late") as fresh, opened(tmp_path, embedder, "late") as index:
        fresh.add(Document("a.md", changed))
        assert np.array_equal(vectors(fresh, "a.md"), vectors(index, "a.md"))


def test_vectors_of_two_ways_are_never_mixed(tmp_path: Path) -> None:
    with opened(tmp_path, Tokens(), "late") as index:
        index.add(Document("a.md", MARKDOWN))
    for context in ("headings", "none"):
        with pytest.raises(SchemaMismatchError, match=f"embedding_context is 'late' there and '{context}' here"):
            opened(tmp_path, Tokens(), context)


@pytest.mark.parametrize("context", ["headings", "none", "late"])
def test_a_collection_is_opened_as_it_was_made(context: str, tmp_path: Path) -> None:
    with opened(tmp_path, Tokens(), context) as index:
        index.add(Document("a.md", MARKDOWN))
    for strategy in (None, STRUCTURE):
        with opened(tmp_path, Tokens(), strategy=strategy) as index:
            assert index.embedding_context == context
            assert index.add(Document("a.md", MARKDOWN)).embedded == 0


def test_an_embedder_without_tokens_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="'late' needs an embedder with vectors for tokens"):
        opened(tmp_path / "store", "hash", "late")
    assert not (tmp_path / "store").exists()
    with pytest.raises(InvalidParameterError, match="embedding_context: must be 'headings', 'none' or 'late'"):
        opened(tmp_path / "store", "hash", "all")


def test_late_chunking_goes_past_the_cache(tmp_path: Path) -> None:
    with VectorCache(tmp_path / "vectors") as cache:
        embedder = CachedEmbedder(Tokens(), cache)
        with opened(tmp_path / "a", embedder, "late") as index, use_vector_cache(cache):
            assert index.add(Document("a.md", MARKDOWN)).embedded == LEAVES


@pytest.mark.parametrize("ending", ["without context", "with late chunking"])
@pytest.mark.parametrize("context", [None, "headings", "none", "late"])
def test_no_fingerprint_of_a_model_tells_a_context(ending: str, context: str | None, tmp_path: Path) -> None:
    class Ending(Tokens):
        @property
        def fingerprint(self) -> str:
            return f"a model {ending}"

    with opened(tmp_path, Ending(), context) as index:
        index.add(Document("a.md", MARKDOWN))
    with opened(tmp_path, Ending(), None) as index:
        schema = index.store.schema
        assert schema.model == f"a model {ending}"
        assert index.embedding_context == schema.embedding_context == (context or "headings")
        assert index.add(Document("a.md", MARKDOWN)).embedded == 0


def test_the_bundled_model_finds_what_a_pronoun_means(tmp_path: Path) -> None:
    text = "Berlin is the capital of Germany.\n\nIt has four million inhabitants.\n"
    strategy = create("sentence", chunk_size=8, chunk_overlap=0)
    found = {}
    for context in ("none", "late"):
        with opened(tmp_path / context, "bundled", context, strategy=strategy) as index:
            index.add(Document("a", text))
            found[context] = vectors(index, "a")[1] @ index.embedder.embed_query("How many people live in Berlin?")
    assert found["late"] > found["none"] + 0.05
