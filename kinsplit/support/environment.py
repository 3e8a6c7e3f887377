"""The folder of kinsplit's caches of models, vectors and answers."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder in KINSPLIT_CACHE, else kinsplit's own in the user's cache, such as ~/.cache/kinsplit.

    Nothing in it is essential: deleted content is made again.
    """
    from platformdirs import user_cache_path

    named = os.environ.get("KINSPLIT_CACHE")
    return Path(named).expanduser() if named else user_cache_path("kinsplit", appauthor=False)
