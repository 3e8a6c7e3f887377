"""Every strategy, with a limit that a test chooses."""

from __future__ import annotations

from typing import Any

from kinsplit.parsers import Strategy, create

#: Parameters with which a strategy loads no model.
WITHOUT_MODEL: dict[str, dict[str, Any]] = {
    "semantic": {"embedder": "hash"},
    "cluster": {"embedder": "hash"},
    "llm": {"model": "hash"},
}


def plain(name: str) -> Strategy:
    """Return a strategy with its defaults, but for models, which it does without."""
    return create(name, **WITHOUT_MODEL.get(name, {}))


def sized(name: str, size: int, unit: str = "character", overlap: int = 0, **more: Any) -> Strategy:
    """Return a strategy whose leaves hold at most `size`, in a unit if it can choose one, else in its own.

    `overlap` is left out where the strategy has none.
    """
    if name in {"character", "word", "token"}:
        return create(name, chunk_size=size, chunk_overlap=overlap, **more)
    if name == "sentence":
        return create(name, chunk_size=size, unit=unit, chunk_overlap=overlap, **more)
    if name in {"semantic", "llm"}:
        return create(name, chunk_size=size, unit=unit, **WITHOUT_MODEL[name] | more)
    if name == "structure":
        return create(name, chunk_size=size, unit=unit, **more)
    if name == "hierarchical":
        return create(name, parent_size=4 * size, child_size=size, unit=unit, **more)
    if name == "multigranular":
        return create(name, chunk_sizes=(size, 2 * size), chunk_overlap=overlap, **more)
    if name == "cluster":
        passage = max(1, size // 2)
        overlap = min(overlap, (passage - 1) // 2)
        sizes = {"chunk_size": size, "passage_size": passage, "passage_overlap": overlap}
        return create(name, **sizes, threshold=0.3, **WITHOUT_MODEL[name] | more)
    raise NotImplementedError(f"say how {name!r} is given a size")


def has_unit(name: str) -> bool:
    """Return whether a strategy lets one choose what it counts."""
    return any(field == "unit" for field in create(name).parameters)
