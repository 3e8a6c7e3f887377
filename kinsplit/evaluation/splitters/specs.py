"""Splitter specifications, as the command line takes them: `[LABEL=]NAME[:key=value,...]`."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from kinsplit.errors import InvalidParameterError, MissingExtraError
from kinsplit.evaluation.splitters.foreign import ForeignStrategy, caller
from kinsplit.parsers import Strategy, create, default_strategy, names, own_resources
from kinsplit.parsers.packing.refine import Unit
from kinsplit.support.literals import read_value, write_value
from kinsplit.tokenizers import BUNDLED, Tokenizer, resolve

#: Modules and package of the splitters of other libraries.
_LIBRARIES = {
    "langchain": (("langchain_text_splitters", "langchain_experimental.text_splitter"), "langchain-text-splitters"),
    "llama-index": (("llama_index.core.node_parser",), "llama-index-core"),
    "chonkie": (("chonkie",), "chonkie"),
}
_EXTRAS = {"langchain": "langchain", "llama-index": "llama-index", "chonkie": "benchmarks"}
_FORMS = (
    "default, NAME:key=value,..., langchain:CLASS:..., llama-index:CLASS:..., chonkie:CLASS:... or python:MODULE:NAME"
)
_SIGNS = re.compile(r"[\[{\]},]")
# A JSON string, closed or not, or punctuation outside of strings.
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*(?:"|(?P<open>\\?\Z))|[\[{\]},]', re.DOTALL)


class LabelledStrategy(NamedTuple):
    """A strategy with its label."""

    label: str
    strategy: Strategy


def from_spec(text: str, tokenizer: str = BUNDLED, embedder: str = "bundled") -> LabelledStrategy:
    """Make a strategy from a specification.

    `default` is the strategy of a new collection. `sentence:chunk_size=160,chunk_overlap=0` is one of kinsplit's;
    `langchain:RecursiveCharacterTextSplitter:chunk_size=200`, `llama-index:SentenceSplitter` and
    `chonkie:RecursiveChunker` are splitters of these libraries; `python:package.module:function` is a function, or
    a class or object of any of these kinds. Values are JSON where they parse, and text otherwise.

    Args:
        text: `[LABEL=]NAME[:key=value,...]`; the label defaults to the rest.
        tokenizer: Default tokenizer of strategies that take one. LangChain's splitters count characters, unless
            `length_function=tokens` is given.
        embedder: Default embedder of kinsplit's semantic strategies.

    Raises:
        InvalidParameterError: The text is not a valid specification.
        MissingExtraError: The library is not installed.
    """
    found = re.fullmatch(r"(?:([^:=]+)=)?(.+)", text, re.DOTALL)
    if found is None:
        raise _wrong("must name a splitter", text)
    spec = found[2].strip()
    return LabelledStrategy((found[1] or spec).strip(), _strategy(spec, tokenizer, embedder))


def as_strategy(
    splitter: object,
    spec: str = "",
    tokenizer: str = BUNDLED,
    *,
    chunk_size: int | None = None,
    unit: Unit = "token",
) -> Strategy:
    """Wrap any splitter as a strategy.

    Args:
        splitter: A strategy, which is returned unchanged; a LlamaIndex NodeParser, whose nodes with children are
            ignored; a LangChain TextSplitter; a chonkie chunker; or a function from a text to strings, pairs of
            offsets or objects with a text or offsets.
        spec: Specification of the splitter; "" for none.
        tokenizer: Spec of the tokenizer that counts the tokens of the chunks.
        chunk_size: Limit of the splitter's chunks, by which its cuts are judged; None if it isn't known.
        unit: Unit of chunk_size.

    Raises:
        InvalidParameterError: It is none of these.
    """
    if isinstance(splitter, Strategy):
        return splitter
    caller(splitter)
    return ForeignStrategy(splitter=splitter, spec=spec, tokenizer=tokenizer, chunk_size=chunk_size, unit=unit)


def spec_of(strategy: Strategy) -> str:
    """Return the specification of a strategy, with the parameters that differ from its defaults."""
    if isinstance(strategy, ForeignStrategy):
        return strategy.title
    fields = type(strategy).model_fields
    own = {key: value for key, value in strategy.described.items() if value != fields[key].default}
    pairs = ",".join(f"{key}={write_value(value)}" for key, value in own.items())
    return f"{strategy.name}:{pairs}" if pairs else strategy.name


def _strategy(spec: str, tokenizer: str, embedder: str) -> Strategy:
    head, _, rest = spec.partition(":")
    if head == "default" and not rest:
        return default_strategy()
    if head in names():
        own = own_resources(head, tokenizer=tokenizer, embedder=embedder)
        strategy = create(head, **{**own, **_parameters(rest, spec)})
        resolve(strategy.tokenizer)
        return strategy
    if head == "python" or head in _LIBRARIES:
        return _foreign(head, rest, spec, tokenizer)
    raise _wrong("must name a splitter", spec)


def _foreign(head: str, rest: str, spec: str, tokenizer: str) -> Strategy:
    if head == "python":
        module, _, rest = rest.partition(":")
        name, _, rest = rest.partition(":")
        found = _module(module, spec)
        if not name or not hasattr(found, name):
            raise _wrong(f"must name something that is in {module}", spec)
        target = getattr(found, name)
    else:
        name, _, rest = rest.partition(":")
        target = _peer(head, name, spec)
    parameters = _parameters(rest, spec)
    if isinstance(target, type):
        splitter = _made(target, {**_counting(target, parameters, tokenizer), **parameters}, spec, tokenizer)
    elif parameters and not callable(target):
        raise _wrong("must name a class or a function to have parameters", spec)
    else:
        splitter = partial(target, **parameters) if parameters else target
    # LangChain's splitters count characters, unless they are told otherwise.
    unit: Unit = "character" if head == "langchain" and "length_function" not in parameters else "token"
    return as_strategy(splitter, spec, tokenizer, chunk_size=parameters.get("chunk_size"), unit=unit)


def _made(kind: type, parameters: Mapping[str, Any], spec: str, tokenizer: str) -> object:
    if parameters.get("length_function") == "tokens":
        parameters = {**parameters, "length_function": _Length(resolve(tokenizer))}
    try:
        return kind(**parameters)
    except ImportError as error:
        raise InvalidParameterError("strategy", f"needs a package ({error})", spec, "Install it.") from error
    except Exception as error:
        rule = f"could not be made ({type(error).__name__}: {error})"
        raise InvalidParameterError("strategy", rule, spec, "Change its parameters.") from error


def _counting(kind: type, given: Mapping[str, Any], tokenizer: str) -> dict[str, Any]:
    """Return the tokenizer argument for a class of another library, if it takes one and none is given."""
    try:
        if "tokenizer" in given or "tokenizer" not in inspect.signature(kind).parameters:
            return {}
    except ValueError:  # Classes written in C may have no signature.
        return {}
    counter = resolve(tokenizer)
    if kind.__module__.startswith("chonkie"):
        return {"tokenizer": getattr(counter, "backend", None) or _Length(counter)}
    return {"tokenizer": _Tokens(counter)}


class _Length:
    """Counter of the tokens of a text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer, self.name = tokenizer, tokenizer.name

    def __call__(self, text: str) -> int:
        return int(self._tokenizer.count([text])[0])


class _Tokens(_Length):
    """Tokenizer for LlamaIndex, which uses only the length of the result."""

    def __call__(self, text: str) -> range:  # type: ignore[override]
        return range(super().__call__(text))


def _peer(library: str, name: str, spec: str) -> Any:
    modules, package = _LIBRARIES[library]
    missing: list[ImportError] = []
    for module in modules:
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ImportError as error:
            missing.append(error)
        else:
            if isinstance(found, type):
                return found
    if len(missing) == len(modules):
        raise MissingExtraError(package, _EXTRAS[library]) from missing[0]
    raise _wrong(f"must name a class of {package}", spec)


def _module(name: str, spec: str) -> Any:
    if "" not in sys.path:
        sys.path.append("")  # The user's splitter may be in the working folder, as for `python -m`.
    try:
        return importlib.import_module(name)
    except Exception as error:  # Importing a module can raise anything.
        raise _wrong(f"must name a module that can be imported ({type(error).__name__}: {error})", spec) from error


def _parameters(text: str, spec: str) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    for pair in filter(None, map(str.strip, _split(text))):
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier() or key in parameters:
            raise _wrong(f"must have key=value, each key once, and not {pair!r}", spec)
        parameters[key] = read_value(value)
    return parameters


def _split(text: str) -> Iterator[str]:
    """Yield the parts between commas outside of brackets and quotes."""
    begin = depth = 0
    for found in _signs(text):
        if found[0] in ("[", "{"):
            depth += 1
        elif found[0] in ("]", "}"):
            depth -= 1
        elif found[0] == "," and not depth:
            yield text[begin : found.start()]
            begin = found.end()
    yield text[begin:]


def _signs(text: str) -> Iterator[re.Match[str]]:
    """Yield brackets and commas outside of strings, and the strings; an unclosed quotation mark is text."""
    for found in _TOKENS.finditer(text):
        if found["open"] is not None:
            yield from _SIGNS.finditer(text, found.start())
            return
        yield found


def _wrong(rule: str, spec: str) -> InvalidParameterError:
    return InvalidParameterError("strategy", rule, spec, f"Write {_FORMS}; kinsplit's are: {', '.join(names())}.")
