"""Passages and their scores, as text and as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table
from rich.text import Text

from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import inline, visible
from kinsplit.markup.source import kind_of
from kinsplit.markup.terminal import rendered

if TYPE_CHECKING:
    from kinsplit.answering import Source
    from kinsplit.chunk import Chunk
    from kinsplit.embedding.sparse import Bm25Embedder
    from kinsplit.retrieval import Passage

#: Longest preview in characters.
PREVIEW = 400
#: Maximum number of lines of a preview; lines of code are short.
_LINES = 10

_HIGHLIGHT = "bold yellow"
_WORD = re.compile(r"\w+")
_BEGINNING = re.compile(r"(?<=[.!?])[ \t]+|\n\s*")
# The end of a long line within a paragraph. Lines of code and lists are short, or begin with another character.
_SOFT_LINE_END = re.compile(r"(?m)^(\S.{50,})\n(?=[^\W\d])")


class Match(NamedTuple):
    """A word of the query in a text, with the number of its term in the BM25 index."""

    start: int
    end: int
    term: int


class QueryWords:
    """Finds the words of a query in a text, as BM25 does: by their stems, without stop words."""

    def __init__(self, query: str, bm25: Bm25Embedder) -> None:
        self._bm25 = bm25
        self._wanted = frozenset(self._bm25.embed_query(query).indices)

    def find(self, text: str) -> list[Match]:
        """Return the matches in a text."""
        words = list(_WORD.finditer(text))
        found = zip(words, self._bm25.embed([word.group() for word in words]), strict=True)
        return [Match(*word.span(), term) for word, own in found for term in own.indices if term in self._wanted]


def show(
    terminal: Terminal, rank: int, passage: Passage, words: QueryWords, size: int | None, *, plain: bool = False
) -> None:
    """Write a passage and its rank, from 1. Markdown and code are rendered on a terminal, unless `plain`.

    `size` is the length in characters of the excerpt of its best hit; None shows the whole passage.
    """
    best = passage.best.chunk
    terminal.line(Text.assemble((f"[Result {rank}]", "bold cyan"), f" (score {passage.score:.4f})"))
    terminal.line(f"File: {file_of(passage)}")
    if best.source_id != file_of(passage):
        terminal.line(f"Document: {best.source_id}")
    terminal.line(f"Chunk: {chunk_of(passage)}")
    terminal.line(f"In: {passage.location}")
    # A hit may be cut where a budget ends.
    whole = passage.start <= best.start and best.end <= passage.end
    show_text(terminal, passage if size is None or not whole else best, best, words, size, plain=plain)
    if passage.related:
        terminal.line(f"Related: {', '.join(chunk.source_id for chunk in passage.related)}")
    if following := passage.metadata.get("next_file"):
        terminal.line(f"Next: {following}")


def show_text(
    terminal: Terminal,
    shown: Passage | Source | Chunk,
    best: Chunk,
    words: QueryWords,
    size: int | None,
    *,
    plain: bool = False,
) -> None:
    """Write a text, whose best hit says of what kind it is; see `show`."""
    kind = "text" if plain or not terminal.out.is_terminal else kind_of(best.source_id, best.metadata)
    if kind == "text":
        terminal.quote(excerpt(shown.text, words, size or len(shown.text)), None if size is None else _LINES)
        return
    lines = rendered(terminal.out, terminal.quote_width, shown.text, kind, shown.beside.header, best.source_id)
    terminal.lines(_most_relevant(lines, words, len(lines) if size is None else _LINES))


def file_of(passage: Passage) -> str:
    """Return the file of a passage, or the id of its document if there is no file."""
    return str(passage.metadata.get("file_path", passage.source_id))


def chunk_of(passage: Passage) -> str:
    """Return the number of the best hit, from 1, with its number of parts and the chunks of the passage if several."""
    best, first, last = passage.best.chunk, passage.chunks[0].index + 1, passage.chunks[-1].index + 1
    around = f" (passage {first}-{last})" if last > first else ""
    if passage.chunks[0].level > best.level:
        around = f" (parent {first}/{passage.chunks[0].total})"
    parts = f", {len(best.spans)} parts" if len(best.spans) > 1 else ""
    return f"{best.index + 1}/{best.total}{parts}{around}"


def excerpt(text: str, words: QueryWords, size: int) -> Text:
    """Return the part of a text, at most `size` characters, with the most words of the query, highlighted."""
    text = _SOFT_LINE_END.sub(r"\1 ", visible(text))  # Replaces one character by one, so offsets hold.
    matches = words.find(text)
    start = _best_start(text, matches, size) if len(text) > size else 0
    end = len(text)
    if end - start > size:
        end = max(text.rfind(" ", start, start + size), text.rfind("\n", start, start + size))
        end = end if end > start else start + size
    part = Text(text[start:end])
    for first, last, _ in matches:
        if start <= first and last <= end:
            part.stylize(_HIGHLIGHT, first - start, last - start)
    part.rstrip()
    return Text.assemble("… " if start else "", part, " …" if end < len(text) else "")


def _most_relevant(lines: Sequence[Text], words: QueryWords, most: int) -> list[Text]:
    """Return the consecutive lines with the most words of the query, highlighted."""
    terms = []
    for line in lines:
        found = words.find(line.plain)
        terms.append([match.term for match in found])
        for match in found:
            line.stylize(_HIGHLIGHT, match.start, match.end)

    def worth(start: int) -> tuple[int, int]:
        within = [term for own in terms[start : start + most] for term in own]
        return len(set(within)), len(within)

    start = max(range(max(1, len(lines) - most + 1)), key=worth)
    cut = Text("…", "dim")
    before, after = [cut] if start else [], [cut] if start + most < len(lines) else []
    return [*before, *lines[start : start + most], *after]


def _best_start(text: str, matches: Sequence[Match], size: int) -> int:
    """Return the start of the line or sentence from which an excerpt has the most words of the query."""

    def worth(start: int) -> tuple[int, int, int]:
        within = [match.term for match in matches if start <= match.start and match.end <= start + size]
        return len(set(within)), len(within), start if within else -start

    starts = [0, *(match.end() for match in _BEGINNING.finditer(text) if match.end() < len(text))]
    return max(starts, key=worth)


def score_table(passages: Mapping[int, Passage], heading: str = "Result") -> Table:
    """Return a table of the scores of numbered passages, with a row per hit and a column per stage."""
    stages = dict.fromkeys(stage for passage in passages.values() for hit in passage.hits for stage in hit.scores)
    whole = dict.fromkeys(stage for passage in passages.values() for stage in passage.scores if stage not in stages)
    headings = heading, "File", "Chunk", *(stage.replace("_", " ") for stage in (*stages, *whole))
    table = text_table(*headings, right=slice(3, None))
    for rank, passage in passages.items():
        for number, hit in enumerate(passage.hits):
            of_hit = (_figure(hit.scores.get(stage)) for stage in stages)
            of_passage = ("" if number else _figure(passage.scores.get(stage)) for stage in whole)
            chunk = f"{hit.chunk.index + 1}/{hit.chunk.total}"
            table.add_row("" if number else str(rank), inline(file_of(passage)), chunk, *of_hit, *of_passage)
    return table


def _figure(score: float | None) -> str:
    return "-" if score is None else f"{score:.3f}"
