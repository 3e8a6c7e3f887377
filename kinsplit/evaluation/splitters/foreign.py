"""A strategy that wraps any splitter, so that all later steps are the same."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.metadata import packages_distributions, version
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from kinsplit.errors import InvalidParameterError, KinsplitError, KinsplitWarning
from kinsplit.evaluation.splitters.pieces import locate, to_pieces
from kinsplit.parsers import Strategy
from kinsplit.parsers.base import Cut, Levels
from kinsplit.spans import Span
from kinsplit.tokenizers import resolve

_PLAIN = (str, int, float, bool, type(None))


class SplitterConfiguration(NamedTuple):
    """A splitter as JSON.

    Attributes:
        complete: Whether objects with this value always split alike; False if a setting is an opaque object.
    """

    value: Any
    complete: bool


def configuration(splitter: object) -> SplitterConfiguration:
    """Return the class, version and settings of a splitter."""
    if isinstance(splitter, FunctionType | BuiltinFunctionType | MethodType | partial | type):
        return _of(splitter, depth=2)
    kind = type(splitter)
    settings = _of({**getattr(splitter, "__dict__", {}), **(getattr(splitter, "__pydantic_private__", None) or {})}, 2)
    return SplitterConfiguration([_name(kind), _version(kind) or _source(kind), settings.value], settings.complete)


def _of(value: Any, depth: int) -> SplitterConfiguration:
    if isinstance(value, _PLAIN):
        return SplitterConfiguration(value, complete=True)
    if isinstance(value, Mapping) and depth:
        pairs = {str(key): _of(own, depth - 1) for key, own in value.items()}
        return SplitterConfiguration(
            {k: pairs[k].value for k in sorted(pairs)}, all(own.complete for own in pairs.values())
        )
    if isinstance(value, list | tuple | set | frozenset) and depth:
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        items = [_of(own, depth - 1) for own in ordered]
        return SplitterConfiguration([own.value for own in items], all(own.complete for own in items))
    if isinstance(value, partial) and depth:
        parts = _of([value.func, list(value.args), value.keywords], depth)
        return SplitterConfiguration(["partial", parts.value], parts.complete)
    if isinstance(value, BuiltinFunctionType | type):
        return SplitterConfiguration(_name(value), complete=True)
    if isinstance(value, FunctionType):
        return SplitterConfiguration([_name(value), _source(value)], value.__closure__ is None)
    return SplitterConfiguration(_name(value if isinstance(value, MethodType) else type(value)), complete=False)


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
        by_name: dict[str, UnlocatedWarning] = {}
        for one in found:
            before = by_name.get(one.splitter)
            by_name[one.splitter] = (
                one
                if before is None
                else cls(one.splitter, before.lost + one.lost, before.total + one.total, before.example)
            )
        return list(by_name.values())


class ForeignStrategy(Strategy):
    """A splitter of another library, or a function, as a strategy.

    Its chunks are slices of the document, with the document's own white space; a chunk that doesn't occur in the
    document is left out with an `UnlocatedWarning`.
    """

    name = "foreign"
    summary = "A splitter of another library, or a function"
    resources: ClassVar = {**Strategy.resources, "splitter": "a spec, as `kinsplit evaluate --strategy` takes it"}

    splitter: Any = Field(description="The splitter.")
    spec: str = Field(default="", description="Specification of the splitter; empty for an object.")

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
