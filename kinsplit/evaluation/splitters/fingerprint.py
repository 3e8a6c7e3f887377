"""The identity of a splitter object: its class, version and settings."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from functools import cache, partial
from importlib.metadata import packages_distributions, version
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, NamedTuple

_PLAIN = (str, int, float, bool, type(None))


class Configuration(NamedTuple):
    """A splitter as JSON.

    Attributes:
        value: Class, version and settings.
        complete: Whether objects with this value always split alike; False if a setting is an opaque object.
    """

    value: Any
    complete: bool


def configuration(splitter: object) -> Configuration:
    """Return the class, version and settings of a splitter."""
    if isinstance(splitter, FunctionType | BuiltinFunctionType | MethodType | partial | type):
        return _of(splitter, depth=2)
    kind = type(splitter)
    settings = _of({**getattr(splitter, "__dict__", {}), **(getattr(splitter, "__pydantic_private__", None) or {})}, 2)
    return Configuration([_name(kind), _version(kind) or _source(kind), settings.value], settings.complete)


def _of(value: Any, depth: int) -> Configuration:
    if isinstance(value, _PLAIN):
        return Configuration(value, complete=True)
    if isinstance(value, Mapping) and depth:
        pairs = {str(key): _of(own, depth - 1) for key, own in value.items()}
        return Configuration({k: pairs[k].value for k in sorted(pairs)}, all(own.complete for own in pairs.values()))
    if isinstance(value, list | tuple | set | frozenset) and depth:
        ordered = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        items = [_of(own, depth - 1) for own in ordered]
        return Configuration([own.value for own in items], all(own.complete for own in items))
    if isinstance(value, partial) and depth:
        parts = _of([value.func, list(value.args), value.keywords], depth)
        return Configuration(["partial", parts.value], parts.complete)
    if isinstance(value, BuiltinFunctionType | type):
        return Configuration(_name(value), complete=True)
    if isinstance(value, FunctionType):
        return Configuration([_name(value), _source(value)], value.__closure__ is None)
    return Configuration(_name(value if isinstance(value, MethodType) else type(value)), complete=False)


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
