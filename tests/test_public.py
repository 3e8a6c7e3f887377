"""The public names: documented, and each shown by an example that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kinsplit

API = Path(__file__).parent.parent / "docs" / "api.md"
TEXT = API.read_text(encoding="utf-8")
ERRORS = [
    name
    for name in kinsplit.__all__
    if isinstance(getattr(kinsplit, name), type) and issubclass(getattr(kinsplit, name), Exception)
]
#: The public names except the exceptions. A new one is a promise: it needs an example in docs/api.md.
NAMES = [
    "Chunk",
    "Document",
    "Index",
    "KinWeights",
    "Passage",
    "SearchOptions",
    "Span",
    "__version__",
    "create_strategy",
    "read",
    "show",
    "split",
    "strategy_names",
    "to_arrow",
    "to_dataframe",
]


def test_the_public_names_are_these() -> None:
    assert sorted(set(kinsplit.__all__) - set(ERRORS)) == NAMES
    assert kinsplit.__all__ == sorted(kinsplit.__all__) == dir(kinsplit)
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        kinsplit.Nonsense  # noqa: B018


@pytest.mark.parametrize("name", sorted({*NAMES, *ERRORS} - {"__version__"}))
def test_a_public_name_is_documented(name: str) -> None:
    found = getattr(kinsplit, name)
    assert found.__doc__
    if name in ERRORS:
        assert f"| `{name}` | {found.__doc__.splitlines()[0]} |" in TEXT
    else:
        (section,) = [part for part in TEXT.split("\n## ") if f"`{name}`" in part.splitlines()[0]]
        assert re.search(rf">>> .*\b{name}\b", section)


def test_every_exception_is_exported() -> None:
    from kinsplit import errors

    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert defined == set(ERRORS)
