"""The open collections of the service."""

from __future__ import annotations

from kinsplit.server.collections.facets import Facet, FacetCounts
from kinsplit.server.collections.registry import Collections, OpenCollection

__all__ = ["Collections", "Facet", "FacetCounts", "OpenCollection"]
