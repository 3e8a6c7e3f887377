"""A Qdrant server, or the client's local mode."""
