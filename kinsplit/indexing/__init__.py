"""Indexing: documents -> store."""
