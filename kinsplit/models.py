"""Models as described objects: a spec says which model and how it runs, a card how it must be asked.

A spec has one grammar for embedders, rerankers and language models: `PROVIDER:NAME?OPTION=VALUE&OPTION=VALUE`. The
options of a provider are the parameters of the function or class that its registry names.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints
from urllib.parse import quote, unquote

from pydantic import ConfigDict, TypeAdapter, ValidationError

from kinsplit.errors import InvalidParameterError, require
from kinsplit.hints import question
from kinsplit.registry import Registry
from kinsplit.support.environment import redact_url
from kinsplit.support.settings import Settings

T = TypeVar("T")
#: Options with the address of a server, which a collection doesn't store.
ADDRESSES = ("base_url", "host")
# Characters that stay as they are in the value of an option; "&" begins the next one, and "%" an escaped character.
_PLAIN = "".join(chr(code) for code in range(32, 127) if chr(code) not in "&%")
# An option in the name of a model would be taken for a part of it, and a text be sent to another server than meant.
_MISPLACED = re.compile(r"[:,&]\s*([\w-]+)=")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false"}
_SIMPLE = (str, int, float, bool)


class ModelSpec(Settings):
    """Which model, and how it runs; its options are fields too: `ModelSpec(provider="st", name="m", device="cuda")`.

    Attributes:
        provider: Name of a provider in the registry of the models of a kind.
        name: Name of the model there; "" for a provider with one model.
    """

    model_config = ConfigDict(extra="allow")

    provider: str
    name: str = ""

    @classmethod
    def parse(cls, text: str, field: str = "model") -> Self:
        """Return the spec that a text is.

        Raises:
            InvalidParameterError: Nothing follows the colon, or an option is given twice, without "=" or before "?".
        """
        head, mark, rest = text.partition("?")
        # Blanks stay, so that checks of the text and of the spec see the same name.
        provider, colon, name = head.partition(":")
        shown = redact_url(text)
        require(name.strip() or not colon, field, "must name a model after its provider", shown, "Write PROVIDER:NAME.")
        if misplaced := _MISPLACED.search(head):
            rule = f"has the option {misplaced[1]!r} in the wrong place"
            raise InvalidParameterError(field, rule, shown, f"Write it after a question mark: ?{misplaced[1]}=VALUE.")
        options: dict[str, str] = {}
        for part in rest.split("&") if mark else ():
            option, equals, value = part.partition("=")
            ok = equals and option not in {*options, *cls.model_fields}
            require(ok, field, "must have options like ?NAME=VALUE&NAME=VALUE, each once", shown, "Correct them.")
            options[option] = unquote(value)
        return cls(provider=provider, name=name, **options)

    @classmethod
    def of(cls, value: str | Self | Mapping[str, Any], field: str = "model") -> Self:
        """Return a spec given as text, as an object, or as a table, whose key `spec` may hold the text; see `parse`."""
        if isinstance(value, str):
            return cls.parse(value, field)
        if isinstance(value, cls):
            return value
        ok = isinstance(value, Mapping) and isinstance(value.get("spec", value.get("provider")), str)
        require(ok, field, "must be the spec of a model", value, "Write spec = 'PROVIDER:NAME', or provider and name.")
        table = dict(value)
        given = cls.parse(table.pop("spec"), field).model_dump() if "spec" in table else {}
        return cls(**{**given, **table})

    @property
    def options(self) -> dict[str, Any]:
        """The options by name."""
        return dict(self.__pydantic_extra__ or {})

    def __str__(self) -> str:
        named = f"{self.provider}:{self.name}" if self.name else self.provider
        return named + option_text(self.options)


def option_text(options: Mapping[str, Any]) -> str:
    """Return options as they follow a model: "?a=1&b=2"; those that are None are left out, and "" is for none."""
    joined = "&".join(f"{name}={_text(value)}" for name, value in options.items() if value is not None)
    return f"?{joined}" if joined else ""


def _text(value: object) -> str:
    return quote(str(value).lower() if isinstance(value, bool) else str(value), safe=_PLAIN)


def make(registry: Registry[Callable[..., T]], spec: str | ModelSpec, **context: Any) -> T:
    """Make the model of a spec; see `maker`."""
    return maker(registry, spec, **context)()


def maker(registry: Registry[Callable[..., T]], spec: str | ModelSpec, **context: Any) -> Callable[[], T]:
    """Check a spec, and return the function that makes its model.

    Args:
        registry: Functions and classes that make the models of a kind, by provider. Each is called with the name, if
            its provider has several models, and with the options, which are its other parameters. One with `**options`
            takes any, as text.
        spec: The spec.
        **context: Arguments for those that have such a parameter; an option of the same name takes precedence.

    Raises:
        InvalidParameterError: There is no such provider, it has no such option, or a value is wrong.
    """
    field = registry.field
    registry.parse(str(spec).partition("?")[0])
    asked = ModelSpec.of(spec, field)
    build, shown = registry.load(asked.provider), redact_url(str(asked))
    signature = inspect.signature(build, eval_str=True)
    kinds, takes_any = _parameters(signature)
    is_named = any(":" in form for form in registry.forms(asked.provider))
    first = next((name for name in kinds if name not in context), "") if is_named else ""
    is_needed = first and signature.parameters[first].default is inspect.Parameter.empty
    require(asked.name or not is_needed, field, "must name a model after its provider", shown, "Write PROVIDER:NAME.")
    options = {name: info for name, info in kinds.items() if name not in {first, "api_key"} and _is_simple(info)}
    given = {}
    for name, value in asked.options.items():
        if name in options:
            given[name] = _read(field, shown, name, options[name], value)
        elif takes_any:
            given[name] = value
        else:
            raise _unknown(field, shown, name, [*options])
    names = [_read(field, shown, first or "name", kinds.get(first, str), asked.name)] if asked.name else []
    around = {name: value for name, value in context.items() if name in kinds}
    return partial(build, *names, **{**around, **given})


def _parameters(signature: inspect.Signature) -> tuple[dict[str, Any], bool]:
    """Return the types of parameters, and whether there may be any others."""
    kinds: dict[str, Any] = {}
    takes_any = False
    for each in signature.parameters.values():
        if each.kind is not each.VAR_KEYWORD:
            kinds[each.name] = str if each.annotation is each.empty else each.annotation
        elif get_origin(each.annotation) is Unpack:
            kinds |= get_type_hints(get_args(each.annotation)[0])
        else:
            takes_any = True
    return kinds, takes_any


def _is_simple(kind: Any) -> bool:
    """Return whether a text can stand for values of a type."""
    if get_origin(kind) in (Union, UnionType):
        return all(each is NoneType or _is_simple(each) for each in get_args(kind))
    return kind in _SIMPLE or get_origin(kind) is Literal


def _read(field: str, shown: str, name: str, kind: Any, value: Any) -> Any:
    """Return the value of an option in its type."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError:
        known = next((each for each in (kind, *get_args(kind)) if each in _WORDS), None)
        choices = ", ".join(map(str, get_args(kind)))
        rule = f"{name} must be {_WORDS[known] if known else f'one of {choices}'}"
        raise InvalidParameterError(
            field, rule, shown, f"Write for example {name}=512." if known is int else "Correct it."
        ) from None


def _unknown(field: str, shown: str, name: str, known: list[str]) -> InvalidParameterError:
    if name == "api_key":
        return InvalidParameterError(field, "must not hold a key", "...", "Set the variable of the provider's key.")
    remedy = f"{question('parameter', name, known)}It has: {', '.join(known)}." if known else "Give it without options."
    return InvalidParameterError(field, f"has no option {name!r}", shown, remedy)


class ModelCard(Settings):
    """Properties of a model, read from its files, reported by its server, or set in its spec.

    Attributes:
        weights: Identity of the weights: a hash of them, or the name of the model where they can't be read.
        window: Maximum number of tokens of one input, with special tokens and prefixes; `sys.maxsize` for no limit.
        dimension: Length of a vector; 0 for a model without vectors.
        dimensions: Lengths to which its vectors can be cut, longest first (Matryoshka).
        pooling: How the vectors of tokens become one: mean, cls (the first one), last, or a name of the model's own.
        normalises: Whether the model itself scales its vectors to length 1, which kinsplit does in any case.
        query_prefix: Text before each question.
        passage_prefix: Text before each text for an index.
        tokenizer: Kind of the tokenizer and size of its vocabulary, such as "WordPiece/30522".
        similarity: Measure by which the model's vectors are compared.
        languages: Languages that the model knows, as codes of ISO 639.
        licence: Licence of the weights.
    """

    # Lists of files and servers become tuples.
    model_config = ConfigDict(strict=False)

    weights: str
    window: int
    dimension: int = 0
    dimensions: tuple[int, ...] = ()
    pooling: str | None = None
    normalises: bool | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    tokenizer: str | None = None
    similarity: Literal["cosine", "dot", "euclidean", "manhattan"] = "cosine"
    languages: tuple[str, ...] = ()
    licence: str | None = None

    @property
    def fingerprint(self) -> str:
        """All that the vectors depend on; two models with the same one are interchangeable.

        It has the form of a spec, so that a difference names the option that mends it.
        """
        depends = {
            "dimensions": self.dimension,
            "window": 0 if self.window == sys.maxsize else self.window,
            **{name: getattr(self, name) for name in ("pooling", "query_prefix", "passage_prefix")},
        }
        return self.weights + option_text({name: value or None for name, value in depends.items()})
