"""Engines: what keeps the chunks of a store. `kinsplit.stores.address` lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Any

from kinsplit.stores.engines.catalog import Catalog, StoreOptions
from kinsplit.stores.store import ChunkStore
from kinsplit.stores.values import Schema
from kinsplit.support.extras import needs


@dataclass(frozen=True, slots=True)
class Engine:
    """A kind of store.

    Attributes:
        open: Function that opens a collection, given the address after the colon, its name and its schema, or None.
            With a schema, it makes one that does not exist.
        catalog: Function that opens the catalog, given the address after the colon.
        purpose: Intended users, for a table of the engines.
        package: Required module, if any.
        extra: Extra of kinsplit that installs the module.
        holds_lock: Whether it holds the GIL during its calls.
        options: Options in the query string of a server's URL, if there are any.
        is_server: Function that tells whether several processes can open a collection at an address at once, given the
            address after the colon.
    """

    open: Callable[[str, str, Schema | None], ChunkStore]
    catalog: Callable[[str], Catalog]
    purpose: str
    package: str | None = None
    extra: str | None = None
    holds_lock: bool = False
    options: type[StoreOptions] | None = None
    is_server: Callable[[str], bool] = lambda _: False

    @property
    def installed(self) -> bool:
        """Whether the required module is installed."""
        return self.package is None or find_spec(self.package) is not None


def deferred(
    place: str, extra: str, parse: Callable[[str], tuple[Any, ...]] = lambda location: (location,)
) -> Callable[..., Any]:
    """Return a function of a location that calls a class, which is imported then, with the engine's client.

    Args:
        place: Place of the class, such as "kinsplit.stores.engines.edge.store:EdgeStore".
        extra: Extra of kinsplit that installs the client.
        parse: Function that makes the first arguments of the class from the location.
    """

    def call(location: str, *others: Any) -> Any:
        with needs(extra):
            found = resolve_name(place)
        return found(*parse(location), *others)

    return call
