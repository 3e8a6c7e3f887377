"""Tuning: a search for the strategy and parameters that find most of the answers, tested on held-out questions.

```python
found = tune(load("docs.jsonl", "queries.jsonl"))
print(found.verdict)
found.configuration().write(Path("kinsplit.toml"), found.remarks())
```
"""

from __future__ import annotations

from kinsplit.evaluation.tuning.search import TuningLimits
from kinsplit.evaluation.tuning.trial import Caps, EmbeddingCost, Trial
from kinsplit.evaluation.tuning.tune import Tuned, tune, tune_weights

__all__ = ["Caps", "EmbeddingCost", "Trial", "Tuned", "TuningLimits", "tune", "tune_weights"]
