"""Labelled sets from files, in several formats; every label is verified on loading.

```python
dataset = load("courses", "queries.jsonl")     # documents that kinsplit.loaders reads, and questions
dataset = load("beir/scifact")                 # a folder with both; the format is detected
```

Offsets count code points of the loaded text; nothing is stripped, normalised or converted.
"""

from __future__ import annotations

from kinsplit.evaluation.datasets.documents import DatasetWarning
from kinsplit.evaluation.datasets.format import Format
from kinsplit.evaluation.datasets.registry import FORMATS, load, names

__all__ = ["FORMATS", "DatasetWarning", "Format", "load", "names"]
