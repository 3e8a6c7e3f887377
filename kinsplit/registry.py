"""Registries of named parts: those of this package, and those of packages that announce theirs as entry points.

```toml
[project.entry-points."kinsplit.strategies"]
verse = "my_package.verse:VerseStrategy"
```

A part is imported when it is first used. A name of this package can't be taken by another one, and a part of another
package that can't be imported is named in a warning and left out.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from kinsplit.errors import InvalidParameterError, KinsplitWarning

T = TypeVar("T")


class PluginWarning(KinsplitWarning):
    """A part of another package can't be used."""


class Registry(Generic[T]):
    """Parts of one kind by name.

    Args:
        kind: Name of the kind in the plural; its entry points have the group `kinsplit.KIND`.
        field: Name of the parameter that takes the names, for errors.
        own: Places of this package's parts by name, such as "kinsplit.parsers.strategies.token:TokenStrategy".
    """

    def __init__(self, kind: str, field: str, own: Mapping[str, str]) -> None:
        self.kind, self.field = kind, field
        self._own = dict(own)
        self._loaded: dict[str, T] = {}

    def names(self) -> list[str]:
        """Return all names: those of this package in their order, then the others by name."""
        return [*self._own, *self._others]

    def attributes(self) -> dict[str, str]:
        """Return the name that each part has in its module, without importing it."""
        others = {name: entry.attr for name, entry in self._others.items()}
        return {name: place.partition(":")[2] for name, place in self._own.items()} | others

    def load(self, name: object) -> T:
        """Return the part of a name, which is imported now if it wasn't yet.

        Raises:
            InvalidParameterError: No part has that name, or it can't be imported.
        """
        if isinstance(name, str) and name not in self._loaded:
            if name in self._own:
                module, _, attribute = self._own[name].partition(":")
                self._loaded[name] = getattr(import_module(module), attribute)
            elif name in self._others:
                self._load_other(name)
        try:
            return self._loaded[name]  # type: ignore[index]  # Any other key is missing.
        except (KeyError, TypeError):
            remedy = f"Known {self.kind}: {', '.join(self.names())}."
            raise InvalidParameterError(self.field, f"must be the name of a {self.field}", name, remedy) from None

    def _load_other(self, name: str) -> None:
        entry = self._others[name]
        try:
            self._loaded[name] = entry.load()
        except (Exception, SystemExit) as error:  # Whatever the code of another package does when it is imported.
            del self._others[name]
            self._warn(entry, repr(error))

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


def _package(entry: EntryPoint) -> str:
    distribution: Any = entry.dist
    return f"{distribution.name} {distribution.version}" if distribution else entry.value
