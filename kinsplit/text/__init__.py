"""Graphemes of a text, and its blocks."""
