"""Measures of retrieval, question by question: one measure per file, one registry."""
