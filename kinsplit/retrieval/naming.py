"""Questions that name their document: the words that name it count for the document, and no longer inside it.

"In Acme's merger agreement, what is the closing condition?" is about closing conditions. Inside that agreement, "Acme",
"merger" and "agreement" find the preamble and the signatures.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding.protocol import SparseVector

# Constants of a study on six labelled sets; see docs/kin-scoring.md.
#: Weights of a document's term score, as a share of the best one, and of its best chunk.
_TERMS, _BEST_CHUNK = 5.0, 0.6
#: Least share of the likelihood for a document to be the one that a question means.
LEAST = 0.3
#: Most documents in which a word that names one may occur.
RARE = 20
#: Number of chunks at the top of the term ranking, among which a first chunk with the names is.
FIRST = 3
# Least share of the rare words that a first chunk has if it names its document, and least number of further words.
_SHARE, _FURTHER = 0.6, 3


@dataclass(frozen=True, slots=True, eq=False)
class Naming:
    """The document that a question names, and the question without what names it.

    Attributes:
        source_id: Id of the document.
        terms: The question's terms without those that name the document.
        dense: The question's vector, shape (dimension,); without what it shares with the document's first chunk if the
            names stand there.
    """

    source_id: str
    terms: SparseVector
    dense: NDArray[np.float32]


def likelihoods(documents: Mapping[str, float], best: Mapping[str, float], lowest: float) -> dict[str, float]:
    """Return the log-likelihood, up to a constant, that a question means a document, by source id.

    Args:
        documents: Term scores of whole documents.
        best: Best own score of each document's chunks.
        lowest: Lowest own score of any chunk, for documents without one.
    """
    highest = max(documents.values(), default=0.0) or 1.0
    return {
        source_id: _TERMS * documents.get(source_id, 0.0) / highest + _BEST_CHUNK * best.get(source_id, lowest)
        for source_id in {**documents, **best}
    }


def likely(likelihood: Mapping[str, float]) -> tuple[str, float]:
    """Return the most likely document and its share of the likelihood."""
    source_id = max(sorted(likelihood), key=likelihood.__getitem__)
    values = np.array(list(likelihood.values()))
    return source_id, float(1 / np.exp(values - likelihood[source_id]).sum())


def without_name(terms: SparseVector, words: Collection[int], name: Collection[int]) -> SparseVector | None:
    """Return a question's terms without those of a name, or None if no word would be left.

    Args:
        terms: The question's terms.
        words: Those that are words.
        name: Terms of the name.
    """
    if all(word in name for word in words):
        return None
    rest = [(term, value) for term, value in zip(terms.indices, terms.values, strict=True) if term not in name]
    return SparseVector(tuple(term for term, _ in rest), tuple(value for _, value in rest))


def names_in_first_chunk(
    words: Collection[int], first: Collection[int], documents: Mapping[int, Collection[str]], source_id: str, rare: int
) -> bool:
    """Return whether the rare words of a question that a document has stand in its first chunk, and others are left.

    Args:
        words: Words of the question.
        first: Terms of the first chunk and of the document's name.
        documents: Ids of documents by each word that they have, at least `rare` + 1 if there are so many.
        source_id: Id of the document.
        rare: Most documents that have a rare word.
    """
    own = [word for word in words if len(documents[word]) <= rare and source_id in documents[word]]
    common = [word for word in words if len(documents[word]) > rare]
    further = sum(word not in first for word in (*own, *common))
    return bool(own) and further >= _FURTHER and sum(word in first for word in own) >= _SHARE * len(own)
