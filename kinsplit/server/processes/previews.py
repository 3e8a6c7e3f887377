"""Previews of strategies on untrusted texts, in a process with limited time and memory."""

from __future__ import annotations

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, MemoryLimitError, ResultSizeError, TimeLimitError, require
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut
from kinsplit.server import limits
from kinsplit.server.errors import RequestError
from kinsplit.server.models import Preview, SpanLocator, to_chunk_text
from kinsplit.spans import Span
from kinsplit.support.workers import WorkerPool
from kinsplit.tokenizers import BUNDLED, resolve

_TEXT = "text"
_REMEDY = "Use larger chunks, smaller overlaps or a shorter text."


class Previewer:
    """Makes previews one at a time."""

    def __init__(self, time_limit: float, memory_limit: int = limits.MEMORY) -> None:
        self._pool = WorkerPool(1, time_limit=time_limit, memory_limit=memory_limit, prepare=_prepare)

    def preview(self, strategy: Strategy, text: str) -> bytes:
        """Return a preview as JSON; the strategy names its resources, so the process loads them itself.

        Raises:
            InvalidParameterError: The strategy makes too many chunks, or takes too much memory.
            RequestError: It takes too long (504).
            WorkerError: The process died.
        """
        try:
            return self._pool.call(preview, strategy, text)
        except TimeLimitError as error:
            raise RequestError(504, str(error), _REMEDY) from None
        except (MemoryLimitError, ResultSizeError) as error:
            rule = f"can't be previewed, since it {error}"
            raise InvalidParameterError("parameters", rule, strategy.name, _REMEDY) from None

    def close(self) -> None:
        """End the process."""
        self._pool.close()


def preview(strategy: Strategy, text: str) -> bytes:
    """Return the chunks that a strategy makes of a text, a `Preview` as JSON.

    Raises:
        InvalidParameterError: The strategy makes too many chunks, or needs too many language model calls.
    """
    calls = strategy.cost([text]).calls
    rule = f"must need at most {limits.CALLS} calls of the language model"
    require(calls <= limits.CALLS, "text", rule, f"{calls} calls", "Use a part of the text.")
    expected = strategy.expected_chunks(text)
    # Only an estimate, so it has to be far above the limit.
    rule = f"must make at most {limits.CHUNKS} chunks"
    require(expected <= 2 * limits.CHUNKS, "parameters", rule, f"about {expected} chunks", _REMEDY)
    document = Document(_TEXT, text)
    levels = strategy.cut(document)
    _check_size([cut for level in levels for cut in level])
    locator = SpanLocator([Span(0, len(text))], text)
    result = Preview(
        strategy=strategy.name,
        parameters=strategy.described,
        chunks=[to_chunk_text(chunk, locator) for chunk in strategy.assemble(document, levels)],
    )
    return result.model_dump_json().encode()


def _prepare() -> None:
    resolve(BUNDLED)


def _check_size(cuts: list[Cut]) -> None:
    """Reject results that are far larger than the text, as with a stride of 1."""
    characters = sum(end - start for cut in cuts for start, end in cut.spans)
    rule = f"must make at most {limits.CHUNKS} chunks of {limits.CHARACTERS} characters in total"
    made = f"{len(cuts)} chunks, {characters} characters"
    require(len(cuts) <= limits.CHUNKS and characters <= limits.CHARACTERS, "parameters", rule, made, _REMEDY)
