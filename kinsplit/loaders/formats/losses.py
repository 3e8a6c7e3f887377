"""Things that a reader saw in a file and did not keep, as one warning for each kind."""

from __future__ import annotations

from dataclasses import dataclass, field

_MOST_NAMES = 5


@dataclass(slots=True)
class _Kind:
    several: str
    count: int = 0
    names: dict[str, None] = field(default_factory=dict)


class Losses:
    """Counts of what was left out, by kind, with the names of some of it."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}

    def leave_out(self, one: str, several: str = "", *, number: int = 1, name: str = "") -> None:
        """Count things of a kind.

        Args:
            one: The kind, in the singular.
            several: Its plural; by default the singular with an s.
            number: How many things there are.
            name: What one of them is called; the warning has each name once.
        """
        if number:
            kind = self._kinds.setdefault(one, _Kind(several or f"{one}s"))
            kind.count += number
            kind.names |= {name: None} if name else {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each kind."""
        return tuple(_warning(one, kind) for one, kind in self._kinds.items())


def _warning(one: str, kind: _Kind) -> str:
    names = list(kind.names)
    more = ", ..." if len(names) > _MOST_NAMES else ""
    listed = f": {', '.join(names[:_MOST_NAMES])}{more}" if names else ""
    return (
        f"1 {one} was left out{listed}" if kind.count == 1 else f"{kind.count:,} {kind.several} were left out{listed}"
    )
