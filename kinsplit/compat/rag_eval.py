"""`rag_eval`: its measures, its strategies and its result files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

#: kinsplit's names for the measures of `rag_eval`, whose "relevancy" and "faithfulness" don't look at answers.
MEASURES = {"response_time": "seconds", "relevancy": "jaccard", "faithfulness": "query_terms"}

#: The strategies of `rag_eval` under its labels, as kinsplit's specs.
STRATEGIES = (
    "fixed=word:chunk_size=256,chunk_overlap=20",
    "structure=structure:unit=word,min_chunk_size=128,chunk_size=512",
    "semantic=cluster:passage_size=512,passage_overlap=50,threshold=0.75",
    "multigranular=multigranular:chunk_sizes=[256,512,1024]",
)


def renamed(values: Mapping[str, float], prefix: str = "") -> dict[str, float]:
    """Return the values of the measures that `rag_eval` has, under its names.

    Args:
        values: Values by kinsplit's names.
        prefix: Prefix of the names in the result: "avg_".
    """
    return {f"{prefix}{theirs}": values[ours] for theirs, ours in MEASURES.items() if ours in values}


def read_summary(path: Path) -> Mapping[str, Mapping[str, float]] | None:
    """Read the summary of a result file that `rag_eval` wrote.

    Args:
        path: Path of the file.

    Returns:
        Means of each strategy under kinsplit's names, with the number of `questions`; None for any other file.

    Raises:
        OSError: The file can't be read.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    summary = content.get("summary") if isinstance(content, dict) and "kinsplit" not in content else None
    if not isinstance(summary, dict) or not all(isinstance(means, dict) for means in summary.values()):
        return None
    return {str(strategy): _means(values) for strategy, values in summary.items()}


def _means(values: Mapping[str, object]) -> Mapping[str, float]:
    names = {"count": "questions"} | {f"avg_{theirs}": ours for theirs, ours in MEASURES.items()}
    return {names.get(name, name): value for name, value in values.items() if isinstance(value, int | float)}
