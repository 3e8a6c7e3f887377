"""`kinsplit stores`, `doctor` and `verify`: the available stores, and whether one works."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from typing import Any

import typer

from kinsplit.cli.command import SOME_FAILED
from kinsplit.cli.options import STORE
from kinsplit.cli.output.progress import spinner
from kinsplit.cli.output.tables import counted, text_table
from kinsplit.cli.output.terminal import Terminal
from kinsplit.errors import require


def stores(name: str | None = None, /, *, terminal: Terminal) -> None:
    """List the types of stores with their addresses, or the options of one of them.

    Args:
        name (NAME): Store whose options to show.
    """
    from kinsplit.stores.address import STORES

    engines = STORES.load_all()
    require(name is None or name in engines, "NAME", f"must be one of {', '.join(engines)}", name, "Take one of these.")
    if name is not None:
        _show(_described(name), terminal)
        return
    table = text_table("Address", "For", "Installed")
    for each, engine in engines.items():
        remedy = "yes" if engine.installed else f'pip install "kinsplit[{engine.extra}]"'
        table.add_row(", ".join(STORES.forms(each)), engine.purpose, remedy)
    terminal.outcome([*map(_described, engines)], table, "For the options of a store: kinsplit stores NAME")


def _described(name: str) -> dict[str, Any]:
    from kinsplit.stores.address import STORES
    from kinsplit.stores.engines.catalog import describe

    engine = STORES.load(name)
    return {
        "engine": name,
        "addresses": STORES.forms(name),
        "purpose": engine.purpose,
        "installed": engine.installed,
        "options": [] if engine.options is None else describe(engine.options),
    }


def _show(store: dict[str, Any], terminal: Terminal) -> None:
    from kinsplit.stores.engines.catalog import default_text

    options = store["options"]
    rows = [(o["name"], o["scope"], default_text(o["default"]), o["type"], o["description"]) for o in options]
    table = text_table("Option", "Applies to", "Default", "Type", "Meaning", rows=rows)
    intro = "Query parameters of a URL, such as ?hnsw_m=32&hnsw_ef=400, by what they apply to:"
    terminal.outcome(store, *((intro, table) if options else (f"{store['engine']} has no options.",)))


def doctor(store: str = STORE, *, terminal: Terminal) -> None:
    """Try every operation of a store on a collection of its own, and drop that collection again.

    Other collections are neither read nor changed.
    """
    from kinsplit.stores.maintenance.doctor import examine

    checks = []
    with closing(examine(store)) as examination:
        for check in examination:
            checks.append(check)
            if not terminal.as_json:
                terminal.line(f"{check.seconds * 1000:7.0f} ms  {check.name}: {check.problem or 'works'}")
    failed = sum(check.problem is not None for check in checks)
    rows = [{**asdict(check), "works": check.problem is None} for check in checks]
    outcome = counted(failed, "problem") if failed else "all work"
    terminal.outcome({"checks": rows}, f"{counted(len(checks), 'operation')}: {outcome}.")
    if failed:
        raise typer.Exit(SOME_FAILED)


def verify(store: str = STORE, collection: str = "default", model: str | None = None, *, terminal: Terminal) -> None:
    """Check that every link resolves, every text matches its hash, and no chunk is an orphan.

    Args:
        model (SPEC): Embedding model, such as bundled or st:NAME, whose files to check by their SHA-256 instead of a
            collection.
    """
    if model is not None:
        _verify_model(model, terminal)
        return
    from kinsplit.stores import open_store
    from kinsplit.stores.maintenance import verify as find_problems
    from kinsplit.stores.store import agreed

    with open_store(store, collection) as opened, agreed(), spinner(terminal.aside, "Verifying"):
        problems, chunks, documents = find_problems(opened), opened.count(0), len(opened.sources())
    report = {"documents": documents, "chunks": chunks, "problems": [asdict(problem) for problem in problems]}
    found = counted(len(problems), "problem") if problems else "no problems"
    held = f"{counted(documents, 'document')} in {counted(chunks, 'chunk')} and their parents"
    terminal.outcome(report, *(f"{problem}." for problem in problems), f"{held}: {found}.")
    if problems:
        raise typer.Exit(SOME_FAILED)


def _verify_model(model: str, terminal: Terminal) -> None:
    from kinsplit.embedding import verify as check

    with spinner(terminal.aside, "Verifying"):
        checked = check(model)
    damaged = [one for one in checked if one.problem is not None]
    whole = "all files intact" if checked else "no checksums to compare with"
    terminal.outcome(
        {"model": model, "files": [{"path": str(one.path), "problem": one.problem} for one in checked]},
        *(f"{one.path}: {one.problem or 'intact'}." for one in checked),
        f"{model}: {counted(len(damaged), 'problem') if damaged else whole}.",
    )
    if damaged:
        raise typer.Exit(SOME_FAILED)
