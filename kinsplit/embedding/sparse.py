"""BM25 as sparse vectors of term weights, which the store multiplies by the IDF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Self

from kinsplit.embedding.protocol import SparseVector, check_texts, replace_surrogates
from kinsplit.errors import InvalidParameterError
from kinsplit.support.extras import needs

_WORD = re.compile(r"\w+")
_JOINT = re.compile(r"[a-z][A-Z]")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def with_parts(text: str) -> str:
    """Return a text followed by the parts of its names in camel case, such as `is` and `Subset` of `isSubset`.

    Names in snake case need no such parts, since every tokenizer splits them at the underscore.
    """
    # A single pattern for both would try a match at every character of a long word.
    names = [word for word in _WORD.findall(text) if _JOINT.search(word)] if _JOINT.search(text) else []
    parts = [part for name in names for part in _PART.findall(name) if len(part) > 1]
    return f"{text}\n{' '.join(parts)}" if parts else text


#: Language without stop words and stemmer.
ANY = "any"
#: Languages written without spaces, whose words come from a segmenter.
_UNSPACED = ("chinese", "japanese")

#: Mark in fingerprints of embedders that count the parts of names (see `with_parts`).
_PARTS = "parts"


class Bm25Embedder:
    """BM25 with stop words and a stemmer, in Qdrant Edge's implementation.

    Names in camel case count as a whole and by their parts. A run without whitespace or punctuation is one term,
    whatever its length, such as a file of hexadecimal digits; Chinese and Japanese are segmented if chosen.

    Args:
        language: English name of a language, such as "german", for its stop words and its stemmer. None or "any" uses
            words unchanged, for mixed or other languages.
        average_length: Expected length of a document in terms, without stop words. Qdrant's default of 256 serves
            as long as all documents are about equally long; another value scales every score by the same factor.

    Raises:
        InvalidParameterError: An unknown language, or a length that is not positive.
    """

    def __init__(self, language: str | None = "english", average_length: float = 256.0) -> None:
        with needs("search"):
            import qdrant_edge as qe

        if language == ANY:
            language = None
        known = sorted(name.lower() for name in vars(qe.Language) if name[0].isupper())
        if language is not None and language not in known:
            remedy = f"Take {ANY!r} for words as they are, or one of: {', '.join(known)}."
            raise InvalidParameterError("language", "must name a known language or be None", language, remedy)
        if not average_length > 0:
            remedy = "Leave it out for the default of 256."
            raise InvalidParameterError("average_length", "must be positive", average_length, remedy)
        self.language = language
        self.average_length = float(average_length)
        segmented = language is None or language in _UNSPACED
        self._model = qe.Bm25(
            qe.Bm25Config(
                avg_len=self.average_length,
                tokenizer=qe.TokenizerType.Multilingual if segmented else qe.TokenizerType.Word,
                language=language,
                stopwords=qe.StopwordsSet() if language is None else None,
                stemmer=qe.DisabledStemmer() if language is None else None,
            )
        )

    @classmethod
    def of(cls, fingerprint: str) -> Self:
        """Return the embedder with a fingerprint, as recorded in a store's schema.

        Raises:
            InvalidParameterError: It is not a fingerprint of BM25.
        """
        kind, _, settings = fingerprint.partition(":")
        language, _, rest = settings.partition(":")
        length, _, parts = rest.partition(":")
        with suppress(ValueError):
            if kind == "bm25" and parts == _PARTS:
                return cls(language, float(length))
        remedy = "Ask the collection for dense vectors only, or open it with the version of kinsplit that made it."
        raise InvalidParameterError("sparse", "must be BM25 of a known language", fingerprint, remedy)

    @property
    def fingerprint(self) -> str:
        """Language and average length, which determine every vector."""
        return f"bm25:{self.language or ANY}:{self.average_length:g}:{_PARTS}"

    def embed(self, texts: Sequence[str]) -> list[SparseVector]:
        """Return the term weights of each text; a text without terms gets an empty vector."""
        return [_frozen(self._model.embed_document(with_parts(text))) for text in check_texts(texts)]

    def embed_query(self, text: str) -> SparseVector:
        """Return weight 1 for each term of a query."""
        return _frozen(self._model.embed_query(with_parts(replace_surrogates(text))))


def _frozen(vector: object) -> SparseVector:
    return SparseVector(tuple(vector.indices), tuple(vector.values))  # type: ignore[attr-defined]
