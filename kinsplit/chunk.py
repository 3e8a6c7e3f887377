"""Documents, chunks and their parts: the frozen values that all of kinsplit works with."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from kinsplit.errors import require
from kinsplit.hints import HintedText, uncallable
from kinsplit.identity import DOCUMENT_CONTEXT, text_id
from kinsplit.spans import Heading, Part, Span

if TYPE_CHECKING:
    from kinsplit.kinds import DocumentKind

#: Level of the chunk that represents a whole document, above all parents.
DOCUMENT = 100

#: Separator between the texts of spans that are not adjacent, in chunks and passages.
SEPARATOR = "\n\n"

#: Level and content hash, the key of a chunk's vectors. A parent with a single child has its child's text but vectors
#: of its own.
Content = tuple[int, str]

uncallable(__name__, "kinsplit.split(text)")


@dataclass(frozen=True, slots=True)
class Beside:
    r"""The context of a chunk: embedded and shown with its text, but never part of it.

    Attributes:
        headings: Titles of the sections around the chunk, outermost first.
        header: Header of the table or of the rows that the chunk continues.
        language: Programming language of the fence that the chunk continues, or of code.
        speaker: Who speaks the chunk's first words, if the chunk doesn't name them.
        note: Anything else, such as the name of a file of code and the path within it.
        placement: Sentences by a language model that place the chunk in its document (see `context_model` in
            `kinsplit.options.IndexOptions`). Unlike the other fields, they are also found by their words, and passages
            leave them out.

    Example:
        >>> Beside(("Prices", "Dairy"), header="| item | price |\n|---|---|").context
        'Prices > Dairy\n| item | price |\n|---|---|'
    """

    headings: tuple[str, ...] = ()
    header: str = ""
    language: str = ""
    speaker: str = ""
    note: str = ""
    placement: str = ""

    def __bool__(self) -> bool:
        return bool(self.headings or self.context)

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Beside:
        """Return what stands beside a chunk, from a payload, a row of JSON, or a framework's metadata.

        Values of other types are left out. A context without fields becomes a note.
        """
        stated = fields.get("beside")
        if isinstance(stated, str):
            with suppress(ValueError):
                stated = json.loads(stated)
        if not isinstance(stated, Mapping):
            stated = {"note": fields.get("context")}
        headings = stated.get("headings")
        titles = headings if isinstance(headings, list | tuple) else ()
        texts = {name: text for name in _BESIDE if isinstance(text := stated.get(name), str)}
        return cls(tuple(title for title in titles if isinstance(title, str)), **texts)

    @property
    def path(self) -> str:
        """The headings in one line."""
        return " > ".join(self.headings)

    @property
    def context(self) -> str:
        """All fields as text: the heading path first, and the header last."""
        if not (self.note or self.placement or self.speaker or self.language or self.header):
            return self.path
        speaker, language = self.speaker and f"Speaker: {self.speaker}", self.language and f"Language: {self.language}"
        return "\n".join(filter(None, (self.path, self.note, self.placement, speaker, language, self.header)))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that are not empty."""
        texts = {name: text for name in _BESIDE if (text := getattr(self, name))}
        return {"headings": list(self.headings), **texts} if self.headings else texts

    def to_metadata(self) -> dict[str, Any]:
        """Return the context and the fields as metadata; none if all are empty."""
        return {"context": self.context, "beside": self.to_dict()} if self else {}


# Fields of `Beside` that are texts.
_BESIDE = ("header", "language", "speaker", "note", "placement")


@dataclass(frozen=True, slots=True)
class Chunk(HintedText):
    """A piece of one document, with its place in it and links to its kin.

    Attributes:
        id: Version-5 UUID of source, strategy, level and index (see `chunk_id`).
        source_id: Id of the document.
        index: Position among the chunks of its level, from 0.
        total: Number of chunks of its level.
        level: 0 for leaves, 1 for their parents, and so on; `DOCUMENT` for the chunk that represents the whole
            document.
        spans: Spans of the text in the document, in document order; nearly always one.
        text: Text of the spans, joined by a separator if there are several; empty for a whole document, whose text is
            in its leaves.
        content_hash: Hash of text and context (see `content_hash`); for a whole document, of its leaves' hashes (see
            `document_hash`).
        overlap: Number of leading characters that are also in the previous sibling.
        parent_id: Id of the chunk one level up that contains this one.
        prev_id: Id of the previous chunk of the same level.
        next_id: Id of the next chunk of the same level.
        beside: What stands beside the text, such as its headings; embedded with the text but never part of it.
        token_count: Length in tokens if the strategy counts tokens, else None.
        metadata: Metadata of the document, read-only and shared by its chunks, plus what the strategy adds.

    Example:
        >>> from kinsplit import split
        >>> first, second = split("Owls hunt at night. Larks sing at dawn.", chunk_size=6, chunk_overlap=0)
        >>> second.index, second.start, second.end, second.text
        (1, 20, 39, 'Larks sing at dawn.')
        >>> second.prev_id == first.id
        True
    """

    id: str
    source_id: str
    index: int
    total: int
    level: int
    spans: tuple[Span, ...]
    text: str
    content_hash: str
    overlap: int = 0
    parent_id: str | None = None
    prev_id: str | None = None
    next_id: str | None = None
    beside: Beside = Beside()
    token_count: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def start(self) -> int:
        """First code point of the chunk in its document."""
        return self.spans[0].start

    @property
    def end(self) -> int:
        """One past the last code point of the chunk in its document."""
        return self.spans[-1].end

    @property
    def context(self) -> str:
        """The context as text: the heading path, and the header of the table that the chunk continues."""
        return self.beside.context

    @property
    def is_chunked(self) -> bool:
        """Whether the document has several chunks of this level."""
        return self.total > 1

    @property
    def content_key(self) -> Content:
        """Level and content hash, the key of the chunk's vectors."""
        return self.level, self.content_hash

    def _repr_html_(self) -> str:
        from kinsplit.markup.html import output

        return output(chunk_card(self))


class Field(NamedTuple):
    """A field of a chunk and its names outside Python."""

    attribute: str
    stored: str | None  # Key in store payloads and framework metadata; None if they leave it out.
    shown: str | None  # Key in JSON rows, service responses and answers; None if they leave it out.
    is_computed: bool = False
    is_optional: bool = False  # Whether payloads and metadata contain it only if it adds information.


#: The fields of a chunk, in the order of a payload. Store payloads, framework metadata, JSON rows, service responses
#: and answers take their keys and values from here.
FIELDS = (
    Field("id", None, "id"),
    Field("source_id", "source_id", "source_id"),
    Field("index", "chunk_index", "chunk_index"),
    Field("total", "total_chunks", "total_chunks"),
    Field("is_chunked", "is_chunked", None, is_computed=True),
    Field("level", "level", "level"),
    Field("parent_id", "parent_id", "parent_id"),
    Field("prev_id", "prev_id", "prev_id"),
    Field("next_id", "next_id", "next_id"),
    Field("start", "char_start", "start", is_computed=True),
    Field("end", "char_end", "end", is_computed=True),
    Field("overlap", "overlap", "overlap"),
    Field("content_hash", "content_hash", None),
    Field("context", "context", "context", is_computed=True),
    Field("beside", "beside", "beside", is_optional=True),
    Field("token_count", "token_count", "token_count"),
    Field("text", "full_content", "text"),
    Field("spans", "spans", "spans", is_optional=True),
)

#: Key under which Qdrant stores the payload of a parent or a document; see `kinsplit.stores.engines.qdrant.payload`.
ABOVE = "_above"

#: Keys made from a chunk's own fields; document metadata can't use them.
RESERVED = frozenset(
    {
        *(field.stored for field in FIELDS if field.stored is not None),
        *("content_preview", "content_length"),
        *("_node_content", "_node_type", "metadata"),  # `kinsplit.stores.engines.qdrant.points` writes them.
        ABOVE,
    }
)

#: Keys that an indexer adds to a chunk's metadata; document metadata can't use them either.
PLACED = frozenset(
    {
        *("strategy", "page_start", "page_end", "time_start", "time_end", "gap", "file_digest", "_state", "_record"),
        DOCUMENT_CONTEXT,
    }
)

#: Key of the SHA-256 of a document's file, in the chunk of the whole document alone: in every chunk, a changed sentence
#: would change them all.
FILE_DIGEST = "file_digest"

#: Key of the hash of a document and its stored chunks, in the chunk of the whole document alone; see
#: `kinsplit.stores.payload.state_of`.
STATE = "_state"

#: Key of the white space between a chunk and its previous sibling, which makes joined neighbours a slice of the source.
GAP = "gap"

#: Key under which a framework's adapter stores the original node or document, to return it unchanged.
RECORD = "_record"

#: Key of the file that a document was read from, on the machine that read it.
ABSOLUTE_PATH = "absolute_path"

#: Metadata of files that is hidden from embedding and language models: it does not describe the text, and one key
#: discloses a path on the user's disk.
UNSEEN = (ABSOLUTE_PATH, "sibling_files")

#: Key of the distance between a chunk's first sentence and the previous sentence: 1 minus their cosine.
SIMILARITY_GAP = "similarity_gap"

_VALUES: Mapping[str, Callable[[Chunk], Any]] = {
    **{key: attrgetter(field.attribute) for field in FIELDS for key in (field.stored, field.shown) if key is not None},
    "spans": lambda chunk: [list(span) for span in chunk.spans],
    "beside": lambda chunk: chunk.beside.to_dict(),
}


def select(chunk: Chunk, keys: Iterable[str]) -> dict[str, Any]:
    """Return fields of a chunk by their keys, in the order of the keys, as JSON; spans are lists of two offsets."""
    return {key: _VALUES[key](chunk) for key in keys}


def pages_of(chunk: Chunk) -> tuple[int, int] | None:
    """Return the first and last page of a chunk, counted from 1, if its document has pages."""
    first, last = chunk.metadata.get("page_start"), chunk.metadata.get("page_end")
    return None if first is None or last is None else (int(first), int(last))


def chunk_card(chunk: Chunk) -> str:
    """Return a chunk as a part of a notebook's output: its place and kin, and its text with the overlap marked."""
    from kinsplit.markup.html import card, source

    kin = {"parent": chunk.parent_id, "previous": chunk.prev_id, "next": chunk.next_id}
    facts = [
        f"chunk_index {chunk.index}",
        " + ".join(f"[{start}:{end}]" for start, end in chunk.spans),
        f"level {chunk.level}" if chunk.level else "",
        "" if chunk.token_count is None else f"tokens {chunk.token_count}",
        f"overlap {chunk.overlap}" if chunk.overlap else "",
        *(f"{name} {id}" for name, id in kin.items() if id),
    ]
    context = f"Context: {' '.join(chunk.context.split())}" if chunk.context else ""
    marks = [(0, chunk.overlap)] if chunk.overlap else []
    title = f"{chunk.source_id}, chunk {chunk.index + 1}/{chunk.total}"
    return card(title, [*facts, context], source(chunk.text, marks))


def embedded_text(chunk: Chunk) -> str:
    """Return the text that is embedded for a chunk: its context, if any, followed by its text."""
    return f"{chunk.context}\n\n{chunk.text}" if chunk.context else chunk.text


def indexed_text(chunk: Chunk) -> str:
    """Return the text whose words are indexed for a chunk: its placement, if any, followed by its text.

    Headings are left out, since one that is repeated in every chunk would blur the ranking.
    """
    return f"{chunk.beside.placement}\n\n{chunk.text}" if chunk.beside.placement else chunk.text


class Moment(NamedTuple):
    """Time at which a part of a transcript was spoken."""

    at: int
    start: float  # Start in seconds from the beginning of the recording.
    end: float  # End in seconds from the beginning of the recording.


class Voice(NamedTuple):
    """Beginning of a turn in a transcript or a chat."""

    at: int  # First code point.
    name: str  # Speaker; empty from where on nobody is named.


@dataclass(frozen=True, slots=True)
class Document(HintedText):
    """A text with an id, from a loader or a caller.

    Attributes:
        id: Id of the document in chunk ids, payloads and reports: a relative path or the caller's choice.
        text: The text, to which all offsets refer.
        metadata: Metadata, copied to every chunk. Must be JSON-serialisable if it goes into a store.
        pages: Offset of each page, ascending from 0; empty for a document without pages.
        times: Time of each part of a transcript, ascending by offset; empty for other documents.
        outline: Parts without headings, such as functions, ascending by start, outer parts before inner ones. If there
            are any, contexts are made from them and the last component of the id, not from headings.
        headings: Headings, ascending by start. If there are any, every strategy's contexts are made from them, and
            nothing else in the text counts as a heading.
        digest: SHA-256 of the file whose text it is, in hexadecimal digits; empty for other documents.
        kind: What its lines are: `"code"`, `"rows"` (separated values), `"records"` (log entries, messages of a chat,
            `key: value` pairs, JSON Lines) or `"prose"`, in which nothing but Markdown is looked for. If empty, it is
            recognised from the text, block by block.
        voices: Turns of the speakers, ascending by offset. A chunk that begins within a turn has its speaker beside it.

    Example:
        >>> lecture = Document("cs/lecture_1.pdf", "First page. Second page.", {"course": "cs"}, pages=(0, 12))
        >>> lecture.page_range(12, 18)
        (2, 2)
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pages: tuple[int, ...] = ()
    times: tuple[Moment, ...] = ()
    outline: tuple[Part, ...] = ()
    headings: tuple[Heading, ...] = ()
    digest: str = ""
    kind: DocumentKind = ""
    voices: tuple[Voice, ...] = ()

    if not TYPE_CHECKING:  # Type checkers shall know the fields alone.

        def __new__(cls, *arguments: Any, **named: Any) -> Document:  # noqa: D102  # Pickle gives none.
            given = {*("id", "text")[: len(arguments)], *named}
            rule, remedy = "needs an id and a text", 'Write Document("notes/owls", text), or Document.from_text(text)'
            require(not given or given >= {"id", "text"}, "Document", rule, [*arguments, named], f"{remedy}.")
            return object.__new__(cls)

    def __post_init__(self) -> None:
        require(isinstance(self.id, str), "id", "must be a string", self.id, "Convert it: str(id).")
        require(isinstance(self.text, str), "text", "must be a string", self.text, "Read a file with kinsplit.read.")
        rule = "must map names to values"
        require(isinstance(self.metadata, Mapping), "metadata", rule, self.metadata, 'Write {"source": "..."}.')

    @classmethod
    def from_text(cls, text: str) -> Document:
        """Return a document with an id from the text's hash: equal texts are the same document."""
        return cls(text_id(text), text)

    @classmethod
    def from_langchain(cls, document: Any) -> Document:
        """Return a LangChain document with its text, metadata and id.

        Without an id it gets the one that `kinsplit.integrations.langchain` gives it: `metadata["source"]` and a hash.

        Args:
            document: A `langchain_core.documents.Document`.

        Raises:
            InvalidParameterError: It is something else.
        """
        from kinsplit.foreign import of_langchain

        return cls(**of_langchain(document)._asdict())

    @classmethod
    def from_llama_index(cls, document: Any) -> Document:
        """Return a LlamaIndex document or node with its text, metadata and id.

        Args:
            document: A `llama_index.core.schema.Document` or text node.

        Raises:
            InvalidParameterError: It is something else.
        """
        from kinsplit.foreign import of_llama_index

        return cls(**of_llama_index(document)._asdict())

    @classmethod
    def from_docling(cls, document: Any, id: str | None = None) -> Document:
        """Return a Docling document as Markdown, with its pages.

        Characters are not escaped, so the text reads like the original. Metadata are the `title`, `file_type` (the MIME
        type) and `file_path` as far as they are known.

        Args:
            document: A `docling_core.types.doc.DoclingDocument`.
            id: Id of the document; None for its file name, or else its name.

        Raises:
            InvalidParameterError: It is something else.
        """
        from kinsplit.foreign import of_docling

        return cls(**of_docling(document, id)._asdict())

    @classmethod
    def from_dataset(
        cls, rows: Iterable[Mapping[str, Any]], text: str = "text", id: str | None = "id"
    ) -> Iterator[Document]:
        """Yield the rows of a table as documents, for example of a Hugging Face dataset.

        Args:
            rows: Rows as mappings: a `datasets.Dataset`, an `IterableDataset`, or any other iterable of mappings.
            text: Column of the text.
            id: Column of the id; None to derive ids from the texts. All other columns become metadata.

        Yields:
            A document per row, in order.

        Raises:
            InvalidParameterError: A row lacks a column, or has no text in it.
        """
        from kinsplit.foreign import of_dataset

        return (cls(**fields._asdict()) for fields in of_dataset(rows, text, id))

    def page_range(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the first and last page that a range of the text touches, counted from 1.

        Args:
            start: First code point.
            end: One past the last code point.

        Returns:
            Both page numbers, or None for a document without pages.
        """
        if not self.pages:
            return None
        first = max(1, bisect.bisect_right(self.pages, start))
        last = max(first, bisect.bisect_right(self.pages, max(start, end - 1)))
        return first, last

    def time_range(self, start: int, end: int) -> tuple[float, float] | None:
        """Return the time range in which a range of the text was spoken, in seconds.

        Args:
            start: First code point.
            end: One past the last code point.

        Returns:
            Start and end, or None for a document without times.
        """
        if not self.times:
            return None
        offset = attrgetter("at")
        first = max(0, bisect.bisect_right(self.times, start, key=offset) - 1)
        last = max(first + 1, bisect.bisect_left(self.times, end, key=offset))
        return self.times[first].start, max(moment.end for moment in self.times[first:last])


def by_source(chunks: Iterable[Chunk]) -> dict[str, list[Chunk]]:
    """Return chunks by the id of their document, each document's in the given order."""
    found: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        found.setdefault(chunk.source_id, []).append(chunk)
    return found
