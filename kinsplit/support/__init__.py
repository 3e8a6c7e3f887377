"""Helpers without knowledge of chunks: settings, paths, HTTP, caches, worker processes."""
