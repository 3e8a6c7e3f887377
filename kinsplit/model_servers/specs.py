"""Specs of models on servers: a name, and options that follow it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from kinsplit.errors import InvalidParameterError
from kinsplit.support.environment import redact_url

_OPTION = re.compile(r"(?:^|[:,])\s*([\w-]+)=")
# In the name of a model, these can only be an option that is written in another way, such as "?base_url=...".
_MISPLACED = re.compile(r"[?&=]\s*([\w-]*)")


def split_options(field: str, spec: str, rest: str, known: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Return the name of a model and its options.

    Raises:
        InvalidParameterError: An option is unknown, given twice or empty. It would otherwise be taken for a part of the
            name, and a text be sent to another server than meant.
    """
    begins = list(_OPTION.finditer(rest))
    model = rest[: begins[0].start()] if begins else rest
    ends = [*(found.start() for found in begins[1:]), len(rest)]
    options: dict[str, str] = {}
    for found, end in zip(begins, ends, strict=False):
        name, value = found[1], rest[found.end() : end].strip()
        if name not in known:
            raise _unknown(field, spec, name, known)
        if not value or name in options:
            rule = f"must have one value for {name}"
            raise InvalidParameterError(field, rule, redact_url(spec), f"Write {name}=VALUE once.")
        options[name] = value
    if misplaced := _MISPLACED.search(model):
        raise _unknown(field, spec, misplaced[1] or misplaced[0], known)
    return model.strip(), options


def _unknown(field: str, spec: str, name: str, known: Sequence[str]) -> InvalidParameterError:
    if not known:
        remedy = "Give the name alone; the address of a server comes from OPENAI_BASE_URL or OLLAMA_HOST."
        return InvalidParameterError(field, f"has no option {name!r}, nor any other", redact_url(spec), remedy)
    near = difflib.get_close_matches(name, known, 1)
    meant = f"Did you mean {near[0]!r}? " if near else ""
    remedy = f"{meant}Options follow the name like this: {':' + ','.join(f'{each}=VALUE' for each in known)}."
    rule = f"has no option {name!r} in this place" if name in known else f"has no option {name!r}"
    return InvalidParameterError(field, rule, redact_url(spec), remedy)
