"""`python -m kinsplit` is `kinsplit`, where scripts are not on the path."""

from __future__ import annotations

from kinsplit.cli import main

if __name__ == "__main__":
    main()
