"""`show`: chunks and passages as they look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kinsplit.chunk import Chunk, Document, chunk_card
from kinsplit.display import inline
from kinsplit.errors import InvalidParameterError
from kinsplit.markup.html import output
from kinsplit.markup.source import kind_of
from kinsplit.retrieval import Passage
from kinsplit.retrieval.passage import passage_card
from kinsplit.view import document

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

# Width of the view as a string, in characters.
_WIDTH = 100


class View:
    """A view of chunks or passages: HTML in a notebook, colours in a terminal with `rich.print`, text elsewhere.

    Args:
        html: Function that returns the HTML.
        lines: Function that returns the lines for a console of a width.
    """

    def __init__(self, html: Callable[[], str], lines: Callable[[Console, int], Iterable[Text]]) -> None:
        self._html, self._lines = html, lines

    def _repr_html_(self) -> str:
        return self._html()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield from self._lines(console, options.max_width)

    def __str__(self) -> str:
        from io import StringIO

        from rich.console import Console

        console = Console(file=StringIO(), width=_WIDTH, color_system=None, highlight=False, markup=False, emoji=False)
        lines = "\n".join(line.plain for text in self._lines(console, _WIDTH) for line in text.split("\n"))
        return "\n".join(line.rstrip() for line in lines.split("\n"))

    __repr__ = __str__


def show(items: Iterable[Chunk] | Iterable[Passage] | Chunk | Passage, text: str | Document | None = None) -> View:
    """Show chunks or passages as they look, in a notebook or a terminal.

    Args:
        items: Chunks, of all levels if there are several, or passages.
        text: The document that was split, to see the chunks in it: their boundaries, overlap and parents. None shows
            each chunk by itself.

    Returns:
        A view that notebooks show as HTML, without scripts or pictures; `rich.print` writes it in colours, and `print`
        as plain text.

    Raises:
        InvalidParameterError: The items are neither chunks nor passages; with a text, passages, chunks of several
            documents, or chunks of another text.

    Example:
        >>> print(show(split("Owls hunt at night. Larks sing at dawn.", chunk_size=6, chunk_overlap=0)))
        [1/2] [0:19]
        Owls hunt at night.
        [2/2] [20:39]
        Larks sing at dawn.
    """
    shown = [items] if isinstance(items, Chunk | Passage) else list(items)
    chunks = [item for item in shown if isinstance(item, Chunk)]
    passages = [item for item in shown if isinstance(item, Passage)]
    if max(len(chunks), len(passages)) < len(shown):
        other = next((item for item in shown if not isinstance(item, Chunk | Passage)), shown[0])
        raise InvalidParameterError(
            "items", "must be chunks or passages, not both", type(other).__name__, "Show one kind at a time."
        )
    if text is None:
        if passages:
            return View(lambda: _passages_html(passages), lambda console, width: _passages(passages, console, width))
        return View(lambda: output(*map(chunk_card, chunks)), lambda *_: _chunks(chunks))
    if passages:
        rule = "can be shown with chunks only"
        raise InvalidParameterError("text", rule, "passages", "Leave it out, or give the chunks of a passage.")
    whole = text.text if isinstance(text, Document) else text
    for _ in document.pieces(chunks, whole):  # Errors are raised here, and not when the view is shown.
        break
    return View(lambda: document.to_html(chunks, whole), lambda *_: [document.to_text(chunks, whole)])


def _passages_html(passages: list[Passage]) -> str:
    return output(*(passage_card(passage, rank) for rank, passage in enumerate(passages, 1)))


def _passages(passages: list[Passage], console: Console, width: int) -> Iterator[Any]:
    from rich.text import Text

    from kinsplit.markup.terminal import rendered

    for rank, passage in enumerate(passages, 1):
        yield Text.assemble((f"[{rank}] ", "bold cyan"), inline(f"{passage.citation} (score {passage.score:.4f})"))
        kind = kind_of(passage.source_id, passage.metadata)
        context = passage.chunks[0].context
        yield from rendered(console, width, passage.text, kind, context, passage.source_id)


def _chunks(chunks: list[Chunk]) -> Iterator[Any]:
    from rich.text import Text

    from kinsplit.display import visible

    for chunk in chunks:
        place = " + ".join(f"[{start}:{end}]" for start, end in chunk.spans)
        yield Text.assemble((f"[{chunk.index + 1}/{chunk.total}] ", "bold cyan"), place)
        yield Text(visible(chunk.text))
