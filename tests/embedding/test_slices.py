import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinsplit.embedding.windows import slice_texts
from kinsplit.errors import EmbeddingError
from kinsplit.tokenizers import resolve

WORDS = st.sampled_from(
    ["the", "unbelievably", "antidisestablishmentarianism", "x", "café", "公园", "🤣", "...", "3.14"]
)
TEXTS = st.lists(WORDS | st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=60).map(" ".join)


def by_letters(text: str) -> list[str]:
    """Has no places inside a word."""
    return re.findall(r"\S", text)


@pytest.mark.parametrize("spec", ["bundled", by_letters], ids=["bundled", "letters"])
@given(text=TEXTS, budget=st.integers(4, 40))
def test_slices_are_the_text_and_none_is_too_long(spec, text, budget):
    tokenizer = resolve(spec)
    (slices,) = slice_texts([text], tokenizer, budget)
    assert "".join(slices) == text
    assert all(count <= budget for count in tokenizer.count(slices))
    assert (len(slices) == 1) == (tokenizer.count([text])[0] <= budget)


def test_slices_are_of_like_length_as_few_as_can_be_and_cut_between_words():
    tokenizer = resolve("bundled")
    text = "antidisestablishmentarianism matters " * 40
    (slices,) = slice_texts([text], tokenizer, 100)
    lengths = tokenizer.count(slices)
    assert len(slices) == -(-sum(lengths) // 100)
    assert max(lengths) - min(lengths) <= 20
    assert all(part.startswith(("anti", "matters")) for part in slices)


def test_a_character_that_no_slice_holds_is_an_error():
    with pytest.raises(EmbeddingError, match="2 tokens"):
        slice_texts(["ab"], resolve(lambda text: list(text) * 3), 2)


def test_no_texts_give_no_slices():
    assert slice_texts([], resolve("bundled"), 5) == []
