"""Splitters of any library, and functions, as strategies."""
