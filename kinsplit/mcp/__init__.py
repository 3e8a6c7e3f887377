"""A server for the Model Context Protocol: an index as tools for language models."""
