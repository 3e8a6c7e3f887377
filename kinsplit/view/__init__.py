"""Views of chunks and passages, for notebooks and terminals."""

from kinsplit.view.views import View, show

__all__ = ["View", "show"]
