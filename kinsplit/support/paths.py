"""Where kinsplit keeps what it can make again: models, vectors, answers."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that KINSPLIT_CACHE names, else kinsplit's own in the user's cache, such as ~/.cache/kinsplit.

    Nothing in it is needed: what is deleted is made again.
    """
    from platformdirs import user_cache_path

    named = os.environ.get("KINSPLIT_CACHE")
    return Path(named).expanduser() if named else user_cache_path("kinsplit", appauthor=False)
