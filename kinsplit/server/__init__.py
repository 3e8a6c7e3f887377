"""The service: search, preview of strategies and documents over HTTP (FastAPI). `kinsplit serve` runs it.

```python
from kinsplit.server.app import create_app
from kinsplit.server.collections import Library
from kinsplit.server.settings import ServiceSettings

settings = ServiceSettings.load(store="edge:./kinsplit-data", collections="demo")
app = create_app(settings, Library.open(settings))
```

One router per file in `routes/`, thin: what is found and how is decided in `kinsplit.index` and `kinsplit.retrieval`.
What surrounds every request is middleware, one per file: `observed` (request ids, logs, figures, the last resort for
errors), `headers`, `traffic` (limits of bodies, and slow clients). `workers` keeps work off the event loop.
"""
