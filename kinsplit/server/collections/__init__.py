"""The open collections of the service."""

from __future__ import annotations

from kinsplit.server.collections.facets import FacetCounts
from kinsplit.server.collections.registry import Collections, OpenCollection
from kinsplit.server.collections.uploads import UploadFolder, UploadFolders

__all__ = ["Collections", "FacetCounts", "OpenCollection", "UploadFolder", "UploadFolders"]
