"""What every strategy is: a frozen, validated, rebuildable description that turns texts into chunks."""

from __future__ import annotations

import contextlib
import functools
import gc
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinsplit.chunk import SEPARATOR, Chunk, Document, Part
from kinsplit.errors import InvalidParameterError, LimitTooSmallError
from kinsplit.identity import chunk_id, content_hash, fingerprint
from kinsplit.parsers.packing.measure import Ruler, Unit
from kinsplit.parsers.parameters import TokenizerField
from kinsplit.spans import Span, shared
from kinsplit.support.validation import first_fault
from kinsplit.tokenizers import BUNDLED, describe, resolve


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Pause the collector.

    Spans and chunks form no cycles, so there is nothing to collect; but with each few hundred of them the collector
    looks at those made before, which takes more time than making them once a document has some megabytes.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def resumed() -> Iterator[None]:
    """Let the collector work for as long as something is waited for, although it is paused."""
    was_enabled = gc.isenabled()
    gc.enable()
    try:
        yield
    finally:
        if not was_enabled:
            gc.disable()


# Names of parts that a chunk holds several of; more would blur what is embedded with it.
_MOST_NAMES = 6


def outlined(document: Document, spans: Sequence[Span]) -> str:
    """Return the context of a chunk of a document that has an outline.

    The first line names the file, so that its chunks stay one section. The second one is the path of the parts that the
    chunk lies in, and the names of those that it touches beside each other:
    `class Stack > def push, def pop`.

    Args:
        document: The document.
        spans: The chunk's.
    """
    name = document.id.rpartition("/")[2]
    start, end = spans[0].start, spans[-1].end
    around = [part for part in document.outline if part.start <= start and end <= part.end]
    touched: list[Part] = []
    for part in document.outline:
        outside = part not in around and part.start < end and start < part.end
        if outside and not (touched and part.end <= touched[-1].end):
            touched.append(part)
    names = [part.title for part in touched]
    beside = ", ".join([*names[:_MOST_NAMES], *(["..."] if len(names) > _MOST_NAMES else [])])
    path = " > ".join([*(part.title for part in around), *([beside] if beside else [])])
    return f"{name}\n{path}" if path else name


class Cut(NamedTuple):
    """A chunk to be, as a strategy's `_cut` returns it.

    Attributes:
        spans: Where its text lies; one span, but for strategies that gather.
        context: Heading path or repeated table header.
        tokens: Its length, where tokens were counted.
        parent: Position of its parent among the cuts of the level above.
        metadata: What the strategy says of it; keys that the document's own metadata have stay theirs.
    """

    spans: tuple[Span, ...]
    context: str = ""
    tokens: int | None = None
    parent: int | None = None
    metadata: Mapping[str, Any] | None = None


#: The cuts of one text, finest level first: `levels[0]` holds the leaves, `levels[1]` their parents.
Levels = list[list[Cut]]


@dataclass(frozen=True, slots=True)
class Cost:
    """What it costs to draw boundaries with a language model, before any is asked.

    Attributes:
        calls: Calls of the model.
        prompt_tokens: Tokens that it reads, counted by the strategy's tokenizer.
        answer_tokens: Tokens that it writes at most.
        kept: Calls that are not made, since their answers are kept from an earlier run.
    """

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    kept: int = 0

    @property
    def tokens(self) -> int:
        """All tokens."""
        return self.prompt_tokens + self.answer_tokens

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.answer_tokens + other.answer_tokens,
            self.kept + other.kept,
        )


class Strategy(BaseModel):
    """A way to split documents into chunks.

    A strategy is a value: frozen, equal to any other with the same parameters, rebuilt from `name` and `parameters`,
    safe to share between threads and to send to other processes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    #: Name under which the registry knows the strategy.
    name: ClassVar[str] = ""
    #: What it does, in one line.
    summary: ClassVar[str] = ""
    #: Where the defaults come from.
    origin: ClassVar[str] = ""
    #: Put between the texts of a chunk's spans where it has several.
    separator: ClassVar[str] = SEPARATOR
    #: The parameters that name what has to be loaded, by how to name it; a value may also be the loaded object itself.
    resources: ClassVar[Mapping[str, str]] = {
        "tokenizer": '"hf:REPOSITORY", "tiktoken:ENCODING" or the path of a tokenizer.json'
    }

    #: The parameters that don't change which chunks are made: the fingerprint leaves them out.
    incidental: ClassVar[frozenset[str]] = frozenset()
    #: The parameters that earlier versions lacked: at their default the fingerprint leaves them out, so that the ids of
    #: chunks stay as they were.
    added: ClassVar[frozenset[str]] = frozenset()

    tokenizer: TokenizerField = BUNDLED

    def __init__(self, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as error:
            raise _as_parameter_error(type(self), error) from None

    @abstractmethod
    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        """Return the levels of cuts of each text; the one method that a strategy has to write."""

    def _cut_outlined(self, texts: Sequence[str], outlines: Sequence[Sequence[Part]]) -> list[Levels]:
        """Return the levels of cuts of texts that may have an outline, for a strategy that cuts along it."""
        del outlines
        return self._cut(texts)

    @property
    def parameters(self) -> dict[str, Any]:
        """What rebuilds the strategy: `create(strategy.name, **strategy.parameters)`."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    @property
    def described(self) -> dict[str, Any]:
        """The parameters as JSON has them, with a description in the place of each loaded object."""
        return {key: describe(value) if key in self.resources else value for key, value in self.parameters.items()}

    @functools.cached_property
    def fingerprint(self) -> str:
        """16 hexadecimal digits that differ whenever name or parameters do, but for the incidental ones."""
        fields = type(self).model_fields
        left_out = self.incidental | {key for key in self.added if getattr(self, key) == fields[key].default}
        own = {key: value for key, value in self.described.items() if key not in left_out}
        return fingerprint(self.name, own)

    def cost(self, texts: Sequence[str]) -> Cost:
        """Return what it costs to split texts, without splitting them: nothing, unless a language model is asked."""
        del texts
        return Cost()

    def expected_chunks(self, text: str) -> int:
        """Estimate the number of chunks of a text without cutting it; 0 where no size alone decides."""
        del text
        return 0

    def split(self, text: str) -> list[Span]:
        """Split one text.

        Args:
            text: Any text; blank text gives no chunk.

        Returns:
            Each chunk's extent, coarsest level first and in document order within a level, as `chunk` returns them.
        """
        return self.split_many([text])[0]

    def split_many(self, texts: Sequence[str]) -> list[list[Span]]:
        """Split many texts, measuring all of them in parallel.

        Args:
            texts: The texts.

        Returns:
            What `split` returns, for each text.
        """
        with paused():
            return [
                [Span(cut.spans[0].start, cut.spans[-1].end) for level in reversed(levels) for cut in level]
                for levels in self._cut(texts)
            ]

    def chunk(self, document: Document) -> list[Chunk]:
        """Split a document into chunks that know their place and their kin.

        Args:
            document: Its id names the chunks' source; its metadata goes to every chunk.

        Returns:
            The chunks, coarsest level first and in document order within a level.

        Raises:
            LimitTooSmallError: A character of the text is longer than a chunk may be.
        """
        return self.chunk_many([document])[0]

    def chunk_many(self, documents: Iterable[Document]) -> list[list[Chunk]]:
        """Split many documents, measuring all of them in parallel.

        Args:
            documents: The documents.

        Returns:
            What `chunk` returns, for each document.

        Raises:
            LimitTooSmallError: As `chunk`, of the first such document.
        """
        documents = list(documents)
        with paused():
            cut = self._cut_documents(documents)
            return [self.assemble(document, levels) for document, levels in zip(documents, cut, strict=True)]

    def cut(self, document: Document) -> Levels:
        """Return the places of a document's chunks without their texts, for `assemble`; see `chunk`."""
        with paused():
            return self._cut_documents([document])[0]

    def _cut_documents(self, documents: Sequence[Document]) -> list[Levels]:
        try:
            return self._cut_outlined([d.text for d in documents], [d.outline for d in documents])
        except LimitTooSmallError as error:
            if len(documents) == 1:
                raise error.inside(documents[0].id) from None
            for document in documents:
                self._cut_documents([document])
            raise

    def assemble(self, document: Document, levels: Levels) -> list[Chunk]:
        """Make the chunks that `cut` placed.

        Args:
            document: The document.
            levels: What `cut` returned of it.

        Returns:
            As `chunk`.
        """
        ids = [
            [chunk_id(document.id, self.fingerprint, level, i) for i in range(len(cuts))]
            for level, cuts in enumerate(levels)
        ]
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
        for i, (spans, context, tokens, parent, own) in enumerate(cuts):
            piece = text[spans[0].start : spans[0].end]
            if len(spans) > 1:
                piece = self.separator.join([piece, *(text[start:end] for start, end in spans[1:])])
            overlap = shared(before, spans)
            before = spans
            if document.outline:
                context = outlined(document, spans)
            yield Chunk(
                ids[i],
                source,
                i,
                total,
                level,
                spans,
                piece,
                content_hash(piece, context),
                overlap,
                None if parent is None else parents[parent],
                around[i],
                around[i + 2],
                context,
                tokens,
                {**own, **metadata} if own else metadata,
            )

    def __reduce__(self) -> tuple[Callable[..., Strategy], tuple[type[Strategy], dict[str, Any]]]:
        for field, names in self.resources.items():
            value = getattr(self, field)
            if not isinstance(value, str):
                rule = "is an object and can't be carried to another process"
                raise InvalidParameterError(field, rule, describe(value), f"Name it instead: {names}.")
        return _rebuild, (type(self), self.parameters)

    def __hash__(self) -> int:
        # Not every object that a parameter may hold has a hash of its own.
        return hash(self.fingerprint)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        return self


class Measured(Strategy):
    """A strategy whose limits are counted in a unit that can be chosen."""

    unit: Unit = Field(default="token", description="What sizes are counted in.")

    @functools.cached_property
    def _ruler(self) -> Ruler:
        return Ruler(self.unit, resolve(self.tokenizer))


def _rebuild(kind: type[Strategy], parameters: dict[str, Any]) -> Strategy:
    return kind(**parameters)


def _as_parameter_error(kind: type[Strategy], error: ValidationError) -> InvalidParameterError:
    """Turn pydantic's report into one sentence about the first problem."""
    fault = first_fault(error.errors())
    if fault.cause is not None:
        return fault.cause
    field = fault.field or "parameters"
    if fault.is_unknown_field:
        remedy = f"Its parameters are: {', '.join(kind.model_fields)}."
        return InvalidParameterError(field, f'is no parameter of "{kind.name}"', fault.value, remedy)
    info = kind.model_fields.get(field)
    remedy = f"The default is {info.default!r}." if info and info.default is not None else "Change or leave it out."
    return InvalidParameterError(field, fault.rule, fault.value, remedy)
