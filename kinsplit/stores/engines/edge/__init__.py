"""Qdrant Edge, an embedded engine."""
