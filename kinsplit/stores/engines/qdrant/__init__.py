"""Qdrant, as a server or in the client's local mode."""
