"""`kinsplit models`: providers of models, what is cached and reachable, and a check of one model."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import MissingExtraError, require

if TYPE_CHECKING:
    from kinsplit.inventory import ModelCheck


def models(
    action: str | None = None,
    spec: str | None = None,
    /,
    *,
    kind: Literal["embedder", "reranker", "model"] | None = None,
    terminal: Terminal,
) -> None:
    """List the providers of models, what is cached and what servers offer; check one model, or clear the cache.

    Args:
        action (check|clear): check asks a model one thing, and compares it with its reference implementation; clear
            deletes the converted and distilled models in the cache, which are made again when they are used.
        spec (SPEC): Model to check, such as "st:NAME?device=cpu" or its name in [models] of a configuration file.
        kind: Kind of the model to check, where a provider has several: embedder, reranker, or language model.
    """
    require(action in (None, "check", "clear"), "ACTION", "must be check or clear", action, "Leave it out for a list.")
    require((spec is not None) == (action == "check"), "SPEC", "belongs to check", spec, "Write: models check SPEC.")
    if spec is not None:
        from kinsplit.inventory import check

        with spinner(terminal.aside, "Checking"):
            checked = check(spec, kind)
        terminal.outcome(asdict(checked) | {"card": checked.card.model_dump()}, text_table("", "", rows=_rows(checked)))
    elif action == "clear":
        from kinsplit.inventory import clear

        size = clear()
        terminal.outcome({"bytes": size}, f"Freed {_megabytes(size)}.")
    else:
        _list(terminal)


def _rows(checked: ModelCheck) -> list[tuple[str, str]]:
    card = checked.card.model_dump()
    if card["window"] == sys.maxsize:
        card["window"] = "unlimited"
    if not card["dimension"]:
        card["similarity"] = None
    per = {"embedder": "sentences", "reranker": "texts", "model": "answers"}[checked.kind]
    cosine = checked.reference
    measured = {
        "answer": checked.answer,
        "runs on": checked.runs_on,
        "first answer": f"{checked.load:.2f} s",
        "speed": f"{checked.speed:,.1f} {per} per second",
        "memory": "" if checked.memory is None else _megabytes(checked.memory),
        "reference": "none to compare with" if cosine is None else f"{_equal(cosine)} (lowest cosine {cosine:.6f})",
        "fingerprint": checked.card.fingerprint,
    }
    facts = {"model": checked.name, "kind": checked.kind, **card, **measured}
    return [(name.replace("_", " "), _text(value)) for name, value in facts.items() if value not in ("", None, (), 0)]


def _equal(cosine: float) -> str:
    return "equal" if cosine >= _EQUAL else "near" if cosine >= _NEAR else "different"


# Lowest cosines of vectors that differ by their precision alone, and of those in 4 or 8 bits.
_EQUAL, _NEAR = 0.999, 0.95


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _list(terminal: Terminal) -> None:
    from kinsplit.inventory import cached, providers, servers

    known, sizes = providers(), cached()
    try:
        reached = servers()
    except MissingExtraError:
        reached = {}
    shown = text_table("Spec", "Kind", "Installed")
    for each in known:
        shown.add_row(", ".join(each.forms), each.kind, each.missing or "yes")
    kept = text_table("Cached", "Size", rows=[(path.name, _megabytes(size)) for path, size in sizes.items()])
    offers = [(url, "not reachable" if names is None else ", ".join(names)) for url, names in reached.items()]
    total = f"{_megabytes(sum(sizes.values()))} in the caches; `kinsplit models clear` deletes models made here."
    rows = {
        "providers": [asdict(each) for each in known],
        "cached": {str(path): size for path, size in sizes.items()},
        "servers": reached,
    }
    terminal.outcome(rows, shown, "", kept, total, "", text_table("Server", "Models", rows=offers))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
