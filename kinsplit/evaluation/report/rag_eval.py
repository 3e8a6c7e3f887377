"""Files that `rag_eval` wrote, which kinsplit replaces: means by strategy, and nothing of how sure they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kinsplit.evaluation.results import RAG_EVAL


def summary(path: Path) -> Mapping[str, Mapping[str, float]] | None:
    """Read the summary of a file that `rag_eval` wrote.

    Args:
        path: The file.

    Returns:
        For each strategy its means by their honest names, and `questions`; None for any other file.

    Raises:
        OSError: The file can't be read.
    """
    try:
        written = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    found = written.get("summary") if isinstance(written, dict) and "kinsplit" not in written else None
    if not isinstance(found, dict) or not all(isinstance(means, dict) for means in found.values()):
        return None
    return {str(strategy): _honest(means) for strategy, means in found.items()}


def _honest(means: Mapping[str, object]) -> Mapping[str, float]:
    names = {"count": "questions"} | {f"avg_{theirs}": ours for theirs, ours in RAG_EVAL.items()}
    return {names.get(name, name): value for name, value in means.items() if isinstance(value, int | float)}
