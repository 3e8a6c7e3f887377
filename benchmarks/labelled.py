"""Labelled sets for measuring retrieval: folders below the shared data, as datasets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from texts import SHARED_DATA

from kinsplit.evaluation.datasets import load
from kinsplit.evaluation.labels import Dataset

#: Languages of XQuAD.
XQUAD = ("de", "zh", "ar", "hi", "th", "el", "en", "es", "ro", "ru", "tr", "vi")
#: Folders below the shared data for each set, whose documents all go into one index.
FOLDERS = {
    "chroma": ("chroma/*",),
    "privacy_qa": ("legalbench_rag/privacy_qa",),
    "alice": ("alice",),
    **{f"xquad {language}": (f"xquad/{language}",) for language in XQUAD},
}


def labelled_sets(root: Path = SHARED_DATA) -> list[Dataset]:
    """Return the labelled sets that are available."""
    sets = []
    for name, patterns in FOLDERS.items():
        folders = [f for pattern in patterns for f in sorted(root.glob(pattern)) if (f / "queries.jsonl").is_file()]
        if folders:
            sets.append(load(folders, format="kinsplit", name=name))
    return sets


def sampled(dataset: Dataset, number: int) -> Dataset:
    """Return a set with a random sample of at most so many of its questions, in their order.

    Every tenth question would be the same one of each paragraph, which has five in some sets.
    """
    size = len(dataset.questions)
    places = np.random.default_rng(0).choice(size, min(number, size), replace=False)
    return replace(dataset, questions=tuple(dataset.questions[place] for place in sorted(places.tolist())))
