"""Streams of answers from any language model, without the thoughts of reasoning models."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import TypeVar

from kinsplit.errors import LanguageModelError, ModelUnavailableError
from kinsplit.language_models.protocol import LanguageModel, Pieces, StreamingModel, wrap_errors
from kinsplit.spans import replace_surrogates

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}
_OPENING = re.compile(rf"\s*({'|'.join(_TAGS)})")
# More characters than a token has on average: an answer or a stream with more per allowed token comes from a model that
# repeats itself and ignores the limit.
_CHARACTERS = 16


def stream(model: LanguageModel, prompt: str, max_tokens: int | None = None) -> Pieces:
    """Answer a prompt in pieces; a model that can't stream yields its whole answer as one piece.

    Thoughts of reasoning models in `<think>` before the answer are left out. A character whose surrogates come in two
    pieces is joined.

    Args:
        model: The model.
        prompt: The prompt.
        max_tokens: See `LanguageModel.complete`; a model that ignores the limit is stopped some time after it.

    Yields:
        Pieces, none empty.

    Returns:
        Whether the answer was cut off at its maximum length, as far as that is known.

    Raises:
        LanguageModelError: See `LanguageModel.complete`.
    """
    pieces = (
        model.stream(prompt, max_tokens) if isinstance(model, StreamingModel) else _whole(model, prompt, max_tokens)
    )
    thoughts, halves = _Thoughts(), _Halves()
    # Characters that may still be received, including thoughts, and that may still be yielded.
    receivable = _CHARACTERS * model.window
    yieldable = receivable if max_tokens is None else _CHARACTERS * max_tokens
    with wrap_errors(model.name), closing(pieces):
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                if rest := thoughts.feed(halves.finish()) + thoughts.finish():
                    yield rest
                return bool(end.value)
            if receivable < 0 or yieldable < 0:
                return True
            receivable -= len(piece)
            if text := thoughts.feed(halves.feed(piece)):
                yieldable -= len(text)
                yield text


def _whole(model: LanguageModel, prompt: str, max_tokens: int | None) -> Pieces:
    if answer := model.complete(prompt, max_tokens=max_tokens):
        yield answer
    return False


class _Halves:
    """Joins characters whose UTF-16 surrogates a server sends one after the other."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        text, self._held = self._held + piece, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._held = text[:-1], text[-1]
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def finish(self) -> str:
        return replace_surrogates(self._held)


class _Thoughts:
    """Removes thoughts before an answer, whose tags may be split between pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._end: str | None = None
        self._is_begun = False

    def feed(self, piece: str) -> str:
        """Return the text that is known to belong to the answer."""
        if self._is_begun:
            return piece
        text = self._held + piece
        at = self._behind_thoughts(text)
        if self._end is not None:
            # Enough to find a closing tag that is split; thoughts may be long.
            self._held = text[max(at, len(text) - len(self._end)) :]
            return ""
        self._held = text[at:].lstrip()
        if any(opening.startswith(self._held) for opening in _TAGS):
            return ""
        self._is_begun = True
        return self.finish()

    def finish(self) -> str:
        """Return held text that turned out not to be a tag. Unclosed thoughts are not part of the answer."""
        held, self._held = self._held, ""
        return held if self._end is None else ""

    def _behind_thoughts(self, text: str) -> int:
        at = 0
        while True:
            if self._end is None:
                opening = _OPENING.match(text, at)
                if opening is None:
                    return at
                at, self._end = opening.end(), _TAGS[opening[1]]
            else:
                end = text.find(self._end, at)
                if end < 0:
                    return at
                at, self._end = end + len(self._end), None


Item = TypeVar("Item")
Result = TypeVar("Result")


def as_completed(
    work: Callable[[Item], Result], items: Sequence[Item], threads: int
) -> Generator[tuple[Item, Result], None, None]:
    """Yield each item with its result, in the order in which the results come.

    A caller who stops early, with Ctrl-C for example, does not wait for calls in progress: the threads are daemons, and
    have a copy of the caller's context. With one thread or one item, the calls run in the caller's own thread, each
    when its result is requested. What `work` raises is raised.
    """
    if min(threads, len(items)) <= 1:
        for item in items:
            yield item, work(item)
        return
    waiting: SimpleQueue[Item] = SimpleQueue()
    done: SimpleQueue[tuple[Item, Result] | BaseException] = SimpleQueue()
    stopped = threading.Event()
    for item in items:
        waiting.put(item)

    def run() -> None:
        while not stopped.is_set():
            try:
                item = waiting.get_nowait()
            except Empty:
                return
            try:
                done.put((item, work(item)))
            except BaseException as error:
                done.put(error)

    count = min(threads, len(items))
    pool = [threading.Thread(target=copy_context().run, args=(run,), daemon=True) for _ in range(count)]
    for thread in pool:
        thread.start()
    try:
        for _ in items:
            outcome = done.get()
            if isinstance(outcome, BaseException):
                raise outcome
            yield outcome
    finally:
        stopped.set()
    for thread in pool:
        thread.join()


#: Number of times a prompt is sent while its answers can't be used.
ATTEMPTS = 3
# Each failure in a row may have taken minutes.
_FAILURES = 3


class CircuitBreaker:
    """Stops the calls to a model that is unavailable or fails three times in a row; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        #: The failure after which the model is no longer called.
        self.failure: LanguageModelError | None = None

    def record(self, error: LanguageModelError | None) -> None:
        """Record the outcome of a call: a failure, or None for an answer."""
        with self._lock:
            self._count = 0 if error is None else self._count + 1
            if isinstance(error, ModelUnavailableError) or self._count >= _FAILURES:
                self.failure = error
