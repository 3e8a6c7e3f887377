"""Writer of docs/quality.md: results of all strategies, their certainty, and conclusions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kinsplit.evaluation.labels import Comparison, Dataset, Estimate
from kinsplit.evaluation.results import Results

#: P-value below which a difference is significant.
SIGNIFICANT = 0.05
#: Suffix of the labels of strategies that have the default's size instead of their own.
_SIZE = ", 160 tokens"

_INTRODUCTION = """# Which strategy finds the labelled text

Compare what every strategy, and the splitters of other libraries, find on eight labelled sets.

Written by `make bench-quality`, from labelled sets that are not part of the project ([formats](datasets.md);
`benchmarks/README.md` says where they are looked for). Another run gives the same numbers.

Every strategy is given the same documents, the same embedding model ({embedder}), the same ranking and the same
budget: **the share (%) of the labelled text within the first N retrieved tokens**. This compares chunks of any size
fairly, since a budget holds fewer large chunks, and repeated text uses it up again ([measures](measures.md)).
Brackets contain 95 % bootstrap intervals over questions. Win / tie / loss counts questions compared with kinsplit's
default; p is that of the paired randomisation test, corrected for the number of strategies in the table (Holm).
**Bold** is the best of a column.

All of them, including the peers' splitters, are ranked by kinsplit's kin scoring; the last column is what a plain
vector store finds with the same chunks, by cosine alone. The model was trained on English; in other languages the
ranking depends mostly on words. precision@5 is the share (%) of labelled text in the first five chunks, which is
naturally higher for small chunks. Of sets with more than {most} questions, a random sample is asked.

Rank measures such as nDCG are omitted: by the usual rule of relevance, most questions have no relevant chunk among
large chunks, so every strategy would be judged on different questions.
"""


@dataclass(frozen=True)
class Measured:
    """Results of one set.

    Attributes:
        dataset: The set.
        results: Results by ranker, "kin" and "dense".
    """

    dataset: Dataset
    results: Mapping[str, Results]


def page(measured: Sequence[Measured], headline: str, budgets: Sequence[int], most: int) -> str:
    """Return the page.

    Args:
        measured: Sets, all with the same strategies, of which the first is the baseline.
        headline: Measure by which strategies are compared.
        budgets: Token budgets, one per column.
        most: Maximum number of questions of a set.
    """
    setting = measured[0].results["kin"].setting
    versions = ", ".join(f"{name} {number}" for name, number in setting.versions.items())
    parts = [
        _INTRODUCTION.format(embedder=setting.embedder, most=most),
        "## Conclusions\n",
        *_conclusions(measured, headline),
        "\n## All sets\n",
        *_overview(measured, headline),
        *(line for one in measured for line in _set(one, headline, budgets)),
        f"\nVersions: {versions}.",
    ]
    return "\n".join(parts) + "\n"


def _overview(measured: Sequence[Measured], headline: str) -> Iterator[str]:
    names = [one.dataset.name for one in measured]
    yield f"{headline}, ranked with kin; the last columns count the sets on which a strategy is better or worse than"
    yield f"the default beyond chance (p < {SIGNIFICANT:g}).\n"
    yield f"| strategy | {' | '.join(names)} | mean | better | worse |"
    yield f"|---|{'---:|' * (len(names) + 3)}"
    tables = [_means(one.results["kin"], headline) for one in measured]
    tables.append(_average(tables))
    for label in tables[0]:
        cells = (_bold(f"{100 * t[label]:.1f}", t[label] == max(t.values())) for t in tables)
        verdicts = [_verdict(_compared(one.results["kin"], label)) for one in measured]
        yield f"| {label} | {' | '.join(cells)} | {verdicts.count(1)} | {verdicts.count(-1)} |"


def _set(one: Measured, headline: str, budgets: Sequence[int]) -> Iterator[str]:
    kin, dense = one.results["kin"], one.results["dense"]
    yield f"\n## {one.dataset.name}: {len(one.dataset.documents)} documents, {len(one.dataset.questions)} questions\n"
    heads = " | ".join(f"{budget:,} tokens" for budget in budgets)
    beside = "over the default | win / tie / loss | p"
    yield f"| strategy | chunks | tokens each | {heads} | {beside} | precision@5 | dense |"
    yield f"|---|{'---:|' * (len(budgets) + 7)}"
    best = {name: max(_means(kin, name).values()) for name in [f"recall@{b}t" for b in budgets]}
    best_dense = max(_means(dense, headline).values())
    for strategy, plain in zip(kin.strategies, dense.strategies, strict=True):
        shares = [
            _bold(_share(strategy.measures[name], name == headline), strategy.measures[name].mean == top)
            for name, top in best.items()
        ]
        found = plain.measures[headline].mean
        cells = [
            strategy.label,
            f"{strategy.statistics['chunks']:,.0f}",
            f"{strategy.statistics['average_tokens']:.0f}",
            *shares,
            *_beside(_compared(kin, strategy.label)),
            f"{100 * strategy.measures['text_precision@5'].mean:.0f}",
            _bold(f"{100 * found:.1f}", found == best_dense),
        ]
        yield f"| {' | '.join(cells)} |"
    yield from (f"\nNote: {warning}" for warning in kin.warnings)


def _conclusions(measured: Sequence[Measured], headline: str) -> Iterator[str]:
    """Yield the conclusions that follow from the numbers."""
    sets = [one.results["kin"] for one in measured]
    default = sets[0].strategies[0].label
    others = [strategy.label for strategy in sets[0].strategies[1:]]
    verdicts = {label: [_verdict(_compared(result, label)) for result in sets] for label in others}
    better = {label: found.count(1) for label, found in verdicts.items() if 1 in found}
    if better:
        yield f"- Better than {default} beyond chance (number of sets): {_listed(better)}."
    else:
        yield f"- No strategy is better than {default} beyond chance on any set."
    average = _average([_means(result, headline) for result in sets])
    first = sorted(average, key=lambda label: -average[label])[:3]
    yield f"- Highest on average: {', '.join(f'{label} ({100 * average[label]:.1f})' for label in first)}."
    sized = {label: label.removesuffix(_SIZE) for label in others if label.endswith(_SIZE)}
    gained = [f"{base} {100 * (average[label] - average[base]):+.1f}" for label, base in sized.items()]
    yield "- Size matters more than the way to cut: 160 tokens instead of a strategy's own default gain on average"
    yield f"  {', '.join(gained)} points."
    never = [label for label in others if all(v == -1 for v in verdicts[label])]
    if never:
        yield f"- Worse beyond chance on every set: {', '.join(never)}."
    gains = [100 * _gain(one, headline) for one in measured]
    worth = f"{min(gains):+.1f} to {max(gains):+.1f} points"
    yield f"- Ranking the default's chunks with kin instead of cosine alone gains {worth};"
    spreads = [100 * (ranked[0] - ranked[4]) for result in sets if (ranked := _ranked_means(result, headline))[4:]]
    yield f"  the best way to cut gains {min(spreads):.1f} to {max(spreads):.1f} over the fifth best of a set."
    unsure = [label for label in others if all(v == 0 for v in verdicts[label])]
    if unsure:
        yield f"- As good as {default} on every set, as far as these questions can tell: {'; '.join(unsure)}."
    yield "- For your own documents, `kinsplit evaluate` makes such a table, and `kinsplit tune` searches for the best."


def _average(tables: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {label: sum(table[label] for table in tables) / len(tables) for label in tables[0]}


def _gain(one: Measured, headline: str) -> float:
    kin, dense = (one.results[name].strategies[0].measures[headline].mean for name in ("kin", "dense"))
    return kin - dense


def _means(results: Results, measure: str) -> dict[str, float]:
    return {strategy.label: strategy.measures[measure].mean for strategy in results.strategies}


def _ranked_means(results: Results, measure: str) -> list[float]:
    return sorted(_means(results, measure).values(), reverse=True)


def _compared(results: Results, label: str) -> Comparison | None:
    return next((comparison for comparison in results.comparisons if comparison.strategy == label), None)


def _verdict(comparison: Comparison | None) -> int:
    """Return 1 for significantly better, -1 for significantly worse, 0 otherwise."""
    if comparison is None or comparison.p_value >= SIGNIFICANT:
        return 0
    return 1 if comparison.difference.mean > 0 else -1


def _beside(comparison: Comparison | None) -> tuple[str, str, str]:
    if comparison is None:
        return "", "", ""
    difference = comparison.difference
    interval = f"{100 * difference.mean:+.1f} [{100 * difference.low:+.1f}, {100 * difference.high:+.1f}]"
    p_value = f"{comparison.p_value:.3f}" if comparison.p_value >= 0.001 else "< 0.001"
    return interval, f"{comparison.wins} / {comparison.ties} / {comparison.losses}", p_value


def _share(estimate: Estimate, with_interval: bool) -> str:
    mean = f"{100 * estimate.mean:.1f}"
    return f"{mean} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}]" if with_interval else mean


def _bold(text: str, best: bool) -> str:
    return f"**{text}**" if best else text


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{label} ({number})" for label, number in numbers.items())
