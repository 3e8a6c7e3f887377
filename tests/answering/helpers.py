"""Sources and models for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain

from kinsplit.answering.values import Source
from kinsplit.chunk import Beside, Chunk
from kinsplit.errors import LanguageModelError
from kinsplit.identity import chunk_id, content_hash
from kinsplit.language_models import Pieces
from kinsplit.spans import Span


def source(number: int, text: str, *, file: str = "course/a.md", start: int = 0, section: str = "") -> Source:
    """Return a source of one chunk."""
    span = Span(start, start + len(text))
    id_ = chunk_id(file, "f", 0, number)
    beside = Beside((section,) if section else ())
    chunk = Chunk(id_, file, number - 1, 9, 0, (span,), text, content_hash(text), beside=beside)
    return Source(number, chunk, (chunk,), (span,), text, None, 1.0 / number, file, beside)


class Scripted:
    """A model with given answers, which records its prompts."""

    name, identity = "scripted", None

    def __init__(self, answer: str | Sequence[str] | Callable[[str], Iterable[str]], window: int = 8192) -> None:
        self.answer, self.window = answer, window
        self.prompts: list[str] = []
        self.fails_at: int | None = None
        self.is_cut = self.is_closed = False

    def complete(self, prompt: str, schema: object = None, max_tokens: int | None = None) -> str:
        return "".join(self.stream(prompt))

    def stream(self, prompt: str, max_tokens: int | None = None) -> Pieces:
        self.prompts.append(prompt)
        self.max_tokens = max_tokens
        pieces = self.answer(prompt) if callable(self.answer) else self.answer
        try:
            for number, piece in enumerate(chain(pieces, [""])):
                if number == self.fails_at:
                    raise LanguageModelError("scripted: the connection broke.")
                if piece:
                    yield piece
        finally:
            self.is_closed = True
        return self.is_cut
