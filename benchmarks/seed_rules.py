"""Rules of the systems that kinsplit replaces, by their descriptions, to explain differences in figures."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from punkt import sent_tokenize

from kinsplit.parsers.units.sentences import sentences as own_sentences

# White space by the definition of Postgres, which counted the published words: a no-break space is none.
_SPACE = re.compile(r"\s+", re.ASCII)


def counted_words(text: str) -> int:
    """Count words as the database of the 10-K search did."""
    return len(_SPACE.split(text.strip()))


def punkt_sentences(text: str) -> list[str]:
    """Return the sentences by NLTK, which end only at punctuation."""
    return list(sent_tokenize(text))


def kinsplit_sentences(text: str) -> list[str]:
    """Return the sentences by kinsplit, which also end at headings, list items and blank lines."""
    units = own_sentences(text, "en", join_speech=False)
    return [text[start:end] for start, end in zip(units.starts.tolist(), units.ends.tolist(), strict=True)]


def packed(sentences: Sequence[str], budget: int = 500, overlap: int = 2) -> list[str]:
    """Pack whole sentences up to a budget of words, repeating the last ones; a longer sentence stays whole.

    At the end of the text, the overlap makes additional chunks.
    """
    words = [len(sentence.split()) for sentence in sentences]
    chunks, first = [], 0
    while first < len(sentences):
        stop = first + 1
        while stop < len(sentences) and sum(words[first : stop + 1]) <= budget:
            stop += 1
        chunks.append(" ".join(sentences[first:stop]))
        first = len(sentences) if first + 1 >= len(sentences) else max(first + 1, stop - overlap)
    return chunks


def cut_where_unlike(
    sentences: Sequence[str],
    vectors: NDArray[np.float32],
    threshold: float,
    *,
    budget: int | None = None,
    least: int = 1,
    most: int | None = None,
) -> list[str]:
    """Cut before each sentence whose cosine to the previous one is below a threshold.

    Args:
        sentences: The sentences.
        vectors: Unit vectors of the sentences, float32[n, d].
        threshold: Minimum cosine inside a chunk.
        budget: Maximum number of words of a chunk of several sentences.
        least: Minimum number of sentences of a chunk before a cut by threshold.
        most: Number of sentences at which a chunk is always cut.
    """
    similar = np.einsum("ij,ij->i", vectors[:-1], vectors[1:])
    chunks: list[list[str]] = []
    words = 0
    for number, sentence in enumerate(sentences):
        own = len(sentence.split())
        unlike = number > 0 and similar[number - 1] < threshold and len(chunks[-1]) >= least
        long = bool(chunks) and ((budget is not None and words + own > budget) or len(chunks[-1]) == most)
        if not chunks or unlike or long:
            chunks.append([])
            words = 0
        chunks[-1].append(sentence)
        words += own
    return [" ".join(chunk) for chunk in chunks]
