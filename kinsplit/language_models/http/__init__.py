"""HTTP client of servers of language models."""
