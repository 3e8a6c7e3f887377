"""Boundaries that a language model names."""
