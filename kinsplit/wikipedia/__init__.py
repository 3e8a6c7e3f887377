"""Articles of Wikipedia as Markdown files, over its public interface."""

from __future__ import annotations

from kinsplit.wikipedia.api import Api
from kinsplit.wikipedia.articles import Article
from kinsplit.wikipedia.fetch import Fetched, fetch

__all__ = ["Api", "Article", "Fetched", "fetch"]
