"""Any language model's answer in pieces, without what the model only thinks."""

from __future__ import annotations

import re
from contextlib import closing

from kinsplit.language_models.http.errors import wrap_errors
from kinsplit.language_models.protocol import LanguageModel, Pieces, StreamingModel
from kinsplit.tokenizers import replace_surrogates

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}
_OPENING = re.compile(rf"\s*({'|'.join(_TAGS)})")
# Characters that no token has on average: an answer with more for each token that it may have, or a stream with more
# for each token of the window, comes from a model that goes round in circles and knows no limit.
_CHARACTERS = 16


def stream(model: LanguageModel, prompt: str, max_tokens: int | None = None) -> Pieces:
    """Answer a prompt in pieces; the whole answer of a model that can't stream is one piece.

    Thoughts in `<think>` before the answer, which reasoning models write, are left out. A character that comes in two
    halves is put together.

    Args:
        model: The model.
        prompt: The prompt.
        max_tokens: See `LanguageModel.complete`; a model that doesn't heed it is stopped some time after.

    Yields:
        Pieces, none empty.

    Returns:
        Whether the longest answer allowed cut it off, as far as that is known.

    Raises:
        LanguageModelError: See `LanguageModel.complete`.
    """
    pieces = (
        model.stream(prompt, max_tokens) if isinstance(model, StreamingModel) else _whole(model, prompt, max_tokens)
    )
    thoughts, halves = _Thoughts(), _Halves()
    # How much may still come, thoughts included, and how much may still be told.
    coming = _CHARACTERS * model.window
    telling = coming if max_tokens is None else _CHARACTERS * max_tokens
    with wrap_errors(model.name), closing(pieces):
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                if rest := thoughts.feed(halves.finish()) + thoughts.finish():
                    yield rest
                return bool(end.value)
            if coming < 0 or telling < 0:
                return True
            coming -= len(piece)
            if told := thoughts.feed(halves.feed(piece)):
                telling -= len(told)
                yield told


def _whole(model: LanguageModel, prompt: str, max_tokens: int | None) -> Pieces:
    answer = model.complete(prompt, max_tokens=max_tokens)
    if answer:
        yield answer
    return False


class _Halves:
    """Puts characters together of which a server sends the halves that UTF-16 has, one after the other."""

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
    """Leaves out thoughts in front of an answer, of which even the tags may be cut."""

    def __init__(self) -> None:
        self._held = ""
        self._end: str | None = None
        self._is_begun = False

    def feed(self, piece: str) -> str:
        """Return what is known to belong to the answer by now."""
        if self._is_begun:
            return piece
        text = self._held + piece
        at = self._behind_thoughts(text)
        if self._end is not None:
            # Enough to find an end that is cut; thoughts may be long.
            self._held = text[max(at, len(text) - len(self._end)) :]
            return ""
        self._held = text[at:].lstrip()
        if any(opening.startswith(self._held) for opening in _TAGS):
            return ""
        self._is_begun = True
        return self.finish()

    def finish(self) -> str:
        """Return what looked like the beginning of a tag and was none. Thoughts without an end are no answer."""
        held, self._held = self._held, ""
        return held if self._end is None else ""

    def _behind_thoughts(self, text: str) -> int:
        """Return where thoughts end that a text begins with, as far as they go."""
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
