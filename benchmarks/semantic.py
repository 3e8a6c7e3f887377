"""Cost of semantic splitting: `python benchmarks/semantic.py`.

All systems get the same embedder. The limit is one pass of it over the distinct sentences. Rounds are interleaved, and
the best of each system counts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer
from parsers import machine
from rich.console import Console
from rich.progress import track
from rich.table import Table
from semantic_systems import PEER_DEFAULTS, PEERS, kinsplit
from targets import Outcome
from texts import corpus

from kinsplit.embedding import Embedder, create
from kinsplit.parsers.packing.refine import slices
from kinsplit.parsers.units.sentences import sentences

#: Corpora for the transformer; the static model reads all.
_FEW = ("state_of_the_union", "wikitexts")
_OWN, _PASS, _MODEL2VEC = "kinsplit semantic", "one pass over the sentences", "model2vec, one pass over the sentences"
#: Maximum ratio of the strategy's time to one pass.
_SLOWER = 1.05
#: Maximum ratio to model2vec's pass: 0.4 s for all corpora with the static model, where the pass takes 0.53 s.
_STATIC = 0.4 / 0.53

app = typer.Typer(add_completion=False)
console = Console(width=None if sys.stdout.isatty() else 120)

#: A name and the timed call.
Task = tuple[str, Callable[[], object]]


@app.command()
def main(
    embedder: Annotated[str, typer.Option(help="Embeds the two smaller corpora.")] = "bundled",
    repeat: Annotated[int, typer.Option(min=1, help="Rounds to measure.")] = 3,
    peers: Annotated[bool, typer.Option("--peers/--no-peers", help="Measure other libraries as well.")] = True,
    json_file: Annotated[Path | None, typer.Option("--json", help="Also write the numbers to this file.")] = None,
) -> None:
    """Measure the strategy beside its limit and other libraries."""
    by_name = corpus().by_name
    few, everything = [by_name[name] for name in _FEW], list(by_name.values())
    transformer, static = create(embedder), create("static")
    measured = {
        embedder: compare(tasks(few, transformer, peers), repeat),
        "static": compare([*tasks(everything, static, peers), *_model2vec(everything)], repeat),
    }
    for (name, seconds), texts in zip(measured.items(), (few, everything), strict=True):
        console.print(_table(f"{name}, {sum(map(len, texts)):,} characters, {repeat} rounds", seconds))
    wanted = outcomes(*measured.values())
    table = Table("wanted", "measured", "limit", "met", title="Against what is wanted")
    for outcome in wanted:
        met = {True: "[green]yes[/]", False: "[red]NO[/]", None: "not measured"}[outcome.met]
        table.add_row(outcome.what, outcome.shown, outcome.limit, met)
    console.print(table)
    if json_file:
        result = {**measured, "wanted": [outcome._asdict() for outcome in wanted]}
        json_file.write_text(json.dumps({"machine": machine(), **result}, indent=2) + "\n", encoding="utf-8")


def tasks(texts: Sequence[str], embedder: Embedder, peers: bool) -> list[Task]:
    """Return the timed calls: the limit, the strategy, and the installed peers with their defaults."""
    found = different_sentences(texts)
    timed: list[Task] = [(_PASS, lambda: embedder.embed(found))]
    for system in (kinsplit("semantic"), *(peer for peer in PEERS if peers and peer.name in PEER_DEFAULTS)):
        try:
            split = system.make(embedder)
        except ImportError:
            continue
        timed.append((system.name, lambda split=split: split(texts)))  # type: ignore[misc]
    return timed


def different_sentences(texts: Sequence[str]) -> list[str]:
    """Return the distinct sentences of texts."""
    found = [slices(text, sentences(text)) for text in texts]
    return list(dict.fromkeys(sentence for of_text in found for sentence in of_text))


def compare(timed: Sequence[Task], repeat: int) -> dict[str, float]:
    """Return the best time of each task in seconds, after a warm-up round."""
    for _, task in track(timed, "Warming up", transient=True, console=console):
        task()
    seconds = {name: float("inf") for name, _ in timed}
    for _ in track(range(repeat), "Measuring", transient=True, console=console):
        for name, task in timed:
            begun = time.perf_counter()
            task()
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
    return seconds


def outcomes(transformer: dict[str, float], static: dict[str, float]) -> list[Outcome]:
    """Compare the figures with the targets."""
    wanted = [_ratio(transformer, _OWN, _PASS, _SLOWER, "<= {:.2f} x")]
    wanted += [_ratio(transformer, peer, _OWN, 1, "> {:.0f} x", least=True) for peer in PEER_DEFAULTS]
    return [*wanted, _ratio(static, _OWN, _MODEL2VEC, _STATIC, "<= {:.2f} x")]


def _ratio(seconds: dict[str, float], of: str, to: str, limit: float, shown: str, least: bool = False) -> Outcome:
    what = f"{of} against {to}"
    if of not in seconds or to not in seconds:
        return Outcome(what, "", shown.format(limit), None)
    figure = seconds[of] / seconds[to]
    return Outcome(what, f"{figure:.2f} x", shown.format(limit), figure > limit if least else figure <= limit)


def _model2vec(texts: Sequence[str]) -> list[Task]:
    """Return a pass of model2vec over the same sentences with the same model."""
    try:
        from model2vec import StaticModel
    except ImportError:
        return []
    from kinsplit.embedding.static import read_distilled

    model, found = StaticModel.from_pretrained(read_distilled(lambda folder: folder)), different_sentences(texts)
    return [(_MODEL2VEC, lambda: model.encode(found))]


def _table(title: str, seconds: dict[str, float]) -> Table:
    table = Table("system", title=title)
    for heading in ("seconds", "x one pass"):
        table.add_column(heading, justify="right")
    for name, taken in seconds.items():
        table.add_row(name, f"{taken:,.2f}", f"{taken / seconds[_PASS]:.2f}")
    return table


if __name__ == "__main__":
    app()
