import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.embedding import create
from kinsplit.embedding.hashing import HashEmbedder
from kinsplit.errors import InvalidParameterError


@given(st.lists(st.text(), max_size=6))
def test_every_text_gets_a_vector_of_length_one(texts):
    vectors = HashEmbedder().embed(texts)
    assert (vectors.shape, vectors.dtype) == ((len(texts), 64), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(texts)), abs=1e-5)


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_the_batch_does_not_matter(texts):
    embedder = HashEmbedder(window=2)
    alone = [embedder.embed_query(text) for text in texts]
    assert np.array_equal(embedder.embed(texts), alone)


def test_texts_that_share_words_are_closer():
    fox, foxes, other = HashEmbedder(256).embed(
        ["the quick brown fox jumps", "a quick brown fox sleeps", "databases store rows on disk"]
    )
    assert fox @ foxes > 0.3 > abs(fox @ other)


def test_word_order_counts():
    one, two = HashEmbedder().embed(["dog bites man", "man bites dog"])
    assert one @ two < 0.99


def test_a_text_longer_than_the_window_is_the_mean_of_its_windows():
    embedder = HashEmbedder(window=3)
    parts = embedder.embed(["a b c", "d e f", "g"])
    mean = parts.sum(axis=0) / np.linalg.norm(parts.sum(axis=0))
    assert embedder.windows(["a b c d e f g", "a b c", ""]) == [3, 1, 1]
    assert embedder.embed(["a b c d e f g"])[0] == pytest.approx(mean, abs=1e-6)


def test_equal_in_every_process():
    code = "from kinsplit.embedding import create; print(create('hash').embed_query('Grüße, world').tobytes().hex())"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**env(), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {HashEmbedder().embed_query("Grüße, world").tobytes().hex() + "\n"}


def env():
    import os

    return dict(os.environ)


def test_one_string_instead_of_a_list_is_refused():
    with pytest.raises(InvalidParameterError, match="list"):
        HashEmbedder().embed("text")


@pytest.mark.parametrize("options", [{"dimension": 0}, {"window": 0}])
def test_sizes_must_be_positive(options):
    with pytest.raises(InvalidParameterError, match=next(iter(options))):
        HashEmbedder(**options)


def test_a_dimension_that_no_store_takes_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="dimension: must be 1 to 65535"):
        create("hash:99999999999")
