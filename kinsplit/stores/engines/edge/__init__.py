"""Qdrant Edge, the engine inside the process."""
