from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.embedding import create
from kinsplit.embedding.bundled import model_folder
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.embedding.late_chunking import embed_late, lay_windows
from kinsplit.errors import EmbeddingError, InvalidParameterError
from kinsplit.spans import Span
from tests.tokenizer_files import bundled_tokenizer

BERLIN = "Berlin is the capital of Germany. The city has four million inhabitants."
CITY = Span(34, 73)
WORDS = st.sampled_from(["the", "unbelievably", "x", "café", "公园", "🤣", "...", "3.14", "\n\n", "\x7f", "[MASK]"])
TEXTS = st.lists(WORDS | st.text(max_size=5), max_size=80).map(" ".join)


class Tokens(HashEmbedder):
    """Gives each token a vector that says where in its text it stands, and records what it was asked."""

    def __init__(self, window: int = 18) -> None:
        super().__init__(3, window)
        self.seen: list[str] = []
        self.tokenizer = bundled_tokenizer()

    @property
    def name(self):
        return "bundled"

    def embed_tokens(self, texts):
        self.seen += texts
        ids = [self.tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
        return [np.array([[1, token, place] for place, token in enumerate(own)], np.float32) for own in ids]


@pytest.fixture(scope="module")
def tokenizer():
    return bundled_tokenizer()


@given(text=TEXTS, window=st.integers(8, 60))
def test_every_token_is_given_by_one_window_and_none_is_too_long(tokenizer, text, window):
    text = text.encode("utf-8", "replace").decode()
    windows = lay_windows(text, tokenizer, window)
    assert (windows[0].since, windows[-1].until) == (0, len(text))
    assert all(first.until == second.since for first, second in pairwise(windows))
    for laid in windows:
        assert laid.start <= laid.since <= laid.until <= laid.end
        assert len(laid.tokens) <= window - 2
    given_ = np.concatenate([w.tokens[(w.tokens >= w.since) & (w.tokens < w.until)] for w in windows])
    # A word that is cut in two can have more tokens than it had.
    assert window < 30 or len(given_) == len(tokenizer.encode(text, add_special_tokens=False).ids)


def test_windows_overlap_and_a_token_is_taken_where_it_lies_deeper(tokenizer):
    text = "word " * 400
    windows = lay_windows(text, tokenizer, 102)
    for first, second in pairwise(windows):
        shared = text[second.start : first.end].split()
        assert 20 <= len(shared) <= 30
        assert len(text[second.start : first.until].split()) == pytest.approx(len(shared) / 2, abs=1)


def test_a_piece_is_the_mean_of_its_tokens(tokenizer):
    embedder, text = Tokens(), "a b c d e f g h"
    (found,) = embed_late(embedder, [text], [[[Span(0, 3)], [Span(4, 9)], [Span(0, 1), Span(14, 15)]]])
    (rows,) = embedder.embed_tokens([text])
    expected = np.stack([rows[:2].mean(0), rows[2:5].mean(0), rows[[0, 7]].mean(0)])
    assert found == pytest.approx(expected / np.linalg.norm(expected, axis=1, keepdims=True), abs=1e-6)
    assert found.dtype == np.float32


def test_texts_share_calls_and_progress_is_told(monkeypatch):
    monkeypatch.setattr("kinsplit.embedding.late_chunking._BATCH", 4)
    embedder, steps = Tokens(), []
    texts = ["a b c", "d e f " * 20, "", "g"]
    whole = [[[Span(0, len(text))]] for text in texts]
    found = embed_late(embedder, texts, whole, lambda done, total: steps.append((done, total)))
    assert [vectors.shape for vectors in found] == [(1, 3)] * 4
    assert steps[-1] == (len(embedder.seen), len(embedder.seen))
    assert [done for done, _ in steps] == [4, len(embedder.seen)]


def test_a_piece_without_tokens_is_embedded_for_itself():
    embedder = Tokens()
    ((vector,),) = embed_late(embedder, ["a \x7f b"], [[[Span(2, 3)]]])
    assert np.array_equal(vector, embedder.embed(["\x7f"])[0])


def test_tokens_that_cannot_be_placed_are_an_error():
    embedder = Tokens()
    embedder.embed_tokens = lambda texts: [np.ones((1, 3), np.float32)]
    with pytest.raises(EmbeddingError, match="1 vectors for a window of 2 tokens"):
        embed_late(embedder, ["a b"], [[[Span(0, 3)]]])


def test_an_embedder_without_tokens_is_refused():
    with pytest.raises(InvalidParameterError, match="context: 'late' needs an embedder with vectors for tokens"):
        embed_late(HashEmbedder(), ["a"], [[[Span(0, 1)]]])


def test_a_tokenizer_that_is_not_there_is_one_clear_error():
    embedder = Tokens()
    del embedder.tokenizer
    with pytest.raises(EmbeddingError, match="can't be placed"):
        embed_late(embedder, ["a b"], [[[Span(0, 3)]]])


def test_a_models_tokenizer_is_found_whatever_the_model_runs_on():

    class Running(Tokens):
        name, model = f"st:{model_folder()}?backend=torch&device=cpu", str(model_folder())

    ((vector,),) = embed_late(Running(), ["a b"], [[[Span(0, 3)]]])
    ((same,),) = embed_late(Tokens(), ["a b"], [[[Span(0, 3)]]])
    assert np.array_equal(vector, same)


@pytest.fixture(scope="module")
def bundled():
    return create("bundled")


def test_a_text_that_is_one_piece_has_nearly_its_own_vector(bundled):
    ((vector,),) = embed_late(bundled, [BERLIN], [[[Span(0, len(BERLIN))]]])
    assert vector @ bundled.embed([BERLIN])[0] > 0.97


def test_a_piece_knows_what_was_named_before_it(bundled):
    (late,) = embed_late(bundled, [BERLIN], [[[CITY]]])
    query, alone = bundled.embed_query("Berlin"), bundled.embed([BERLIN[CITY.start :]])[0]
    assert late[0] @ query > alone @ query + 0.1


def test_the_bundled_model_never_reads_more_than_its_window(bundled, monkeypatch):
    text = "Antidisestablishmentarianism is a long word; it has many letters. " * 60
    seen, embed_tokens = [], bundled.embed_tokens
    monkeypatch.setattr(bundled, "embed_tokens", lambda texts: seen.extend(texts) or embed_tokens(texts))
    (vectors,) = embed_late(bundled, [text], [[[Span(0, 400)], [Span(len(text) - 400, len(text))]]])
    assert set(bundled.windows(seen)) == {1}
    assert len(seen) > 3
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
