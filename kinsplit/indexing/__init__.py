"""Indexing of documents in a store."""
