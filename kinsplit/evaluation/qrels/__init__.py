"""Span qrels: the relevant chunks of any chunking, computed from labels, and their files."""
