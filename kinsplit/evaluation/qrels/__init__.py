"""Span qrels: labels of spans -> relevant chunks of any chunking, and the files that other tools read."""
