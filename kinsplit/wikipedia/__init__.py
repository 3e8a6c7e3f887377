"""Articles of Wikipedia as Markdown files, over its public API."""

from __future__ import annotations

from kinsplit.wikipedia.api import Api
from kinsplit.wikipedia.articles import Article, Fetched, fetch

__all__ = ["Api", "Article", "Fetched", "fetch"]
