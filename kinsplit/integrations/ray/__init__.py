"""Indexing on a Ray cluster: stages for pipelines of Ray Data, and a function that strings them together.

```python
ray.init()
report = index("s3://bucket/courses", "pgvector:postgresql://db/rag", collection="cs", embedder="st:BAAI/bge-m3")
```

The stages are ordinary transforms of `Dataset.map_batches` with `batch_format="pyarrow"`: `Load`, `Split`, `Compare`,
`Embed` and `Write`. A row is a document, so that a document is never divided between two batches.
"""

from __future__ import annotations

from kinsplit.integrations.ray.cluster import Resources, connected
from kinsplit.integrations.ray.columns import CHUNK, DOCUMENTS, FILES, REPORTS
from kinsplit.integrations.ray.run import index
from kinsplit.integrations.ray.stages import Compare, Embed, Load, Split, Write

__all__ = [
    "CHUNK",
    "DOCUMENTS",
    "FILES",
    "REPORTS",
    "Compare",
    "Embed",
    "Load",
    "Resources",
    "Split",
    "Write",
    "connected",
    "index",
]
