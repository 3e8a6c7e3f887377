"""How a strategy cuts a text that a stranger sent: in a process whose time and memory can be taken away."""

from __future__ import annotations

from kinsplit.chunk import Document
from kinsplit.errors import InvalidParameterError, MemoryLimitError, ResultSizeError, TimeLimitError
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut
from kinsplit.server import limits
from kinsplit.server.errors import RequestError
from kinsplit.server.models.strategies import Preview
from kinsplit.server.offsets import Places
from kinsplit.server.responses import chunk_of
from kinsplit.spans import Span
from kinsplit.support.workers import WorkerPool
from kinsplit.tokenizers import BUNDLED, resolve

_TEXT = "text"
_REMEDY = "Make chunks larger, overlaps smaller or the text shorter."


class Previewer:
    """Makes previews one at a time.

    Args:
        time_limit: Seconds that one may take.
        memory_limit: Bytes that one may take.
    """

    def __init__(self, time_limit: float, memory_limit: int = limits.MEMORY) -> None:
        self._pool = WorkerPool(1, time_limit=time_limit, memory_limit=memory_limit, prepare=_prepare)

    def preview(self, strategy: Strategy, text: str) -> bytes:
        """Return a preview as JSON.

        Args:
            strategy: How to cut; what it has to load is named, so that the process loads it itself.
            text: What to cut.

        Raises:
            InvalidParameterError: It makes too much of the text, or takes too much memory.
            RequestError: It takes too long (504).
            WorkerError: The process ended.
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
    """Return how a strategy cuts a text, a `Preview` as JSON.

    Raises:
        InvalidParameterError: It makes too much of the text, or asks a language model too often.
    """
    calls = strategy.cost([text]).calls
    if calls > limits.CALLS:
        rule = f"can't take more than {limits.CALLS} calls of the language model"
        raise InvalidParameterError("text", rule, f"{calls} calls", "Take a part of it.")
    expected = strategy.expected_chunks(text)
    # An estimate alone refuses only what is far too much.
    if expected > 2 * limits.CHUNKS:
        rule = f"must make at most {limits.CHUNKS} chunks"
        raise InvalidParameterError("parameters", rule, f"about {expected} chunks", _REMEDY)
    document = Document(_TEXT, text)
    levels = strategy.cut(document)
    _check_size([cut for level in levels for cut in level])
    places = Places([Span(0, len(text))], text)
    answer = Preview(
        strategy=strategy.name,
        parameters=strategy.described,
        chunks=[chunk_of(chunk, places) for chunk in strategy.assemble(document, levels)],
    )
    return answer.model_dump_json().encode()


def _prepare() -> None:
    resolve(BUNDLED)


def _check_size(cuts: list[Cut]) -> None:
    """Make sure that the answer stays small: with a stride of 1 a page of text makes a book of chunks."""
    characters = sum(end - start for cut in cuts for start, end in cut.spans)
    if len(cuts) > limits.CHUNKS or characters > limits.CHARACTERS:
        rule = f"must make at most {limits.CHUNKS} chunks with {limits.CHARACTERS} characters together"
        made = f"{len(cuts)} chunks, {characters} characters"
        raise InvalidParameterError("parameters", rule, made, _REMEDY)
