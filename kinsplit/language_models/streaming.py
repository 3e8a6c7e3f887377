"""Any language model's answer in pieces, without what the model only thinks."""

from __future__ import annotations

from contextlib import closing

from kinsplit.language_models.protocol import LanguageModel, Pieces, StreamingModel

_TAGS = {"<think>": "</think>", "<thinking>": "</thinking>"}


def stream(model: LanguageModel, prompt: str, max_tokens: int | None = None) -> Pieces:
    """Answer a prompt in pieces; the whole answer of a model that can't stream is one piece.

    Thoughts in `<think>` before the answer, which reasoning models write, are left out.

    Args:
        model: The model.
        prompt: The prompt.
        max_tokens: See `LanguageModel.complete`.

    Yields:
        Pieces, none empty.

    Returns:
        Whether the longest answer allowed cut it off, as far as the model tells.

    Raises:
        LanguageModelError: See `LanguageModel.complete`.
    """
    pieces = (
        model.stream(prompt, max_tokens) if isinstance(model, StreamingModel) else _whole(model, prompt, max_tokens)
    )
    with closing(pieces):
        return (yield from _without_thoughts(pieces))


def _whole(model: LanguageModel, prompt: str, max_tokens: int | None) -> Pieces:
    answer = model.complete(prompt, max_tokens=max_tokens)
    if answer:
        yield answer
    return False


def _without_thoughts(pieces: Pieces) -> Pieces:
    held, end, is_begun = "", None, False
    while True:
        try:
            piece = next(pieces)
        except StopIteration as ended:
            # What looked like the beginning of a tag and was none. Thoughts without an end are no answer.
            if held and end is None:
                yield held
            return bool(ended.value)
        if is_begun:
            yield piece
            continue
        held = (held + piece).lstrip()
        end = end or next((tag for opening, tag in _TAGS.items() if held.startswith(opening)), None)
        if end is not None and end in held:
            held, end = held.partition(end)[2].lstrip(), None
        if end is not None:
            held = held[-len(end) :]  # Enough to find an end that is cut; thoughts may be long.
        elif not any(opening.startswith(held) for opening in _TAGS):
            is_begun = True
            yield held
            held = ""
