"""`show`: chunks and passages as they look."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from kinsplit.chunk import DOCUMENT, Chunk, Document, chunk_card
from kinsplit.errors import InvalidParameterError, inline, require, visible
from kinsplit.markup.html import escaped, output
from kinsplit.markup.source import kind_of
from kinsplit.retrieval import Passage
from kinsplit.retrieval.passage import passage_card

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
        rule = "must all be chunks, or all passages"
        raise InvalidParameterError("items", rule, type(other).__name__, "Show one kind at a time; split a text first.")
    if text is None:
        if passages:
            return View(
                lambda: output(*map(passage_card, passages, count(1))),
                lambda console, width: _passages(passages, console, width),
            )
        return View(lambda: output(*map(chunk_card, chunks)), lambda *_: _chunks(chunks))
    rule = "can be shown with chunks only"
    require(not passages, "text", rule, "passages", "Leave it out, or give the chunks of a passage.")
    whole = text.text if isinstance(text, Document) else text
    for _ in pieces(chunks, whole):  # Errors are raised here, and not when the view is shown.
        break
    return View(lambda: to_html(chunks, whole), lambda *_: [to_text(chunks, whole)])


def _passages(passages: list[Passage], console: Console, width: int) -> Iterator[Any]:
    from rich.text import Text

    from kinsplit.markup.terminal import rendered

    for rank, passage in enumerate(passages, 1):
        yield Text.assemble((f"[{rank}] ", "bold cyan"), inline(f"{passage.citation} (score {passage.score:.4f})"))
        kind = kind_of(passage.source_id, passage.metadata)
        yield from rendered(console, width, passage.text, kind, passage.beside.header, passage.source_id)


def _chunks(chunks: list[Chunk]) -> Iterator[Any]:
    from rich.text import Text

    for chunk in chunks:
        place = " + ".join(f"[{start}:{end}]" for start, end in chunk.spans)
        yield Text.assemble((f"[{chunk.index + 1}/{chunk.total}] ", "bold cyan"), place)
        yield Text(visible(chunk.text))


_COLORS = ("#3b82f6", "#f59e0b", "#10b981", "#ec4899")
_TERMINAL = ("blue", "yellow", "green", "magenta")
_STYLE = """
.kinsplit .text { white-space: pre-wrap; border-left: 3px solid #8886; padding: 2px 0 2px 8px; margin-bottom: 8px; }
.kinsplit .no { font-size: 11px; padding: 0 4px; margin-right: 2px; border: 1px solid #8888; border-radius: 3px; }
.kinsplit .overlap { text-decoration: underline dotted 2px; text-underline-offset: 3px; }
.kinsplit .lost { opacity: .6; }
""" + "".join(f".kinsplit .k{number} {{ background: {color}38; }}\n" for number, color in enumerate(_COLORS))


class ViewPiece(NamedTuple):
    """A piece of a document between two boundaries."""

    text: str
    parents: tuple[Chunk, ...]
    first: tuple[Chunk, ...]
    leaves: tuple[Chunk, ...]


def pieces(chunks: Sequence[Chunk], text: str) -> Iterator[ViewPiece]:
    """Yield the pieces of a document in order; InvalidParameterError if the chunks are of others, or another text."""
    placed = [chunk for chunk in chunks if chunk.level != DOCUMENT]
    _check(placed, text)
    lowest = min((chunk.level for chunk in placed), default=0)
    above: defaultdict[int, list[Chunk]] = defaultdict(list)
    begun: defaultdict[int, list[tuple[int, Chunk]]] = defaultdict(list)
    cuts = {0, len(text)}
    for chunk in placed:
        if chunk.level > lowest:
            above[chunk.start].append(chunk)
            cuts.add(chunk.start)
            continue
        for start, end in chunk.spans:
            begun[start].append((end, chunk))
            cuts |= {start, end}
    around: list[tuple[int, Chunk]] = []
    for start, end in pairwise(sorted(cuts)):
        parents = sorted(above[start], key=lambda chunk: -chunk.level)
        around = [own for own in around if own[0] > start] + begun[start]
        first, leaves = ([chunk for _, chunk in own] for own in (begun[start], around))
        yield ViewPiece(text[start:end], tuple(parents), tuple(first), tuple(leaves))


def _check(chunks: Sequence[Chunk], text: str) -> None:
    sources = sorted({chunk.source_id for chunk in chunks})
    if len(sources) > 1:
        named = ", ".join(sources[:3])
        raise InvalidParameterError("chunks", "must be of one document", named, "Show the documents one by one.")
    for chunk in chunks:
        if len(chunk.spans) == 1 and text[chunk.start : chunk.end] != chunk.text:
            rule = f"must be the text that was split; chunk {chunk.index} is not in it from {chunk.start}"
            shown = text[:40] + "…" if len(text) > 40 else text
            raise InvalidParameterError("text", rule, shown, "Give the whole document, unchanged.")


def to_html(chunks: Sequence[Chunk], text: str) -> str:
    """Return the drawing as the output of a notebook's cell; a chunk's number tells its kin when pointed at."""
    parts: list[str] = []
    flow: list[str] = []
    indent = 0

    def end_flow() -> None:
        if flow:
            parts.append(f'<div class="text" dir="auto" style="margin-left:{indent}px">{"".join(flow)}</div>')
            flow.clear()

    highest = max((chunk.level for chunk in chunks if chunk.level != DOCUMENT), default=0)
    for piece in pieces(chunks, text):
        if piece.parents:
            end_flow()
        for parent in piece.parents:
            indent = 12 * (highest - parent.level)
            head = f'<p class="head" style="margin-left:{indent}px" title="{escaped(_kin(parent))}">'
            parts.append(f"{head}{escaped(_parent_line(parent))}</p>")
        flow += [f'<b class="no" title="{escaped(_kin(chunk))}">{chunk.index + 1}</b>' for chunk in piece.first]
        flow.append(_to_span(piece))
    end_flow()
    return output(f'<p class="facts">{escaped(_summary(chunks))}</p>', *parts, style=_STYLE)


def _to_span(piece: ViewPiece) -> str:
    if not piece.leaves:
        return escaped(piece.text) if piece.text.isspace() else f'<span class="lost">{escaped(piece.text)}</span>'
    overlap = " overlap" if len(piece.leaves) > 1 else ""
    return f'<span class="k{piece.leaves[-1].index % len(_COLORS)}{overlap}">{escaped(piece.text)}</span>'


def to_text(chunks: Sequence[Chunk], text: str) -> Text:
    """Return the drawing for a terminal: each chunk on lines of its own, its overlap between « and »."""
    from rich.text import Text

    drawn = Text.assemble(Text(_summary(chunks), "dim"), "\n")
    for piece in pieces(chunks, text):
        for parent in piece.parents:
            _new_line(drawn)
            drawn.append(inline(_parent_line(parent)), "bold")
            drawn.append("\n")
        for chunk in piece.first:
            _new_line(drawn)
            drawn.append(f"[{chunk.index + 1}] ", f"bold {_TERMINAL[chunk.index % len(_TERMINAL)]}")
        shown = visible(piece.text)
        if not piece.leaves:
            drawn.append(shown, "" if shown.isspace() else "dim")
            continue
        style = _TERMINAL[piece.leaves[-1].index % len(_TERMINAL)]
        drawn.append(f"«{shown}»" if len(piece.leaves) > 1 else shown, style)
    drawn.rstrip()
    return drawn


def _new_line(drawn: Text) -> None:
    if not drawn.plain.endswith("\n"):
        drawn.append("\n")


def _summary(chunks: Sequence[Chunk]) -> str:
    placed = [chunk for chunk in chunks if chunk.level != DOCUMENT]
    lowest = min((chunk.level for chunk in placed), default=0)
    leaves = [chunk for chunk in placed if chunk.level == lowest]
    found = [_counted(len(leaves), "chunk")]
    if len(placed) > len(leaves):
        found.append(_counted(len(placed) - len(leaves), "parent"))
    overlap = sum(chunk.overlap for chunk in leaves)
    found.append(f"{_counted(overlap, 'character')} of overlap" if overlap else "no overlap")
    return ", ".join(found)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _parent_line(parent: Chunk) -> str:
    return f"Parent {parent.index + 1}/{parent.total}, level {parent.level} [{parent.start}:{parent.end}]"


def _kin(chunk: Chunk) -> str:
    """Return the place of a chunk and the ids of its kin, a line each."""
    facts = {
        "chunk_index": chunk.index,
        "spans": " + ".join(f"[{start}:{end}]" for start, end in chunk.spans),
        "tokens": chunk.token_count,
        "overlap": chunk.overlap or None,
        "context": " ".join(chunk.context.split()) or None,
        "id": chunk.id,
        "parent": chunk.parent_id,
        "previous": chunk.prev_id,
        "next": chunk.next_id,
    }
    return "\n".join(f"{name} {fact}" for name, fact in facts.items() if fact is not None)
