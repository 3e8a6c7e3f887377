"""Filters of generated questions, with the reason for each rejection.

The thresholds follow Chroma's report "Evaluating Chunking Strategies for Retrieval" (Smith and Troynikov, 2024), whose
code drops a question if its cosine with its least similar excerpt is below 0.36, or with an earlier question above
0.78, by `text-embedding-3-large`. These numbers don't suit other models: by kinsplit's own they would drop 11 % and
14 % of the 472 questions that Chroma kept. No two of those have a cosine of 0.9; above 0.93, questions are paraphrases.
A high threshold for excerpts favours questions that an embedding model finds easily, so the default drops only
questions unrelated to their excerpt: more than half of all random pairs lie below 0.1, and less than 1 % of Chroma's
questions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kinsplit.embedding import Embedder
from kinsplit.errors import InvalidParameterError

#: Maximum number of excerpts of a question, as in Chroma's code.
EXCERPTS = 5

_BYTES, _CHARACTERS, _QUESTION = 20, 1000, 300
_TEXT = "text|passage|excerpt|section|snippet|paragraph|document"
_REFERS = re.compile(
    rf"\b(?:(?:the|this|these|given|above|following|provided)\s+(?:{_TEXT})|(?:this|given|above|provided)\s+context)s?\b",
    re.IGNORECASE,
)


@dataclass
class Filters:
    """A filter of questions that remembers those that passed.

    Attributes:
        embedder: Embedder that compares questions with their excerpts and with each other.
        similarity: Minimum cosine between a question and each of its excerpts.
        duplicates: Cosine to an earlier question from which a question is a duplicate.
    """

    embedder: Embedder
    similarity: float = 0.1
    duplicates: float = 0.9
    _kept: dict[str, NDArray[np.float32]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for name in ("similarity", "duplicates"):
            value = getattr(self, name)
            if not -1 <= value <= 1:
                raise InvalidParameterError(name, "must be a cosine, from -1 to 1", value, "Give for example 0.5.")

    def reason(self, question: str, excerpts: list[str]) -> str | None:
        """Return the reason for dropping a question, or None after adding it to those that passed.

        Args:
            question: The question.
            excerpts: Excerpts that answer it.
        """
        words = " ".join(question.casefold().split())
        vector = self.embedder.embed_query(question)
        if float((self.embedder.embed(excerpts) @ vector).min()) < self.similarity:
            return "unlike its excerpt"
        alike = (float(earlier @ vector) >= self.duplicates for earlier in self._kept.values())
        if words in self._kept or any(alike):
            return "like an earlier question"
        self._kept[words] = vector
        return None


def reason_of_form(question: str, excerpts: list[str]) -> str | None:
    """Return the reason for dropping a question for its form alone, or None.

    Args:
        question: The question.
        excerpts: Excerpts that are supposed to answer it.
    """
    if not question.strip() or len(question) > _QUESTION:
        return f"no question of at most {_QUESTION} characters"
    if _REFERS.search(question):
        return "refers to the text"
    if not 1 <= len(excerpts) <= EXCERPTS:
        return f"not 1 to {EXCERPTS} excerpts"
    # In bytes, since scripts with longer encodings convey more per character.
    if any(len(excerpt.strip().encode("utf-8", "replace")) < _BYTES for excerpt in excerpts):
        return "excerpt too short"
    if any(len(excerpt) > _CHARACTERS for excerpt in excerpts):
        return "excerpt too long"
    return None
