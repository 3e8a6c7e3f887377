"""A strategy that wraps any splitter, so that all later steps are the same.

The results of any library are converted to texts and offsets, and located in their document.
"""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from importlib.metadata import packages_distributions, version
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from kinsplit.errors import InvalidParameterError, KinsplitError, KinsplitWarning
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut, Levels
from kinsplit.parsers.packing.refine import Unit
from kinsplit.parsers.parameters import Size
from kinsplit.spans import Span
from kinsplit.text.graphemes import code_points, is_space
from kinsplit.tokenizers import resolve


class ForeignPiece(NamedTuple):
    """A chunk as a foreign splitter reports it."""

    text: str | None  # Text; None if only offsets are reported.
    start: int | None = None  # Reported start; None if there is none.
    end: int | None = None  # Reported end; None if there is none.


_TEXTS = ("page_content", "text")
_STARTS = ("start_char_idx", "start_index", "start", "char_start")
_ENDS = ("end_char_idx", "end_index", "end", "char_end")


def to_pieces(found: object) -> list[ForeignPiece]:
    """Convert the result of a splitter to pieces.

    It may have strings, pairs of offsets, or objects with a text or offsets: nodes of LlamaIndex (those with children
    are ignored), documents of LangChain, chunks of chonkie.

    Raises:
        InvalidParameterError: The result is something else.
    """
    if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
        remedy = "Return a list of strings, of (start, end) or of objects that have `start` and `end`."
        raise InvalidParameterError("strategy", "must return a list of chunks", found, remedy)
    return [_to_piece(item) for item in found if not getattr(item, "child_nodes", None)]


def _to_piece(item: Any) -> ForeignPiece:
    if isinstance(item, str):
        return ForeignPiece(item)
    if isinstance(item, tuple | list) and len(item) == 2 and all(_offset(number) is not None for number in item):
        return ForeignPiece(None, *map(_offset, item))
    texts = [text for name in _TEXTS if isinstance(text := getattr(item, name, None), str)]
    text, start, end = texts[0] if texts else None, _first(item, _STARTS), _first(item, _ENDS)
    if text is None and (start is None or end is None):
        remedy = "Return strings, (start, end) or objects that have `text`, or `start` and `end`."
        raise InvalidParameterError("strategy", "must return chunks with a text or offsets", item, remedy)
    if start is not None and end is None and text is not None:
        end = start + len(text)
    return ForeignPiece(text, start, end)


def _first(item: Any, names: Iterable[str]) -> int | None:
    """Return the first available offset of an item, from its attributes or its metadata."""
    metadata = getattr(item, "metadata", None)
    values = metadata if isinstance(metadata, Mapping) else {}
    for name in names:
        for value in (getattr(item, name, None), values.get(name)):
            if (number := _offset(value)) is not None:
                return number
    return None


def _offset(value: object) -> int | None:
    """Return a value if it is a valid offset: attributes may be methods, and -1 stands for "not found"."""
    return int(value) if hasattr(value, "__index__") and not isinstance(value, bool) and int(value) >= 0 else None


def locate(text: str, pieces: Iterable[ForeignPiece]) -> tuple[list[Span], list[str]]:
    """Locate chunks in their document, and return their spans in order, and the texts that don't occur in it.

    Reported offsets are used if they give the chunk's text and no earlier chunk has the same span. Any other chunk is
    searched for after the start of the previous one, preferably ending after it; then anywhere; then ignoring white
    space and case, which tokenizers change. Blank chunks are ignored.
    """
    finder, spans, lost = _Finder(text), list[Span](), list[str]()
    for piece in pieces:
        span = finder.find(piece)
        if span is not None:
            spans.append(span)
        elif piece.text and not piece.text.isspace():
            lost.append(piece.text)
    return sorted(span for span in spans if text[span.start : span.end].strip()), lost


class _Finder:
    """Finder of a document's chunks, one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._before = Span(-1, -1)
        self._found: set[Span] = set()

    def find(self, piece: ForeignPiece) -> Span | None:
        span = self._given(piece)
        if span is None or (piece.text is not None and span in self._found):
            if not piece.text or piece.text.isspace():
                return None
            span = self._exact(piece.text) or self._squeezed(piece.text)
        if span is not None:
            self._before = span
            self._found.add(span)
        return span

    def _given(self, piece: ForeignPiece) -> Span | None:
        if piece.start is None or piece.end is None or not piece.start < piece.end <= len(self._text):
            return None
        is_so = piece.text is None or self._text[piece.start : piece.end] == piece.text
        return Span(piece.start, piece.end) if is_so else None

    def _exact(self, wanted: str) -> Span | None:
        start = _next(self._text, wanted, self._before)
        return None if start < 0 else Span(start, start + len(wanted))

    def _squeezed(self, wanted: str) -> Span | None:
        solid, places = self._solid
        wanted = squeezed(wanted)
        before = Span(*(int(place) for place in np.searchsorted(places, self._before)))
        start = _next(solid, wanted, before if self._found else self._before)
        return None if start < 0 else Span(int(places[start]), int(places[start + len(wanted) - 1]) + 1)

    @cached_property
    def _solid(self) -> tuple[str, np.ndarray[tuple[int], np.dtype[np.intp]]]:
        """The squeezed text, and the offset of each of its characters."""
        return squeezed(self._text), np.flatnonzero(~is_space(code_points(self._text)))


def squeezed(text: str) -> str:
    """Return a text in lower case without white space; a character whose lower case is several is kept."""
    solid = "".join(text.split())
    lower = solid.lower()
    return lower if len(lower) == len(solid) else "".join(c.lower() if len(c.lower()) == 1 else c for c in solid)


def _next(text: str, wanted: str, before: Span) -> int:
    """Return the next offset of a text after the start of a span, preferably ending beyond it; else any, else -1."""
    first = at = text.find(wanted, before.start + 1)
    while 0 <= at <= before.end - len(wanted):
        at = text.find(wanted, at + 1)
    if at >= 0:
        return at
    return first if first >= 0 else text.find(wanted)


class GivenChunks:
    """A splitter that returns existing chunks.

    White space and case are ignored. A chunk belongs to the document of the previous chunk if it occurs there after
    it, otherwise to the next document that holds it. A chunk that no document holds is assigned to the document of
    the previous one, and reported as lost.

    Args:
        chunks: Texts of the chunks, in the order of the documents.
        texts: Texts of the documents.
    """

    def __init__(self, chunks: Sequence[str], texts: Sequence[str]) -> None:
        self._own: dict[str, list[str]] = {}
        solid = [squeezed(text) for text in texts]
        at, behind = 0, 0
        for chunk in chunks:
            if wanted := squeezed(chunk):
                for step in range(len(texts)):
                    number = (at + step) % len(texts)
                    place = solid[number].find(wanted, 0 if step else behind)
                    if place >= 0:
                        at, behind = number, place + 1
                        break
                self._own.setdefault(texts[at], []).append(chunk)

    def __call__(self, text: str) -> list[str]:
        """Return the chunks of a document."""
        return self._own.get(text, [])


_PLAIN = (str, int, float, bool, type(None))


class SplitterConfiguration(NamedTuple):
    """A splitter as JSON."""

    value: Any
    complete: bool  # Whether objects with this value always split alike; False if a setting is an opaque object.


def configuration(splitter: object) -> SplitterConfiguration:
    """Return the class, version and settings of a splitter."""
    opaque: list[object] = []
    if isinstance(splitter, FunctionType | BuiltinFunctionType | MethodType | partial | type):
        value = _configured(splitter, 2, opaque)
    else:
        kind = type(splitter)
        own = {**getattr(splitter, "__dict__", {}), **(getattr(splitter, "__pydantic_private__", None) or {})}
        value = [_name(kind), _version(kind) or _source(kind), _configured(own, 2, opaque)]
    return SplitterConfiguration(value, complete=not opaque)


def _configured(value: Any, depth: int, opaque: list[object]) -> Any:
    """Return a setting as JSON, and add it to the opaque ones if that doesn't say all about it."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping) and depth:
        pairs = {str(key): _configured(own, depth - 1, opaque) for key, own in value.items()}
        return {key: pairs[key] for key in sorted(pairs)}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [_configured(own, depth - 1, opaque) for own in ordered]
    if isinstance(value, partial) and depth:
        return ["partial", _configured([value.func, list(value.args), value.keywords], depth, opaque)]
    if isinstance(value, BuiltinFunctionType | type):
        return _name(value)
    if not isinstance(value, FunctionType) or value.__closure__ is not None:
        opaque.append(value)
    if isinstance(value, FunctionType):
        return [_name(value), _source(value)]
    return _name(value if isinstance(value, MethodType) else type(value))


def _name(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


def _version(kind: type) -> str:
    """Return the installed packages that a class may come from, with their versions; "" if none."""
    package = kind.__module__.partition(".")[0]
    return ", ".join(f"{name} {version(name)}" for name in sorted(set(_packages().get(package, ()))))


@cache
def _packages() -> Mapping[str, list[str]]:
    return packages_distributions()


def _source(written: FunctionType | type) -> str:
    """Return a hash of the source of an object's module, since it may use other objects there."""
    try:
        source = inspect.getsource(inspect.getmodule(written) or written)
    except (OSError, TypeError):
        code = getattr(written, "__code__", None)
        source = code.co_code.hex() + repr(code.co_consts) if code else ""
    return hashlib.blake2b(source.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class UnlocatedWarning(KinsplitWarning):
    """A splitter made chunks that don't occur in their document, so they can't be scored.

    Args:
        splitter: Name of the splitter.
        lost: Number of chunks that don't occur.
        total: Number of all chunks.
        example: Text of a lost chunk.
    """

    def __init__(self, splitter: str, lost: int, total: int, example: str) -> None:
        super().__init__(splitter, lost, total, example)
        self.splitter, self.lost, self.total, self.example = splitter, lost, total, example

    def __str__(self) -> str:
        count = f"{self.lost:,} of {self.total:,} chunks are no text of their document and were left out"
        return f"{self.splitter}: {count}, such as {self.example[:60]!r}. Labels there count as not found."

    @classmethod
    def combined(cls, found: Sequence[UnlocatedWarning]) -> list[UnlocatedWarning]:
        """Return one warning for each splitter."""
        by_name: dict[str, list[UnlocatedWarning]] = {}
        for one in found:
            by_name.setdefault(one.splitter, []).append(one)
        return [
            cls(name, sum(one.lost for one in own), sum(one.total for one in own), own[0].example)
            for name, own in by_name.items()
        ]


class ForeignStrategy(Strategy):
    """A splitter of another library, or a function, as a strategy.

    Its chunks are slices of the document, with the document's own white space; a chunk that doesn't occur in the
    document is left out with an `UnlocatedWarning`.
    """

    name = "foreign"
    summary = "A splitter of another library, or a function"
    incidental: ClassVar = frozenset({"chunk_size", "unit"})
    resources: ClassVar = {**Strategy.resources, "splitter": "a spec, as `kinsplit evaluate --strategy` takes it"}

    splitter: Any = Field(description="The splitter.")
    spec: str = Field(default="", description="Specification of the splitter; empty for an object.")
    chunk_size: Size | None = Field(default=None, description="Limit of its chunks, in `unit`; None if not known.")
    unit: Unit = "token"

    @property
    def described(self) -> dict[str, Any]:
        """The parameters, with the class and settings of the splitter."""
        return {**super().described, "splitter": configuration(self.splitter).value}

    @property
    def repeatable(self) -> bool:
        """Whether all splitters with the same fingerprint split alike."""
        if not isinstance(self.tokenizer, str):
            return False
        # A spec identifies a splitter, unless it names an object in a module.
        return configuration(self.splitter).complete or (bool(self.spec) and not self.spec.startswith("python:"))

    def _cut(self, texts: Sequence[str]) -> list[Levels]:
        call = caller(self.splitter)
        found = [self._located(call, text) for text in texts]
        slices = [text[s.start : s.end] for text, (spans, _) in zip(texts, found, strict=True) for s in spans]
        counts = iter(resolve(self.tokenizer).count(slices).tolist())
        lost = [text for _, missing in found for text in missing]
        if lost:
            total = len(lost) + sum(len(spans) for spans, _ in found)
            warnings.warn(UnlocatedWarning(self.title, len(lost), total, lost[0]), stacklevel=2)
        return [[[Cut((span,), tokens=next(counts)) for span in spans]] for spans, _ in found]

    @property
    def title(self) -> str:
        """The spec, or the name of the object's class or function."""
        given = self.splitter if hasattr(self.splitter, "__qualname__") else type(self.splitter)
        return self.spec or str(given.__qualname__)

    def _located(self, call: Callable[[str], object], text: str) -> tuple[list[Span], list[str]]:
        if not text.strip():
            return [], []
        try:
            found = call(text)
        except KinsplitError:
            raise
        except Exception as error:
            rule = f"could not split a document ({type(error).__name__}: {error})"
            raise InvalidParameterError("strategy", rule, self.title, "Try the splitter on the text alone.") from error
        return locate(text, to_pieces(found))


def caller(splitter: Any) -> Callable[[str], object]:
    """Return the function of a splitter that splits one text.

    Raises:
        InvalidParameterError: It is none of these.
    """
    if hasattr(splitter, "get_nodes_from_documents"):
        return lambda text: _nodes(splitter, text)
    if hasattr(splitter, "create_documents"):
        return lambda text: splitter.create_documents([text])
    for method in ("split_text", "chunk"):
        if callable(found := getattr(splitter, method, None)):
            return found  # type: ignore[no-any-return]  # Typed differently by each library, or not at all.
    if callable(splitter):
        return splitter  # type: ignore[no-any-return]
    rule = "must be a strategy, a NodeParser, a TextSplitter, a chonkie chunker or a function"
    raise InvalidParameterError("strategy", rule, splitter, "Give a function from a text to its chunks.")


def _nodes(parser: Any, text: str) -> object:
    from llama_index.core.schema import Document

    return parser.get_nodes_from_documents([Document(text=text)])
