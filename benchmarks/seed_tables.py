"""Published tables of the replaced systems, compared with kinsplit: `python benchmarks/seed_tables.py`.

It prints Markdown; `docs/seed-tables.md` is its output.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import typer
from seed_rules import counted_words, cut_where_unlike, kinsplit_sentences, packed, punkt_sentences
from texts import SHARED_DATA

from kinsplit.chunk import Document
from kinsplit.embedding import Embedder, resolve, use_vector_cache
from kinsplit.parsers import create

TESLA = SHARED_DATA / "tesla_10k" / "seed" / "tesla_10k_2024.txt"
WIKIPEDIA = SHARED_DATA / "wikipedia_ai" / "txt"
#: Example of the notebook.
QUERY = "What are the main applications of machine learning?"
# For a system without a limit: more sentences than its budget of words can contain.
_ANY = {"min_sentences": 1, "max_sentences": 1000}

# Measured separately: with sentences truncated after 256 tokens the rule gives 3,451 chunks.
_BESIDE = (
    " Half of the difference between the published figure and the rerun is due to sentences over 256 tokens, which the "
    "published system truncated before embedding."
)

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        name: Strategy and sizes.
        published: Figures stated by the replaced system.
        rule: Figures of its rule, rerun here on the same text; empty if the rule isn't known or needs no second run.
        made: Figures of kinsplit.
        why: Reason for the difference.
    """

    name: str
    published: str
    rule: str
    made: str
    why: str


@app.command()
def main() -> None:
    """Print all tables; the embeddings of the first take a minute or two."""
    with tempfile.TemporaryDirectory() as folder, use_vector_cache(folder):
        print("# The published tables and kinsplit's results\n")
        print("Compare kinsplit's results with the tables that the systems it replaces have published.\n")
        print("Printed by `python benchmarks/seed_tables.py`.")
        if TESLA.is_file():
            with TESLA.open(encoding="utf-8", newline="") as file:
                _print("Search over a 10-K filing: chunks, mean words", tesla(file.read()))
        else:
            print(f"\nNo table of the 10-K search, because {TESLA} is absent.")
        files = sorted(WIKIPEDIA.glob("*.txt"))
        if files:
            texts = [file.read_bytes().decode() for file in files]
            _print(f'Notebook over eight Wikipedia articles: chunks, best cosine to "{QUERY}"', wikipedia(texts))
        else:
            print(f"\nNo table of the notebook, because {WIKIPEDIA} is absent.")


def tesla(text: str) -> Iterator[Row]:
    """Yield the rows of the 10-K search; words are counted as its database did."""
    by_punkt, own = punkt_sentences(text), kinsplit_sentences(text)
    fixed = _sized([" ".join(piece.split()) for piece in _texts("word", [text])])
    yield Row("fixed, 500 words", "293, 499", "", fixed, "no difference.")
    yield Row(
        "sentence, 500 words, 2 sentences of overlap",
        "403, 433",
        _sized(packed(by_punkt)),
        _sized(_texts("sentence", [text], unit="word", overlap_sentences=2)),
        f"On kinsplit's sentences, which also end at headings and blank lines, the published rule gives "
        f"{_sized(packed(own))}. The remaining difference is that the rule keeps the {_long(own)} sentences over the "
        "limit, mostly tables, whole, while kinsplit cuts them and fills the chunks.",
    )
    embedder = resolve("bundled")
    for threshold, published, beside in ((0.75, "3,454, 42", _BESIDE), (0.55, "not stated", "")):
        by_rule = _sized(cut_where_unlike(by_punkt, embedder.embed(by_punkt), threshold, budget=500))
        on_own = _sized(cut_where_unlike(own, embedder.embed(own), threshold, budget=500))
        yield Row(
            f"semantic, similarity {threshold}",
            published,
            by_rule,
            _sized(_texts("semantic", [text], threshold_kind="similarity", threshold=threshold, **_ANY)),
            f"On kinsplit's {len(own):,} sentences (NLTK finds {len(by_punkt):,}), the rule gives {on_own}. The "
            "remaining difference is long sentences, which kinsplit cuts, and that its similarity is relative to "
            f"unrelated texts.{beside}",
        )
    yield Row(
        "semantic, kinsplit's defaults",
        "",
        "",
        _sized(_texts("semantic", [text])),
        "The adaptive threshold with 3 to 20 sentences meets the aim of the published system, which was not to make "
        "a chunk of nearly every sentence.",
    )


def wikipedia(texts: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the notebook."""
    embedder = resolve("bundled")
    size = sum(map(len, texts))

    def scored(pieces: Sequence[str]) -> str:
        return f"{len(pieces):,}, {_best(pieces, embedder):.3f}"

    def by_rule(threshold: float) -> list[str]:
        found = [punkt_sentences(text) for text in texts]
        return [
            chunk
            for sentences in found
            for chunk in cut_where_unlike(sentences, embedder.embed(sentences), threshold, least=3, most=20)
        ]

    windows = _texts("character", texts)
    yield Row(
        "overlap, 600 characters, overlap 150",
        "about 1,800, 0.581",
        "",
        scored(windows),
        f"1,800 windows with a step of 450 are 810,000 characters, but these revisions of the articles have {size:,}: "
        "the notebook read other, longer texts, so the counts and scores of this table can only match by chance.",
    )
    by_similarity = {"threshold_kind": "similarity", "threshold": 0.75}
    yield Row(
        "semantic, 0.75, 3 to 20 sentences",
        "about 420, 0.590",
        scored(by_rule(0.75)),
        scored(_texts("semantic", texts, **by_similarity)),
        "The rule as described cuts far more often than the published count suggests. kinsplit finds more and shorter "
        "sentences, and the best cuts overall, while the rule takes the first one allowed.",
    )
    yield Row(
        "the same, 0.75 read as a distance",
        "about 420, 0.590",
        scored(by_rule(0.25)),
        scored(_texts("semantic", texts, threshold_kind="similarity", threshold=0.25)),
        'If it cuts where the similarity is below 0.25, which fits the notebook\'s remark "lower = more splits", the '
        "rule gives about the published number of chunks, though from shorter texts.",
    )
    yield Row("semantic, kinsplit's defaults", "", "", scored(_texts("semantic", texts)), "For comparison: adaptive.")
    children = _texts("hierarchical", texts)
    mean = sum(map(len, children)) / len(children)
    yield Row(
        "hierarchical, children of 200 characters",
        "about 3,200, 0.607",
        "",
        scored(children),
        f"kinsplit's children are never longer than 200 characters, {mean:.0f} on average. The notebook's 200 is a "
        "target that whole sentences may exceed, so its longer texts gave only a few more children.",
    )
    yield Row(
        "context-aware by rules, without a model",
        "about 380, 0.592",
        "",
        scored(_texts("llm", texts, model="none")),
        "The notebook states no sizes for its rules. kinsplit's rules begin a chunk at every heading and join "
        "paragraphs up to a quarter of 500 words.",
    )


def _texts(name: str, texts: Sequence[str], **parameters: Any) -> list[str]:
    """Return the texts of a strategy's leaves."""
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    chunked = create(name, **parameters).chunk_many(documents)
    return [chunk.text for chunks in chunked for chunk in chunks if chunk.level == 0]


def _sized(pieces: Sequence[str], count: Callable[[str], int] = counted_words) -> str:
    return f"{len(pieces):,}, {sum(map(count, pieces)) / len(pieces):.0f}"


def _long(sentences: Sequence[str]) -> int:
    return sum(len(sentence.split()) > 500 for sentence in sentences)


def _best(pieces: Sequence[str], embedder: Embedder) -> float:
    return float((embedder.embed(pieces) @ embedder.embed_query(QUERY)).max())


def _print(title: str, rows: Iterator[Row]) -> None:
    print(f"\n## {title}\n")
    print("| | published | published rule, rerun | kinsplit |\n|---|---|---|---|")
    kept = []
    for row in rows:
        kept.append(row)
        print(f"| {row.name} | {row.published} | {row.rule} | {row.made} |")
    print("\nReasons for the differences:\n")
    for row in kept:
        print(f"- {row.name}: {row.why}")


if __name__ == "__main__":
    app()
