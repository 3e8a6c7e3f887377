"""The HTTP service (FastAPI): search, answers, documents and previews of strategies. `kinsplit serve` runs it.

```python
from kinsplit.server.app import create_app
from kinsplit.server.collections import Collections
from kinsplit.server.settings import ServiceSettings

settings = ServiceSettings.load(store="edge:./kinsplit-data", collections="demo")
app = create_app(settings, Collections(settings))
```

Each file in `routes/` holds one thin router; searching itself is in `kinsplit.index` and `kinsplit.retrieval`. The
middleware that wraps every request is in `middleware/`: `request_log` (request ids, log, metrics, unexpected errors),
`security_headers`, `body_limits`. `threads` keeps work off the event loop.
"""
