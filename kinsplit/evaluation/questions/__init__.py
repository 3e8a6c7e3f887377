"""Labelled questions written by a language model, for documents that have none.

```python
made = make_questions(documents, "ollama:llama3", 50, Filters(embedder))
made.questions, made.asked, made.dropped
```

Sections are taken evenly from all documents. The model writes a question about each and quotes what answers it; only
what it quotes verbatim becomes a label, at the exact place in the document and at every copy of it.
"""

from __future__ import annotations

from kinsplit.evaluation.questions.filters import Filters
from kinsplit.evaluation.questions.generate import Made, cost_of, make_questions

__all__ = ["Filters", "Made", "cost_of", "make_questions"]
