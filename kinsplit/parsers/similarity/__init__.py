"""Boundaries and clusters by the similarity of vectors."""
