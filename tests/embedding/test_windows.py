"""Windows of texts that are longer than a model can read."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.embedding.bundled import model_folder
from kinsplit.embedding.windows import CountedTokens, ModelTokens, mean_of_windows, split_texts
from kinsplit.errors import EmbeddingError
from kinsplit.tokenizers import resolve


def model_tokens():
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ModelTokens(tokenizer)


def letters(text: str) -> list[str]:
    """Have no offsets inside a word."""
    return re.findall(r"\S", text)


READERS = {"model": model_tokens(), "bundled": CountedTokens(resolve("bundled"))}
WORDS = st.sampled_from(
    ["the", "unbelievably", "antidisestablishmentarianism", "x", "café", "公园", "🤣", "...", "3.14"]
)
TEXTS = st.lists(WORDS | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=60).map(" ".join)

every_reader = pytest.mark.parametrize("name", READERS)


@pytest.mark.parametrize("name", [*READERS, "letters"])
@given(text=TEXTS, budget=st.integers(4, 40))
def test_slices_are_the_text_and_none_is_too_long(name, text, budget):
    tokens = READERS.get(name) or CountedTokens(resolve(letters))
    (slices,) = split_texts([text], tokens, budget)
    assert "".join(slices) == text
    assert all(count <= budget for count in tokens.count(slices))
    (count,) = tokens.count([text])
    assert (len(slices) == 1) == (count <= budget)


@every_reader
def test_slices_are_few_of_like_length_and_cut_between_words(name):
    text = "antidisestablishmentarianism matters " * 40
    (slices,) = split_texts([text], READERS[name], 100)
    lengths = READERS[name].count(slices)
    assert len(slices) == -(-sum(lengths) // 100)
    assert max(lengths) - min(lengths) <= 20
    assert all(part.startswith(("anti", "matters")) for part in slices)


@every_reader
def test_one_word_longer_than_a_slice_is_cut_inside(name):
    text = "ab1" * 30
    (slices,) = split_texts([text], READERS[name], 10)
    assert "".join(slices) == text
    assert len(slices) > 1


def test_words_end_where_the_tokenizer_of_a_model_says_so():
    (slices,) = split_texts(["state-of-the-art-" * 4], READERS["model"], 12)
    assert slices == ["state-of-the-art-state-of", "-the-art-state-of-the-", "art-state-of-the-art-"]


def test_whitespace_at_the_beginning_is_no_slice_of_its_own():
    (slices,) = split_texts(["\n\n    antidisestablishmentarianism"], READERS["bundled"], 4)
    assert slices[0] == "\n\n    antidisestab"


def test_a_character_that_no_slice_holds_is_an_error():
    from tokenizers import Tokenizer, models, pre_tokenizers

    byte_level = Tokenizer(
        models.BPE(vocab={char: n for n, char in enumerate(pre_tokenizers.ByteLevel.alphabet())}, merges=[])
    )
    byte_level.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert split_texts(["🤣a🤣b"], ModelTokens(byte_level), 4) == [["🤣", "a", "🤣", "b"]]
    assert split_texts(["🤣a🤣b"], ModelTokens(byte_level), 5) == [["🤣a", "🤣b"]]
    for tokens in (ModelTokens(byte_level), CountedTokens(resolve(lambda text: list(text) * 3))):
        with pytest.raises(EmbeddingError, match="2 tokens"):
            split_texts(["🤣a🤣b"], tokens, 2)


@every_reader
def test_no_texts_give_no_slices(name):
    assert split_texts([], READERS[name], 5) == []


def test_the_mean_has_length_one_and_weighs_windows_alike():
    vectors = np.array([[1, 0], [0, 1], [0, 1], [-1, 0], [1, 0]], dtype=np.float32)
    means = mean_of_windows(vectors, [2, 1, 2])
    assert means == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0, 1], [0, 0]]), abs=1e-6)
    assert mean_of_windows(np.zeros((0, 2), np.float32), []).shape == (0, 2)
