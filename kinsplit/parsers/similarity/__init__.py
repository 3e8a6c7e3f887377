"""Boundaries and clusters from the similarity of vectors."""
