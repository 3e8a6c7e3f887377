"""Prices of embedding models: as given, or from the table that litellm comes with."""

from __future__ import annotations

import functools
import importlib.util
import json
import math
from pathlib import Path
from typing import Any

from kinsplit.errors import InvalidParameterError
from kinsplit.support.environment import read

#: Variable with the price of a million tokens in US dollars.
VARIABLE = "KINSPLIT_EMBEDDING_PRICE"
_TABLE = "model_prices_and_context_window_backup.json"


def price_of(given: float | None, model: str) -> float | None:
    """Return the price of a million tokens in US dollars, or None if it is not known.

    Args:
        given: The price as given; None takes KINSPLIT_EMBEDDING_PRICE, or else litellm's table where it is installed.
        model: Name of the model in that table.

    Raises:
        InvalidParameterError: The price is not a number from 0.
    """
    text = (read(VARIABLE) or "").strip() if given is None else str(given)
    if text:
        try:
            price = float(text)
        except ValueError:
            price = math.nan
        if not 0 <= price < math.inf:
            rule = "must be the price of a million tokens in US dollars"
            raise InvalidParameterError(VARIABLE if given is None else "price", rule, text, "Write for example 0.02.")
        return price
    each = facts(model).get("input_cost_per_token")
    return each * 1e6 if isinstance(each, int | float) else None


def facts(model: str) -> dict[str, Any]:
    """Return what litellm's table says of a model; nothing where litellm is not installed.

    Args:
        model: Name of the model, with or without its provider: the table has some with it and some without.
    """
    provider, _, rest = model.partition("/")
    found = _table().get(model)
    if found is None and rest:
        found = _table().get(rest)
        if isinstance(found, dict) and found.get("litellm_provider") != provider:
            return {}
    return found if isinstance(found, dict) else {}


@functools.cache
def _table() -> dict[str, Any]:
    # The file alone: importing litellm takes seconds, and downloads the newest table.
    package = importlib.util.find_spec("litellm")
    if package is None or package.origin is None:
        return {}
    path = Path(package.origin).parent / _TABLE
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return table if isinstance(table, dict) else {}
