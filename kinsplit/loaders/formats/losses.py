"""What a reader saw in a file and did not keep, as one warning for each kind of thing."""

from __future__ import annotations

from collections import Counter

# Each kind for one thing and for several.
_KINDS = {
    "chart rows": ("row of a large chart was", "rows of large charts were"),
    "damage": ("part that can't be read was", "parts that can't be read were"),
    "fields": ("field without a stored result was", "fields without a stored result were"),
    "hidden": ("character of hidden text was", "characters of hidden text were"),
    "objects": ("embedded object was", "embedded objects were"),
    "parts": ("inserted file was", "inserted files were"),
    "pictures": ("picture without a text was", "pictures without a text were"),
    "slides": ("hidden slide was", "hidden slides were"),
    "symbols": ("symbol of an unknown font was", "symbols of unknown fonts were"),
}


class Losses:
    """Counts of what was left out, by kind, with the names of some of it."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._names: dict[str, dict[str, None]] = {}

    def add(self, kind: str, number: int = 1, name: str = "") -> None:
        """Count things of a kind; the names go into the warning, each once."""
        self._counts[kind] += number
        if name:
            self._names.setdefault(kind, {})[name] = None

    def warnings(self) -> tuple[str, ...]:
        """Return a sentence for each kind."""
        return tuple(self._warning(kind, number) for kind, number in sorted(self._counts.items()) if number)

    def _warning(self, kind: str, number: int) -> str:
        if kind not in _KINDS:
            return kind
        names = list(self._names.get(kind, ()))
        more = ", ..." if len(names) > 5 else ""
        listed = f": {', '.join(names[:5])}{more}" if names else ""
        return f"{number:,} {_KINDS[kind][number != 1]} left out{listed}"
