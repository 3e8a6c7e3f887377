"""Registries of named parts: those of this package, and those of packages that announce theirs as entry points.

```toml
[project.entry-points."kinsplit.strategies"]
verse = "my_package.verse:VerseStrategy"
```

A part is imported when it is first used. A name of this package can't be taken by another one, and a part of another
package that can't be used is named in a warning and left out.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from typing import Any, Generic, TypeVar

from kinsplit.errors import InvalidParameterError, KinsplitWarning
from kinsplit.hints import question

T = TypeVar("T")


class PluginWarning(KinsplitWarning):
    """A part of another package can't be used."""


class Registry(Generic[T]):
    """Parts of one kind by name.

    Args:
        kind: Name of the kind in the plural; its entry points have the group `kinsplit.KIND`.
        field: Name of the parameter that takes the names, for errors.
        own: Places of this package's parts by name, such as "kinsplit.parsers.strategies.token:TokenStrategy".
        adopt: Function that takes the name and the object of another package's entry point and returns the part;
            whatever it raises is the reason for leaving the part out.
        forms: Forms of the specs that begin with each own name, such as "hash" and "hash:DIMENSION".
    """

    def __init__(
        self,
        kind: str,
        field: str,
        own: Mapping[str, str],
        adopt: Callable[[str, Any], T],
        forms: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.kind, self.field, self._adopt, self._forms = kind, field, adopt, forms or {}
        self._own = {name: EntryPoint(name, place, f"kinsplit.{kind}") for name, place in own.items()}
        self._loaded: dict[str, T] = {}

    def names(self) -> list[str]:
        """Return all names: those of this package in their order, then the others by name."""
        return [*self._own, *self._others]

    def forms(self, name: str | None = None) -> list[str]:
        """Return the forms of the specs that begin with a name; None for all names."""
        names = self.names() if name is None else [name]
        return [form for each in names for form in self._forms.get(each, (each, f"{each}:..."))]

    def attributes(self) -> dict[str, str]:
        """Return the name that each part has in its module, without importing it."""
        return {name: entry.attr for name, entry in {**self._own, **self._others}.items()}

    def load(self, name: object) -> T:
        """Return the part of a name, which is imported now if it wasn't yet.

        Raises:
            InvalidParameterError: No part has that name, or it can't be used.
        """
        if isinstance(name, str) and name not in self._loaded:
            if name in self._own:
                self._loaded[name] = self._own[name].load()
            elif name in self._others:
                self._load_other(name)
        try:
            return self._loaded[name]  # type: ignore[index]  # Any other key is missing.
        except (KeyError, TypeError):
            remedy = f"{question(self.field, name, self.names())}Known {self.kind}: {', '.join(self.names())}."
            raise InvalidParameterError(self.field, f"must be the name of a {self.field}", name, remedy) from None

    def load_all(self) -> dict[str, T]:
        """Return all parts that can be used, by name."""
        for name in self._others.copy():
            if name not in self._loaded:
                self._load_other(name)
        return {name: self.load(name) for name in self.names()}

    def refresh(self) -> None:
        """Forget the parts of other packages, so that those installed since are found."""
        self.__dict__.pop("_others", None)
        self._loaded = {name: part for name, part in self._loaded.items() if name in self._own}

    def leave_out(self, name: str, why: str) -> None:
        """Leave a part of another package out, with a warning that gives the reason."""
        self._loaded.pop(name, None)
        self._warn(self._others.pop(name), why)

    def of_spec(self, spec: str) -> tuple[T, str]:
        """Return the part that a spec names, and the rest of the spec: for "st:MODEL" the part "st", and "MODEL".

        Raises:
            InvalidParameterError: No part has that name, its specs have another form, or it can't be used.
        """
        name, rest = self.parse(spec)
        return self.load(name), rest

    def parse(self, spec: str) -> tuple[str, str]:
        """Return the name in a spec and the rest, without importing anything; see `of_spec`."""
        if not isinstance(spec, str):
            remedy = question(self.field, str(spec)) if isinstance(spec, PathLike) else ""
            rule = f"must be a text such as {self.forms()[0]}"
            raise InvalidParameterError(self.field, rule, spec, remedy or "Write it in quotes.")
        name, colon, rest = spec.partition(":")
        known = name in self.names()
        shown = f"{name}{colon}" if known else name  # Without the rest, which may hold a password.
        if known and _shape(spec) in map(_shape, self.forms(name)):
            return name, rest
        asked = question(self.field, spec) or ("" if known else question("", name, self.names()))
        remedy = f"{asked}Check the spelling, or install its package."
        raise InvalidParameterError(self.field, f"must be one of {', '.join(self.forms())}", shown, remedy)

    def _load_other(self, name: str) -> None:
        entry = self._others[name]
        try:
            self._loaded[name] = self._adopt(name, entry.load())
        except (Exception, SystemExit) as error:  # Whatever the code of another package does when it is imported.
            self.leave_out(name, repr(error))

    @functools.cached_property
    def _others(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=f"kinsplit.{self.kind}"), key=lambda each: (each.name, _package(each))):
            if entry.name in self._own or entry.name in found:
                self._warn(entry, "its name is taken")
            else:
                found[entry.name] = entry
        return found

    def _warn(self, entry: EntryPoint, why: str) -> None:
        message = f"{entry.name!r} of {_package(entry)} is left out of the {self.kind}: {why}. Update or uninstall it."
        warnings.warn(PluginWarning(message), stacklevel=4)


def _shape(spec: str) -> tuple[bool, bool]:
    """Return whether a spec or a form has a colon, and something after it."""
    _, colon, rest = spec.partition(":")
    return bool(colon), bool(rest.strip())


def _adopter(what: str, fits: Callable[[Any], bool]) -> Callable[[str, Any], Any]:
    def adopt(name: str, part: Any) -> Any:
        if not fits(part):
            raise TypeError(f"{name} must be {what}, not {part!r}")
        return part

    return adopt


#: An `adopt` of `Registry` for parts that are functions or classes.
function = _adopter("a function or a class", callable)


def instance(kind: type[T]) -> Callable[[str, Any], T]:
    """Return an `adopt` of `Registry` for parts that are objects of a type."""
    return _adopter(f"a {kind.__name__}", lambda part: isinstance(part, kind))


def subclass(kind: type[Any]) -> Callable[[str, Any], Any]:
    """Return an `adopt` of `Registry` for parts that are classes derived from another one."""
    what = f"a subclass of {kind.__module__}.{kind.__name__}"
    return _adopter(what, lambda part: isinstance(part, type) and issubclass(part, kind))


def several(kind: type[T]) -> Callable[[str, Any], tuple[T, ...]]:
    """Return an `adopt` of `Registry` for parts that are one object of a type, or a list or tuple of them."""

    def adopt(name: str, part: Any) -> tuple[T, ...]:
        parts = (part,) if isinstance(part, kind) else tuple(part) if isinstance(part, list | tuple) else ()
        if not parts or not all(isinstance(each, kind) for each in parts):
            raise TypeError(f"{name} must be a {kind.__name__} or a tuple of them, not {part!r}")
        return parts

    return adopt


def _package(entry: EntryPoint) -> str:
    distribution: Any = entry.dist
    return f"{distribution.name} {distribution.version}" if distribution else entry.value
