"""Base class of all strategies: frozen, validated parameters that turn texts into chunks."""

from __future__ import annotations

import contextlib
import functools
import gc
import operator
import os
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from pydantic import ConfigDict, ValidationError

from kinsplit.chunk import SEPARATOR, Beside, Chunk, Document, Voice
from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.hints import MissingAttributeError, question
from kinsplit.identity import chunk_id, content_hash, fingerprint, without_location
from kinsplit.parsers.packing.refine import Limit, Ruler, Unit
from kinsplit.parsers.parameters import TokenizerField
from kinsplit.parsers.units.builder import HeadingContexts, OutlineContexts
from kinsplit.parsers.units.sentences import sentence_splitter
from kinsplit.spans import Span, shared
from kinsplit.support.settings import Documented, first_fault
from kinsplit.text.blocks import Section, fence_language
from kinsplit.tokenizers import BUNDLED, describe, resolve


@contextlib.contextmanager
def garbage_collector(*, runs: bool) -> Iterator[None]:
    """Pause the garbage collector inside the block, or run it during a long wait even if it is paused around it.

    Spans and chunks form no reference cycles, so there is nothing to collect. But the collector runs every few hundred
    new objects and visits all earlier ones, which takes longer than making them once a document has some megabytes.
    """
    ran = gc.isenabled()
    (gc.enable if runs else gc.disable)()
    try:
        yield
    finally:
        if ran != runs:
            (gc.enable if ran else gc.disable)()


class Cut(NamedTuple):
    """A future chunk, as returned by a strategy's `_cut`.

    Attributes:
        spans: Spans of the text; one span unless the strategy gathers passages.
        headings: Titles of the sections around it, outermost first, from a strategy that keeps to sections; None to
            find them from the document's own headings.
        tokens: Length in tokens, if tokens were counted.
        parent: Index of the parent among the cuts of the next level.
        metadata: Metadata from the strategy; the document's own metadata take precedence.
        header: Header of the table or of the rows that it continues.
        language: Programming language of the fence that it continues, or of code.
    """

    spans: tuple[Span, ...]
    headings: tuple[str, ...] | None = None
    tokens: int | None = None
    parent: int | None = None
    metadata: Mapping[str, Any] | None = None
    header: str = ""
    language: str = ""


# Parameters with the size of leaves; the first that a strategy has counts.
_SIZES = ("child_size", "chunk_sizes", "chunk_size")

#: Cuts of one text, finest level first: `levels[0]` are the leaves, `levels[1]` their parents.
Levels = list[list[Cut]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Expected cost of the calls to a language model.

    Attributes:
        calls: Number of calls to the model.
        prompt_tokens: Number of prompt tokens, counted by another tokenizer than the model's.
        answer_tokens: Maximum number of answer tokens.
        kept: Number of calls saved by cached answers.
        repeated_tokens: Number of prompt tokens that repeat the beginning of the prompt before, which servers cache.
    """

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    kept: int = 0
    repeated_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Prompt and answer tokens together."""
        return self.prompt_tokens + self.answer_tokens

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(operator.add, astuple(self), astuple(other)))


class Strategy(Documented):
    """A strategy for splitting documents into chunks.

    A strategy is a value: frozen, equal to any other with the same parameters, rebuilt from `name` and `parameters`,
    and safe to share between threads and to send to other processes.

    Example:
        >>> from kinsplit import create_strategy
        >>> strategy = create_strategy("sentence", chunk_size=6, chunk_overlap=0)
        >>> [chunk.text for chunk in strategy.chunk("Owls hunt at night. Larks sing at dawn.")]
        ['Owls hunt at night.', 'Larks sing at dawn.']
        >>> strategy == create_strategy(strategy.name, **strategy.parameters)
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    #: Name of the strategy in the registry.
    name: ClassVar[str] = ""
    #: One-line description.
    summary: ClassVar[str] = ""
    #: Source of the defaults.
    origin: ClassVar[str] = ""
    #: Separator between the texts of a chunk's spans.
    separator: ClassVar[str] = SEPARATOR
    #: Parameters that name something to load, with a hint for naming it; a value may also be the loaded object.
    resources: ClassVar[Mapping[str, str]] = {
        "tokenizer": '"hf:REPOSITORY", "tiktoken:ENCODING" or the path of a tokenizer.json'
    }

    #: Parameters that don't affect the chunks; they are not part of the fingerprint.
    incidental: ClassVar[frozenset[str]] = frozenset()
    #: Unit of its sizes, if there is no parameter for it.
    counted: ClassVar[Unit] = "token"
    #: Version of the cuts. A strategy of another package raises it when they change; "" is not part of the fingerprint.
    version: ClassVar[str] = ""

    tokenizer: TokenizerField = BUNDLED

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise _as_parameter_error(type(self), error) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in type(self).model_fields:
            remedy = f'Make another one: create_strategy("{self.name}", {name}={value!r}).'
            raise InvalidParameterError(name, "can't be changed, since the ids of chunks depend on it", value, remedy)
        super().__setattr__(name, value)

    # Type checkers shall know the attributes that there are, and no others.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            try:
                return super().__getattr__(name)
            except AttributeError:
                raise MissingAttributeError(self, name, "Strategy") from None

    @property
    def depth(self) -> int:
        """Number of levels of chunks in a collection: leaves and their parents, or more."""
        return 2

    @property
    def limit(self) -> Limit | None:
        """Maximum length of a leaf; None without one."""
        own = self.parameters
        size = next((own[name] for name in _SIZES if own.get(name)), None)
        if size is None:
            return None
        ruler = Ruler(own.get("unit", self.counted), resolve(self.tokenizer))
        return Limit(size if isinstance(size, int) else min(size), ruler)

    @property
    def repeatable(self) -> bool:
        """Whether all strategies with the same fingerprint split alike, also in another run.

        A part named by a string behaves the same in every run. An object or strategy of the user's own class may change
        with its code, which no fingerprint reflects.
        """
        named = all(isinstance(getattr(self, name), str) for name in self.resources)
        return named and type(self).__module__.startswith("kinsplit.")

    @abstractmethod
    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        """Return the levels of cuts of each text; the one method that a strategy must implement."""

    def _cut_outlined(self, documents: Sequence[Document]) -> list[Levels]:
        """Return the levels of cuts of documents; overridden by strategies that follow their outline or headings."""
        return self._cut([document.text for document in documents])

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters; `create(strategy.name, **strategy.parameters)` rebuilds the strategy."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @property
    def described(self) -> dict[str, Any]:
        """The parameters as JSON values, with a description instead of each loaded object, and without addresses."""
        loaded = {key: without_location(describe(getattr(self, key))) for key in self.resources}
        return {**self.parameters, **loaded}

    @functools.cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that change with the name, what finds the sentences, or a parameter.

        Incidental parameters don't change it.
        """
        own = {key: value for key, value in self.described.items() if key not in self.incidental}
        if self.version:
            own["version"] = self.version
        if self.sentence_splitter is not None:
            own["sentences"] = self.sentence_splitter
        return fingerprint(self.name, own)

    @property
    def sentence_splitter(self) -> str | None:
        """Name of what finds the sentences, with its version if it isn't kinsplit's own; None if nothing does."""
        language = self.parameters.get("language")
        return None if language is None else sentence_splitter(language)

    def cost(self, texts: Sequence[str]) -> Cost:
        """Return the cost of splitting texts with a language model, without splitting them; zero if none is used."""
        del texts
        return Cost()

    def expected_chunks(self, text: str) -> int:
        """Estimate the number of chunks of a text without splitting it; 0 if it doesn't depend on sizes alone."""
        del text
        return 0

    def split(self, text: str) -> list[Span]:
        """Split one text.

        Args:
            text: Any text; blank text gives no chunks.

        Returns:
            The extent of each chunk, coarsest level first and in document order within a level, as from `chunk`.
        """
        return self.split_many([text])[0]

    def split_many(self, texts: Sequence[str]) -> list[list[Span]]:
        """Split many texts, measuring all of them in parallel.

        Args:
            texts: The texts.

        Returns:
            The result of `split` for each text.
        """
        with garbage_collector(runs=False):
            found = [[cut.spans for level in reversed(levels) for cut in level] for levels in self._cut(texts)]
            return [[Span(spans[0].start, spans[-1].end) for spans in of_text] for of_text in found]

    def __call__(self, document: Document | str) -> list[Chunk]:
        """Split a document into chunks, as `chunk` does."""
        return self.chunk(document)

    def chunk(self, document: Document | str) -> list[Chunk]:
        """Split a document into chunks with offsets, ids and links to their kin.

        Args:
            document: The document, whose id becomes the chunks' source and whose metadata goes to every chunk; or a
                text, whose id is made from its hash.

        Returns:
            The chunks, coarsest level first and in document order within a level.

        Raises:
            LimitTooSmallError: A single character of the text exceeds the limit of a chunk.
            InvalidParameterError: It is neither a document nor a text.
        """
        return self.chunk_many([document])[0]

    def chunk_many(self, documents: Iterable[Document | str]) -> list[list[Chunk]]:
        """Split many documents, measuring all of them in parallel.

        Args:
            documents: The documents, or texts.

        Returns:
            The result of `chunk` for each document.

        Raises:
            LimitTooSmallError: As for `chunk`, naming the first such document.
            InvalidParameterError: One of them is neither a document nor a text, or they are a single one.
        """
        if isinstance(documents, str | Document):
            raise InvalidParameterError("documents", "must be several", documents, "Pass a list, or call chunk.")
        named = [_document(given) for given in documents]
        with garbage_collector(runs=False):
            cut = self._cut_documents(named)
            return [self.assemble(document, levels) for document, levels in zip(named, cut, strict=True)]

    def cut(self, document: Document) -> Levels:
        """Return the cuts of a document, from which `assemble` makes the chunks."""
        with garbage_collector(runs=False):
            return self._cut_documents([document])[0]

    def _cut_documents(self, documents: Sequence[Document]) -> list[Levels]:
        try:
            return self._cut_outlined(documents)
        except LimitTooSmallError as error:
            if len(documents) == 1:
                raise error.inside(documents[0].id) from None
            for document in documents:
                self._cut_documents([document])
            raise

    def assemble(self, document: Document, levels: Levels) -> list[Chunk]:
        """Make a document's chunks from its cuts.

        Args:
            document: The document.
            levels: Result of `cut` for the document.

        Returns:
            The same chunks as from `chunk`.
        """
        own = self.fingerprint
        ids = [[chunk_id(document.id, own, n, i) for i in range(len(cuts))] for n, cuts in enumerate(levels)]
        chunks: list[Chunk] = []
        for level in range(len(levels) - 1, -1, -1):
            parents = ids[level + 1] if level + 1 < len(levels) else []
            chunks.extend(self._assemble_level(document, level, levels[level], ids[level], parents))
        return chunks

    def _assemble_level(
        self, document: Document, level: int, cuts: list[Cut], ids: list[str], parents: list[str]
    ) -> Iterable[Chunk]:
        text, source, metadata, total = document.text, document.id, document.metadata, len(cuts)
        around: list[str | None] = [None, *ids, None]
        before: tuple[Span, ...] = ()
        contexts = OutlineContexts(document) if document.outline else HeadingContexts(document.headings)
        section, is_placed = functools.cache(Beside), bool(document.pages or document.times)
        known, context = Beside(), ""
        for i, (spans, headings, tokens, parent, own, header, language) in enumerate(cuts):
            piece = text[spans[0].start : spans[0].end]
            if len(spans) > 1:
                piece = self.separator.join([piece, *(text[start:end] for start, end in spans[1:])])
            overlap = shared(before, spans)
            before = spans
            beside = contexts.of(spans) if headings is None or document.outline else section(headings)
            speaker = _speaker(document.voices, spans[0].start) if document.voices else ""
            if header or language or speaker:
                beside = Beside(beside.headings, header, language, speaker, beside.note)
            if beside is not known:
                known, context = beside, beside.context
            if is_placed:
                own = {**(own or {}), **position(document, spans[0].start, spans[-1].end)}
            facts = {**own, **metadata} if own else metadata
            left, right = around[i], around[i + 2]
            up, hashed = None if parent is None else parents[parent], content_hash(piece, context)
            yield Chunk(
                ids[i], source, i, total, level, spans, piece, hashed, overlap, up, left, right, beside, tokens, facts
            )

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        for field, names in self.resources.items():
            value = getattr(self, field)
            if not isinstance(value, str):
                rule = "is an object and can't be carried to another process"
                raise InvalidParameterError(field, rule, describe(value), f"Name it instead: {names}.")
        return functools.partial(type(self), **self.parameters), ()

    def __hash__(self) -> int:
        # Parameters may hold objects that aren't hashable.
        return hash(self.fingerprint)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self


def position(document: Document, start: int, end: int) -> dict[str, Any]:
    """Return the pages and times of a range of a document's text as metadata of a chunk; empty if it has neither."""
    found: dict[str, Any] = {}
    if pages := document.page_range(start, end):
        found["page_start"], found["page_end"] = pages
    if times := document.time_range(start, end):
        found["time_start"], found["time_end"] = times
    return found


def with_blocks(text: str, found: Sequence[Section], cuts: list[Cut]) -> list[Cut]:
    """Return cuts with what they continue: the header of a table or of rows, or the language of a fence."""
    blocks = [block for section in found for block in section.blocks if block.kind in _NAMED]
    starts = [block.start for block in blocks]
    named = list(cuts)
    for number, cut in enumerate(cuts if blocks else ()):
        start = cut.spans[0].start
        block = blocks[max(0, bisect_left(starts, start) - 1)]
        if block.start < start < block.end:
            is_fence = block.kind == "fence"
            language = fence_language(text, block.start) if is_fence else ""
            named[number] = cut._replace(header="" if is_fence else block.title, language=language)
    return named


# Kinds of blocks that have a header or a language.
_NAMED = frozenset({"table", "records", "fence"})


def _speaker(voices: Sequence[Voice], start: int) -> str:
    """Return who speaks at an offset, unless a turn begins there: its first words name the speaker."""
    begun = bisect_left(voices, (start,))
    is_named = begun < len(voices) and voices[begun].at == start
    return "" if is_named or not begun else voices[begun - 1].name


class Measured(Strategy):
    """A strategy with a choice of the unit in which sizes are counted.

    Attributes:
        unit: Unit of all sizes.
    """

    unit: Unit = "token"

    @functools.cached_property
    def _ruler(self) -> Ruler:
        return Ruler(self.unit, resolve(self.tokenizer))

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        return self._cut_outlined([Document("", text) for text in texts])


def _document(given: Document | str) -> Document:
    if isinstance(given, str):
        return Document.from_text(given)
    if isinstance(given, Document):
        return given
    raise InvalidParameterError("document", "must be a text or a kinsplit.Document", given, _remedy(given))


def _remedy(given: object) -> str:
    """Return how to make a document of something else."""
    if isinstance(given, os.PathLike):
        return f"Read the file: for document in kinsplit.read({os.fspath(given)!r}) gives documents to split."
    if isinstance(given, bytes | bytearray):
        return 'Decode it: data.decode("utf-8").'
    if hasattr(given, "read"):
        return "Give its text: file.read(). Of a PDF or the like, kinsplit.read(path) gives documents to split."
    if isinstance(given, Mapping):
        return "Convert rows of a table with Document.from_dataset."
    if hasattr(given, "page_content"):
        return "Convert it: Document.from_langchain(document)."
    if hasattr(given, "get_content"):
        return "Convert it: Document.from_llama_index(document)."
    if isinstance(given, Iterable):
        return "Give several to chunk_many: kinsplit.create_strategy().chunk_many(texts)."
    return "Give a string, or Document(id, text)."


def _as_parameter_error(kind: type[Strategy], error: ValidationError) -> InvalidParameterError:
    """Return the first error of pydantic as an error of kinsplit."""
    fault = first_fault(error.errors())
    if fault.cause is not None:
        return fault.cause
    field = fault.field or "parameters"
    if fault.is_unknown_field:
        names = [*kind.model_fields, "strategy"] if isinstance(fault.value, str) else kind.model_fields
        asked = question("parameter", field, names)
        remedy = f"{asked}Its parameters are: {', '.join(kind.model_fields)}."
        return InvalidParameterError(field, f'is not a parameter of "{kind.name}"', fault.value, remedy)
    info = kind.model_fields.get(field)
    remedy = f"The default is {info.default!r}." if info and info.default is not None else "Change it or leave it out."
    return InvalidParameterError(field, fault.rule, fault.value, question(field, fault.value) + remedy)
